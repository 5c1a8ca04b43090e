"""What a household's rows say of columns: numbers of its members, and weights that they share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from halfmask.description._survey_words import HOUSEHOLD
from halfmask.description.column_names import hint_of, words_of
from halfmask.description.proposal import propose_as_found
from halfmask.description.verdicts import RoleVerdict, judge_weight

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from halfmask.description.profile import ColumnProfile
    from halfmask.description.proposal import Proposal

#: These may be of a body or of a sample.
_WEIGHT_WORDS: Final = frozenset(
    {"weight", "weights", "wgt", "wgts", "wt", "wts", "poids", "peso", "pesos", "gewicht", "vikt"}
)
#: No body weighs more, in kilograms or pounds.
_HEAVIEST: Final = 1_500
_MOST_MEMBERS: Final = 99
#: So many households of several rows show it, and this share of them has to.
_FEWEST, _NEARLY = 20, 0.97


def propose_of_survey(
    frame: pl.DataFrame, profiles: Mapping[str, ColumnProfile], known: Collection[str]
) -> dict[str, Proposal]:
    """Return proposals for numbers of household members, and for weights with an unclear name."""
    household = _household_of(profiles)
    asked = {name: it for name, it in profiles.items() if name not in known and name != household}
    found = {}
    for name, profile in asked.items():
        if household is not None and _may_number(profile) and _numbers(frame, household, name):
            found[name] = propose_as_found(profile, _member_verdict(household))
        elif (why := _weight_reason(frame, household, profile)) is not None:
            found[name] = propose_as_found(profile, judge_weight(profile, why))
    return found


def _household_of(profiles: Mapping[str, ColumnProfile]) -> str | None:
    """Return the column that numbers households of several rows: that with the most values."""
    found = []
    for name, profile in profiles.items():
        hint = hint_of(name)
        if hint is not None and hint.topic is HOUSEHOLD and profile.uniqueness < 1:
            found.append((profile.distinct, name))
    return max(found)[1] if found else None


def _member_verdict(household: str) -> RoleVerdict:
    return RoleVerdict(
        "identifier",
        f"It numbers the rows of each `{household}` from 1 on, and tells how large a household is.",
        "a member's number",
    )


def _may_number(profile: ColumnProfile) -> bool:
    whole = profile.dtype.is_numeric() and profile.whole_numbers and not profile.missing
    return whole and profile.low == 1 and 1 < (profile.high or 0) <= _MOST_MEMBERS


def _numbers(frame: pl.DataFrame, household: str, name: str) -> bool:
    """Return whether nearly each household of several rows has the numbers 1, 2, ... once."""
    each = pl.col(name)
    numbered = (each.min() == 1) & (each.max() == pl.len()) & (each.n_unique() == pl.len())
    return _holds_within(frame, household, name, numbered)


def _holds_within(frame: pl.DataFrame, household: str, name: str, what: pl.Expr) -> bool:
    """Return whether something holds of nearly all households of several rows."""
    several = (
        frame.select(pl.col(household).alias("household of"), name)
        .drop_nulls()
        .group_by("household of")
        .agg(what.alias("holds"), pl.len().alias("rows"))
        .filter(pl.col("rows") > 1)
    )
    return several.height >= _FEWEST and several["holds"].sum() >= _NEARLY * several.height


def _weight_reason(
    frame: pl.DataFrame, household: str | None, profile: ColumnProfile
) -> str | None:
    """Return why a column whose name speaks of a weight is one of a sample; ``None`` if not."""
    words = words_of(profile.name)
    if not words or words[-1] not in _WEIGHT_WORDS or not profile.dtype.is_numeric():
        return None
    if (profile.low or 0) < 0 or not profile.high:
        return None
    same = pl.col(profile.name).n_unique() == 1
    if household is not None and _holds_within(frame, household, profile.name, same):
        return f"It is a weight that is the same within each `{household}`: a sampling weight."
    if profile.high > _HEAVIEST:
        return "It is a weight, and larger than that of a body: a sampling weight."
    return None
