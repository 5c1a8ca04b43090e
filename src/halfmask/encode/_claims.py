"""What a codec claims for its learner, and its stated weaknesses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.encode._codes import Codes
from halfmask.encode._settings import (
    BENT,
    CATEGORIES,
    GROUPED,
    PROFILES,
    SPLIT,
    LearnerClaim,
    Weakness,
)

if TYPE_CHECKING:
    from halfmask.encode._plan import CodecPlan
    from halfmask.encode._settings import CodecSettings


def claims_of(plan: CodecPlan) -> tuple[LearnerClaim, ...]:
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


def weaknesses_of(plan: CodecPlan) -> tuple[Weakness, ...]:
    """Return the weaknesses of a plan's rows, strongest first."""
    settings, found, target = plan.settings, [], plan.target
    if plan.mix is not None:
        found.append(_of_matrix(settings, plan))
    if plan.ranks:
        ranked = tuple(ranks.name for ranks in plan.ranks)
        found += [
            Weakness(
                name="order-leaking",
                columns=(*ranked, *_ordered_target(plan)),
                known_plaintext="k known values bracket all others; the marginal alone gives most"
                + ("" if settings.missing == "hidden" else "; zero and signs show"),
            ),
            Weakness(
                name="equality-leaking",
                columns=ranked,
                known_plaintext="1 known cell tells all cells of the same value",
            ),
        ]
    found += [_of_codes(codes) for codes in plan.codes]
    if isinstance(target, Codes):
        found.append(_of_codes(target))
    elif target is not None:
        ledger = "k50 <= 2 rows; distances are its own, times a power of two"
        found.append(Weakness(name="linear", columns=(target.name,), known_plaintext=ledger))
    free = "none is needed"
    seen = _nulls(settings, plan)
    if seen:
        found.append(Weakness(name="nulls-visible", columns=seen, known_plaintext=free))
    found.append(Weakness(name="duplicates-visible", columns=plan.names, known_plaintext=free))
    if settings.rows == "kept":
        found.append(Weakness(name="rows-in-order", columns=plan.names, known_plaintext=free))
    return tuple(found)


def _of_codes(codes: Codes) -> Weakness:
    if codes.is_split:
        word, reason = "siblings-merge", "codes of equal company are siblings"
    else:
        word, reason = "equality-leaking", "frequencies tell common ones"
    ledger = f"1 known cell tells all cells of its code; {reason}"
    return Weakness(name=word, columns=(codes.name,), known_plaintext=ledger)


def _ordered_target(plan: CodecPlan) -> tuple[str, ...]:
    """Return the target where a profile of ranks keeps its order: numbers, and two classes."""
    target = plan.target
    if target is None or (isinstance(target, Codes) and len(target.value_of) != 2):
        return ()
    return (target.name,)


def _of_matrix(settings: CodecSettings, plan: CodecPlan) -> Weakness:
    columns = tuple(column.name for column in plan.mix.columns) if plan.mix is not None else ()
    known = len(columns) + 1
    if settings.strength:
        return Weakness(
            name="nonlinear",
            columns=columns,
            known_plaintext="a regression on known rows learns it as fast as a learner does; "
            "no k is guaranteed",
        )
    each = f" for each value of {settings.by!r}" if settings.by else ""
    return Weakness(
        name="linear", columns=columns, known_plaintext=f"k50 <= m + 1 = {known} rows{each}"
    )


def _nulls(settings: CodecSettings, plan: CodecPlan) -> tuple[str, ...]:
    """Return the columns whose missing cells show; those of the target always do."""
    target = plan.target
    may_miss = isinstance(target, Codes) or (target is not None and target.scaling.nullable)
    last = [target.name] if target is not None and may_miss else []
    if settings.missing == "hidden":
        return tuple(last)
    mixed = () if plan.mix is None else plan.mix.columns
    return tuple(
        [ranks.name for ranks in plan.ranks]
        + [codes.name for codes in plan.codes]
        + [column.name for column in mixed if column.nullable]
        + last
    )
