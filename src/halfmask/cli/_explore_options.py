"""Options of `explore`: what the grid varies, and what is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar

import typer

from halfmask.cli._failures import UsageError

Value = TypeVar("Value")
_VARY_HINT: Final = "Write, for example, --vary t=0.2,0.4 or --vary t-closeness.t=0.2,0.4"


@dataclass(frozen=True, slots=True, kw_only=True)
class GridOptions:
    """What is varied."""

    k: Annotated[
        str | None,
        typer.Option(
            "--k", metavar="K,K", help="Values of k, such as 2,5,10. By default 2,5,10,20,50."
        ),
    ] = None
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="NAME=V,V",
            help="Values of another parameter of guarantees, such as l=2,3 or "
            "t-closeness.t=0.2,0.4; may be given more than once.",
        ),
    ] = None
    methods: Annotated[
        str | None,
        typer.Option("--methods", metavar="NAME,NAME", help="Methods. By default all."),
    ] = None
    recodings: Annotated[
        str | None,
        typer.Option(
            "--recodings",
            metavar="NAME,NAME",
            help="Recodings. By default the policy's own, and level if a quasi-identifier has a "
            "hierarchy.",
        ),
    ] = None
    suppression: Annotated[
        str | None,
        typer.Option(
            "--suppression",
            metavar="SHARE,SHARE",
            help="Shares of rows that may be suppressed. By default 0, the policy's own and 0.02.",
        ),
    ] = None
    max_points: Annotated[
        int,
        typer.Option(
            "--max-points",
            min=1,
            metavar="N",
            help="The limit of policies; of a larger grid some are drawn at random.",
        ),
    ] = 60
    rows: Annotated[
        int,
        typer.Option(
            "--rows",
            min=1,
            metavar="ROWS",
            help="The limit of rows; of a larger table some are drawn at random.",
        ),
    ] = 200_000
    search_seconds: Annotated[
        float,
        typer.Option(
            "--search-seconds",
            min=0.001,
            metavar="SECONDS",
            help="How long the search of one full-domain policy takes at most.",
        ),
    ] = 10.0
    seed: Annotated[
        int, typer.Option("--seed", min=0, metavar="N", help="The seed of the random draws.")
    ] = 0

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

    risk: Annotated[
        str,
        typer.Option(
            "--risk",
            metavar="NAME",
            help="The axis of risk: highest, average, journalist-highest, journalist-average, or "
            "all-columns.",
        ),
    ] = "highest"
    utility: Annotated[
        str,
        typer.Option(
            "--utility",
            metavar="NAME",
            help="The axis of utility: loss, detail, detail:COLUMN, discernibility, "
            "non-uniform-entropy, ambiguity, squared-error, suppressed, or accuracy with "
            "--label-model.",
        ),
    ] = "loss"
    label_model: Annotated[
        bool,
        typer.Option(
            "--label-model",
            help="Train a model of the label on each release. This takes seconds for each.",
        ),
    ] = False

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
