"""What a codec claims for its learner, and what it says that it doesn't hide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.encode._codes import Codes
from halfmask.encode._profile import BENT, CATEGORIES, GROUPED, PROFILES, SPLIT, Claim, Weakness

if TYPE_CHECKING:
    from halfmask.encode._plan import Plan
    from halfmask.encode._settings import Settings

__all__ = ["claims_of", "weaknesses_of"]


def claims_of(plan: Plan) -> tuple[Claim, ...]:
    """Return what holds for learners on a plan's rows."""
    settings = plan.settings
    if settings.strength:
        return BENT
    if settings.by:
        return GROUPED
    claims = PROFILES[settings.learner].claims
    if any(codes.is_split for codes in plan.codes):
        return (*claims, *SPLIT)
    return (*claims, *CATEGORIES) if plan.codes else claims


def weaknesses_of(plan: Plan) -> tuple[Weakness, ...]:
    """Return what a plan's rows don't hide, strongest first."""
    settings, found = plan.settings, []
    if plan.mix is not None:
        found.append(_of_matrix(settings, plan))
    if plan.ranks:
        ranked = tuple(ranks.name for ranks in plan.ranks)
        found += [
            Weakness(
                name="order-leaking",
                columns=(*ranked, *_ordered_target(plan)),
                known_plaintext="k known values bracket all others; the marginal alone gives most",
            ),
            Weakness(
                name="equality-leaking",
                columns=ranked,
                known_plaintext="1 known cell tells all cells of the same value",
            ),
        ]
    for codes in plan.codes:
        word = "siblings-merge" if codes.is_split else "equality-leaking"
        ledger = "1 known cell tells all cells of its code; frequencies tell common ones"
        if codes.is_split:
            ledger = "1 known cell tells all cells of its code; codes of equal company are siblings"
        found.append(Weakness(name=word, columns=(codes.name,), known_plaintext=ledger))
    seen = _nulls(settings, plan)
    if seen:
        found.append(Weakness(name="nulls-visible", columns=seen, known_plaintext="none is needed"))
    return tuple(found)


def _ordered_target(plan: Plan) -> tuple[str, ...]:
    """Return the target where a profile of ranks keeps its order: numbers, and two classes."""
    target = plan.target
    if target is None or (isinstance(target, Codes) and len(target.value_of) != 2):
        return ()
    return (target.name,)


def _of_matrix(settings: Settings, plan: Plan) -> Weakness:
    columns = tuple(column.name for column in plan.mix.columns) if plan.mix is not None else ()
    known = len(columns) + 1
    if settings.strength:
        return Weakness(
            name="nonlinear",
            columns=columns,
            known_plaintext="a regression on known rows learns it as fast as a learner does; "
            "no k is promised",
        )
    each = f" for each value of {settings.by!r}" if settings.by else ""
    return Weakness(
        name="linear", columns=columns, known_plaintext=f"k50 <= m + 1 = {known} rows{each}"
    )


def _nulls(settings: Settings, plan: Plan) -> tuple[str, ...]:
    if settings.missing == "hidden":
        return ()
    mixed = () if plan.mix is None else plan.mix.columns
    return tuple(
        [ranks.name for ranks in plan.ranks]
        + [codes.name for codes in plan.codes]
        + [column.name for column in mixed if column.nullable]
    )
