"""Options of `explore`: what the grid varies, and what is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import flag, option

Value = TypeVar("Value")
_VARY_HINT: Final = "Write, for example, --vary t=0.2,0.4 or --vary t-closeness.t=0.2,0.4"


@dataclass(frozen=True, slots=True, kw_only=True)
class GridOptions:
    """What is varied."""

    k: str | None = option("--k K,K", "Values of k, such as 2,5,10. By default 2,5,10,20,50.")
    vary: list[str] | None = option(
        "--vary NAME=V,V",
        "Values of another parameter of guarantees, such as l=2,3 or t-closeness.t=0.2,0.4; "
        "may be given more than once.",
    )
    methods: str | None = option("--methods NAME,NAME", "Methods. By default all.")
    recodings: str | None = option(
        "--recodings NAME,NAME",
        "Recodings. By default the policy's own, and level if a quasi-identifier has a hierarchy.",
    )
    suppression: str | None = option(
        "--suppression SHARE,SHARE",
        "Shares of rows that may be suppressed. By default 0, the policy's own and 0.02.",
    )
    max_points: int = option(
        "--max-points N",
        "The limit of policies; of a larger grid some are drawn at random.",
        60,
        min=1,
    )
    rows: int = option(
        "--rows ROWS",
        "The limit of rows; of a larger table some are drawn at random.",
        200_000,
        min=1,
    )
    search_seconds: float = option(
        "--search-seconds SECONDS",
        "How long the search of one full-domain policy takes at most.",
        10.0,
        min=0.001,
    )
    seed: int = option("--seed N", "The seed of the random draws.", 0, min=0)

    def given(self) -> dict[str, Any]:
        """Return the arguments of `halfmask.explore`."""
        return {
            "k": _listed("--k", self.k, int),
            "vary": dict(map(_varied, self.vary or ())) or None,
            "methods": _listed("--methods", self.methods, str),
            "recodings": _listed("--recodings", self.recodings, str),
            "max_suppression": _listed("--suppression", self.suppression, float),
            "max_points": self.max_points,
            "rows": self.rows,
            "search_seconds": self.search_seconds,
            "random_state": self.seed,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureOptions:
    """What is measured, and by what points are compared."""

    risk: str = option(
        "--risk NAME",
        "The axis of risk: highest, average, journalist-highest, journalist-average, or "
        "all-columns.",
        "highest",
    )
    utility: str = option(
        "--utility NAME",
        "The axis of utility: loss, detail, detail:COLUMN, discernibility, "
        "non-uniform-entropy, ambiguity, squared-error, suppressed, or accuracy with "
        "--label-model.",
        "loss",
    )
    label_model: bool = flag(
        "--label-model", "Train a model of the label on each release. This takes seconds for each."
    )

    def given(self) -> dict[str, Any]:
        """Return the arguments of `halfmask.explore`."""
        return {"risk": self.risk, "utility": self.utility, "label_model": self.label_model}


def _listed(option: str, text: str | None, kind: Callable[[str], Value]) -> list[Value] | None:
    """Return values that were given with commas between them."""
    if text is None:
        return None
    try:
        found = [kind(each.strip()) for each in text.split(",") if each.strip()]
    except ValueError:
        found = []
    if not found:
        words = {int: "whole numbers", float: "numbers"}.get(kind, "names")  # type: ignore[call-overload] # a kind that isn't listed is a name
        raise UsageError(f"{option} must be {words} with commas between them.")
    return found


def _varied(text: str) -> tuple[str, list[float]]:
    name, _, values = text.partition("=")
    found = _listed("--vary", values, _number) if values else None
    if not name or found is None:
        raise UsageError("--vary must be a name, = and numbers.", hint=_VARY_HINT)
    return name.strip(), found


def _number(text: str) -> float:
    """Return a whole number as one: a policy's l is none otherwise."""
    try:
        return int(text)
    except ValueError:
        return float(text)
