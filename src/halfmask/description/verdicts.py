"""The role that a column seems to have by its name and its values, and why: one rule, one function.

The first rule that has something to say decides; `RULES` has their order. What is asked of the
values, such as `has_free_text`, is asked of fields of events, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from halfmask.data.value_patterns import PATTERNS
from halfmask.description import thresholds
from halfmask.description._survey_words import SAMPLING_WEIGHT

if TYPE_CHECKING:
    from halfmask.data import Role
    from halfmask.description.column_names import NameHint
    from halfmask.description.profile import ColumnProfile

# What columns of places are about: towns and churches are called as people are.
PLACES = ("a place", "a point", "birth", "where")


@dataclass(frozen=True, slots=True)
class RoleVerdict:
    """A role, the sentence that says why, the same in a few words, and whether it is clear."""

    role: Role
    reason: str
    brief: str
    certain: bool = True


def judge(profile: ColumnProfile, hint: NameHint | None) -> RoleVerdict | None:
    """Return what name and values of a column say by themselves, or ``None``."""
    verdicts = (rule(profile, hint) for rule in RULES)
    return next((verdict for verdict in verdicts if verdict is not None), None)


def is_nearly_unique(profile: ColumnProfile) -> bool:
    """Return whether nearly every row with a value has one of its own."""
    return profile.filled >= thresholds.FEW_ROWS and profile.uniqueness >= thresholds.NEARLY_UNIQUE


def has_free_text(profile: ColumnProfile) -> bool:
    """Return whether the texts are written by people, not chosen from a list."""
    long = (
        profile.mean_words >= thresholds.FREE_WORDS
        and profile.mean_length >= thresholds.FREE_CHARACTERS
    )
    return long and profile.distinct > 2 and profile.uniqueness >= thresholds.FREE_UNIQUENESS


def points_at_groups(profile: ColumnProfile, *, few_are_groups: bool = True) -> bool:
    """Return whether so many rows share each value that it is one of a group."""
    few = (
        max(min(thresholds.FEW_VALUES, thresholds.FEW_SHARE * profile.filled), 2)
        if few_are_groups
        else 2
    )
    return profile.filled >= thresholds.FEW_ROWS and profile.distinct <= few


def identifying_form(profile: ColumnProfile, hint: NameHint | None) -> tuple[str, str] | None:
    """Return what the values are by a form that points at one person, and the sentence for it."""
    if profile.date_format is not None or profile.dtype.is_float():
        return None
    clear_name = hint is not None and hint.strong and hint.topic.role != "identifier"
    for name, pattern in PATTERNS.items():
        if name == "phone" and (clear_name or profile.uniqueness < thresholds.PHONE_UNIQUENESS):
            continue
        if pattern.identifies and profile.patterns.get(name, 0.0) >= pattern.least:
            return _name_form(profile, name)
    return None


def form_of_place(profile: ColumnProfile) -> tuple[str, str] | None:
    """Return what the values are by the form of a place, and the sentence for it."""
    for name in ("coordinates", "degrees", "h3", "postcode"):
        if profile.patterns.get(name, 0.0) >= PATTERNS[name].least:
            return _name_form(profile, name)
    return None


def _name_form(profile: ColumnProfile, name: str) -> tuple[str, str]:
    about = PATTERNS[name].about
    return about, f"{profile.patterns[name]:.0%} of its values have the form of {about}."


def is_own_code(profile: ColumnProfile) -> bool:
    """Return whether nearly every row has a value of its own that isn't a measure."""
    numeric = profile.is_number
    if not is_nearly_unique(profile) or not (profile.whole_numbers or not numeric):
        return False
    return not numeric or is_consecutive(profile) or profile.mean_length >= thresholds.CODE_DIGITS


def is_consecutive(profile: ColumnProfile) -> bool:
    """Return whether the values are whole numbers with few gaps between them."""
    spread = (profile.high or 0) - (profile.low or 0) + 1
    return profile.whole_numbers and spread <= thresholds.CONSECUTIVE * profile.distinct


def _is_of_dates(profile: ColumnProfile) -> bool:
    """Return whether the values are dates or times, by type or as text."""
    return profile.dtype.is_temporal() or profile.date_format is not None


def _by_type(profile: ColumnProfile, _: NameHint | None) -> RoleVerdict | None:
    """Judge columns of a type that no release can write."""
    if not isinstance(profile.dtype, pl.Duration):
        return None
    return RoleVerdict(
        "identifier",
        "It holds spans of time, which no range can hold: as an identifier it is dropped. Turn "
        "them into numbers, such as hours, to keep it.",
        "spans of time",
        certain=False,
    )


