"""MASK_CHECKS: the check of each model that a technique claims, and which claims are due."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from halfmask.verifier.masked._cell_checks import (
    check_columns,
    check_one_value,
    check_tokens,
    check_unit,
)
from halfmask.verifier.masked._combination_checks import check_groups, check_suppression
from halfmask.verifier.masked._number_checks import check_multiples, check_tails
from halfmask.verifier.masked._set_checks import check_sets

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from halfmask.claims import Claim, StatedMask
    from halfmask.verifier.checks import ClaimCount

#: A check takes a claim and the released table; the claim's columns are there.
MaskCheck: TypeAlias = "Callable[[Claim, pl.LazyFrame], ClaimCount]"

#: All checks by model. Each counts from the files, so the basis of the claims is ``"counted"``.
MASK_CHECKS: Final[dict[str, MaskCheck]] = {
    "released-columns": check_columns,
    "k-anonymity-with-suppression": check_suppression,
    "groups-of-k": check_groups,
    "km-anonymity": check_sets,
    "multiples": check_multiples,
    "bounded": check_tails,
    "truncated-dates": check_unit,
    "one-value": check_one_value,
    "token-format": check_tokens,
}

#: The model that a technique claims, by the technique's name, and the claim's parameters with the
#: technique's parameter that each must agree with. A technique whose parameters are all left out,
#: such as bounds by share, claims nothing. Microaggregation claims nothing after sampling, and
#: tokens that are integers nothing.
DUE: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "round": ("multiples", {"base": "base"}),
    "random-rounding": ("multiples", {"base": "base"}),
    "tails": ("bounded", {"low": "low", "high": "high"}),
    "coarsened-dates": ("truncated-dates", {"unit": "to"}),
    "redact": ("one-value", {"text": "text"}),
    "token": ("token-format", {"digits": "digits"}),
    "local-suppression": ("k-anonymity-with-suppression", {"k": "k", "subsets": "subsets"}),
    "km-anonymity": ("km-anonymity", {"k": "k", "m": "m", "separator": "separator"}),
}


def claims_lacking(masks: Sequence[StatedMask], claims: Sequence[Claim]) -> list[str]:
    """Say which techniques are stated without the claim that they must have."""
    made = [(each.model, each.about.get("columns"), dict(each.parameters)) for each in claims]
    problems = []
    for mask in masks:
        model, names = DUE.get(mask.name, ("", {}))
        found = ((name, mask.parameters.get(own)) for name, own in names.items())
        given = {name: value for name, value in found if value is not None}
        due = {name: value for name, value in given.items() if value != ""}
        if mask.name == "token" and mask.parameters.get("integers"):
            continue
        if given and (model, list(mask.columns), due) not in made:
            problems.append(
                f"The manifest states the technique {mask.name!r} of {len(mask.columns)} columns "
                "without its claim."
            )
    return problems