def _by_filling(profile: ColumnProfile, hint: NameHint | None) -> RoleVerdict | None:
    """Judge columns without any value."""
    if profile.filled == 0 and (hint is None or not hint.strong):
        return RoleVerdict(
            "identifier",
            "It has no value in any row: as an identifier it is dropped, and nothing is lost.",
            "no value in any row",
            certain=False,
        )
    return None


def _by_form(profile: ColumnProfile, hint: NameHint | None) -> RoleVerdict | None:
    """Judge columns whose values have the form of something that points at one person."""
    found = identifying_form(profile, hint)
    if found is None:
        return None
    about, reason = found
    return RoleVerdict("identifier", reason, f"values: {_shorten(about)}")


def _by_text(profile: ColumnProfile, hint: NameHint | None) -> RoleVerdict | None:  # noqa: ARG001 - as all rules
    if has_free_text(profile):
        return RoleVerdict(
            "identifier",
            f"It is free text ({profile.mean_words:.0f} words on average), which may name people: "
            "as an identifier it is dropped.",
            "free text, names?",
            certain=False,
        )
    return None


def _by_name(profile: ColumnProfile, hint: NameHint | None) -> RoleVerdict | None:
    """Judge by words that say clearly what a column is about, where values don't object."""
    if hint is None or not hint.strong or not can_be(profile, hint):
        return None
    topic = hint.topic
    reason, brief = f"Its name speaks of {topic.about}", f"name: {_shorten(topic.about)}"
    if topic.role == "sensitive" and _is_of_dates(profile):
        why = f"{reason}; it is a date, which others may have seen."
        return RoleVerdict("quasi_identifier", why, brief)
    groups = points_at_groups(profile, few_are_groups=topic.few_are_groups)
    if topic.role == "identifier" and groups:
        return RoleVerdict(
            "quasi_identifier",
            f"{reason}, but it has only {values_text(profile.distinct)}, which point at groups.",
            brief,
            certain=False,
        )
    return RoleVerdict(topic.role, f"{reason}.", brief, certain=not hint.inside)


def is_sampling_weight(profile: ColumnProfile, hint: NameHint | None) -> bool:
    """Return whether name and values are those of a sampling weight: no weight is negative."""
    named = hint is not None and hint.topic is SAMPLING_WEIGHT
    return named and profile.is_number and (profile.low or 0) >= 0 and (profile.high or 0) > 0


def judge_weight(profile: ColumnProfile, why: str) -> RoleVerdict:
    """Return the verdict on a column that is a sampling weight, as a sentence says."""
    if profile.distinct == 1 and not profile.missing:
        same = f"{why} It is the same in every row, which says nothing of a person."
        return RoleVerdict("insensitive", same, "a constant sampling weight")
    return RoleVerdict(
        "quasi_identifier",
        f"{why} Estimates need it unchanged: make it insensitive only if it tells no more than "
        "the other columns of the release.",
        "a sampling weight",
    )


def _by_weight(profile: ColumnProfile, hint: NameHint | None) -> RoleVerdict | None:
    """Judge sampling weights by their name."""
    if not is_sampling_weight(profile, hint):
        return None
    return judge_weight(profile, f"Its name speaks of {SAMPLING_WEIGHT.about}.")


def can_be(profile: ColumnProfile, hint: NameHint) -> bool:
    """Return whether the values can be what the name seems to say."""
    topic = hint.topic
    if topic is SAMPLING_WEIGHT and profile.filled:
        return is_sampling_weight(profile, hint)
    if hint.inside and profile.distinct > topic.inside:
        return False
    if topic.most is not None and profile.distinct > topic.most:
        return False
    # Months since an account was opened aren't its number.
    counted = hint.measures and profile.is_number
    return topic.role != "identifier" or not counted or is_nearly_unique(profile)


def _by_weak_name(profile: ColumnProfile, hint: NameHint | None) -> RoleVerdict | None:
    """Judge by a word that says little, where the values bear it out."""
    if hint is None or hint.strong:
        return None
    topic, reason = hint.topic, f"Its name speaks of {hint.topic.about}"
    brief = f"name: {_shorten(topic.about)}"
    if topic.role == "quasi_identifier":
        dated = _is_of_dates(profile) or _is_of_calendar(profile, hint)
        return RoleVerdict("quasi_identifier", f"{reason}.", brief) if dated else None
    if topic.role == "sensitive":
        is_code = is_nearly_unique(profile) and not profile.is_number
        is_other = is_code or _is_of_dates(profile)
        return None if is_other else RoleVerdict("sensitive", f"{reason}.", brief, certain=False)
    if topic.kind == "text" and profile.mean_words >= thresholds.REMARK_WORDS:
        why = f"{reason}, which may name people: as an identifier it is dropped."
        return RoleVerdict("identifier", why, brief, certain=False)
    if hint.measures or not _has_many(profile, hint):
        return None
    return RoleVerdict(
        "identifier",
        f"{reason}, and it has {profile.distinct:,} different values in {profile.filled:,} rows.",
        brief,
        certain=profile.uniqueness >= thresholds.NEARLY_UNIQUE,
    )


def _has_many(profile: ColumnProfile, hint: NameHint) -> bool:
    """Return whether there are as many different values as numbers or names of people have."""
    if hint.topic.about == "a person":
        numbers = profile.whole_numbers or profile.numbered >= thresholds.NEARLY_UNIQUE
        return profile.distinct >= thresholds.PEOPLE_AT_LEAST and numbers
    if hint.topic.kind == "text" and profile.is_number:
        return False
    counted = profile.whole_numbers or not profile.dtype.is_float()
    return counted and (
        profile.uniqueness >= thresholds.HALF_UNIQUE or profile.distinct > thresholds.MANY_VALUES
    )


def _is_of_calendar(profile: ColumnProfile, hint: NameHint) -> bool:
    """Return whether numbers are years or months of a calendar: "time" may be anything."""
    if not profile.whole_numbers or profile.low is None or profile.high is None:
        return False
    year = (
        thresholds.CALENDAR_YEARS[0] <= profile.low and profile.high <= thresholds.CALENDAR_YEARS[1]
    )
    return year or (hint.of_calendar and profile.low >= 0 and profile.high <= 99)


def _by_names(profile: ColumnProfile, hint: NameHint | None) -> RoleVerdict | None:
    """Judge columns that hold names of people, whatever their own name says."""
    topic = hint.topic if hint is not None and hint.strong else None
    if topic is not None and (topic.role == "identifier" or topic.about.startswith(PLACES)):
        return None
    full = (
        profile.names >= thresholds.MOSTLY_NAMES
        and profile.mean_words >= thresholds.FULL_NAME_WORDS
    )
    some = profile.names >= thresholds.SOME_NAMES and profile.distinct >= thresholds.NAMES_AT_LEAST
    # "Morgan" and "Martin" may be what a column of firms or schools speaks of.
    if full or (some and (topic is None or topic.role != "quasi_identifier")):
        return RoleVerdict(
            "identifier",
            f"{profile.names:.0%} of its texts are frequent names of people.",
            "values: names of people",
            certain=full,
        )
    return None


def _by_date_or_place(profile: ColumnProfile, hint: NameHint | None) -> RoleVerdict | None:  # noqa: ARG001 - as all rules
    """Judge columns of dates, points and postal codes whose name says nothing."""
    if _is_of_dates(profile):
        return RoleVerdict(
            "quasi_identifier",
            "It is a date or time, and others may have seen what happened then.",
            "values: dates or times",
            certain=False,
        )
    found = form_of_place(profile)
    if found is None:
        return None
    about, reason = found
    return RoleVerdict("quasi_identifier", reason, f"values: {_shorten(about)}", certain=False)


def _by_uniqueness(profile: ColumnProfile, hint: NameHint | None) -> RoleVerdict | None:  # noqa: ARG001 - as all rules
    """Judge columns whose name says nothing by how many values they have."""
    if not is_own_code(profile):
        return None
    runs = is_consecutive(profile)
    return RoleVerdict(
        "identifier",
        f"Nearly every row has a value of its own ({profile.distinct:,} in {profile.filled:,}"
        f"{', and they are consecutive' if runs else ''}).",
        "a value for each row",
        certain=runs,
    )


def _shorten(about: str) -> str:
    """Return what a name or a pattern is about in a few words.

    Examples
    --------
    >>> _shorten("an e-mail address"), _shorten("a place of a person, by its code")
    ('e-mail address', 'place of a person')
    """
    return about.partition(",")[0].removeprefix("a ").removeprefix("an ")


def values_text(n: int) -> str:
    """Return how many different values there are, in words."""
    return f"{n:,} different {'value' if n == 1 else 'values'}"


RULES = (
    _by_type,
    _by_filling,
    _by_form,
    _by_text,
    _by_names,
    _by_weight,
    _by_name,
    _by_weak_name,
    _by_date_or_place,
    _by_uniqueness,
)
