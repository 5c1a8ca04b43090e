"""The role that a column seems to have by its name and its values, and why: one rule, one function.

The first rule that has something to say decides; `RULES` has their order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from halfmask.data.value_patterns import PATTERNS
from halfmask.description.profile import MIN_NAMES

if TYPE_CHECKING:
    from halfmask.data import Role
    from halfmask.description.column_names import NameHint
    from halfmask.description.profile import ColumnProfile

# Nearly every row has a value of its own from this share on.
NEARLY_UNIQUE = 0.95
# In fewer rows, values differ by chance.
FEW_ROWS = 20
# A number or an account that so few values stand for points at groups.
FEW_VALUES = 100
FEW_SHARE = 0.05
# Words and characters by which text is written by people and not chosen from a list.
FREE_WORDS = 6
FREE_CHARACTERS = 40
# A column called remarks has texts of so many words; codes and ticks have fewer.
REMARK_WORDS = 3
# Whole numbers of so many digits that are all different are more often codes than measures.
CODE_DIGITS = 6
# "first" and "last" are of names where so many different texts are.
NAMES_AT_LEAST = 20
# Names of people in so many rows, of two words and more, are full names.
MOSTLY_NAMES = 0.5
FULL_NAME_WORDS = 1.5
# What columns of places are about: towns and churches are called as people are.
PLACES = ("a place", "a point", "birth", "where")
# A column called subject numbers people where it has so many different values.
PEOPLE_AT_LEAST = 20
CALENDAR_YEARS = (1850, 2100)


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
    return profile.filled >= FEW_ROWS and profile.uniqueness >= NEARLY_UNIQUE


def has_free_text(profile: ColumnProfile) -> bool:
    """Return whether the texts are written by people, not chosen from a list."""
    long = profile.mean_words >= FREE_WORDS and profile.mean_length >= FREE_CHARACTERS
    return long and profile.distinct > 2 and profile.uniqueness >= 0.2


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
    if profile.date_format is not None or profile.dtype.is_float():
        return None
    clear_name = hint is not None and hint.strong and hint.topic.role != "identifier"
    for name, pattern in PATTERNS.items():
        share = profile.patterns.get(name, 0.0)
        # Much else looks like a telephone number.
        if name == "phone" and (clear_name or profile.uniqueness < 0.1):
            continue
        if share >= pattern.least and pattern.identifies:
            return RoleVerdict(
                "identifier",
                f"{share:.0%} of its values have the form of {pattern.about}.",
                f"values: {_bare(pattern.about)}",
            )
    return None


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
    reason, brief = f"Its name speaks of {topic.about}", f"name: {_bare(topic.about)}"
    if topic.role == "sensitive" and _is_of_dates(profile):
        why = f"{reason}; it is a date, which others may have seen."
        return RoleVerdict("quasi_identifier", why, brief)
    few = profile.distinct <= max(min(FEW_VALUES, FEW_SHARE * profile.filled), 2)
    yes_or_no = profile.distinct <= 2
    groups = few if topic.few_are_groups else yes_or_no
    if topic.role == "identifier" and groups and profile.filled >= FEW_ROWS:
        return RoleVerdict(
            "quasi_identifier",
            f"{reason}, but it has only {values_text(profile.distinct)}, which point at groups.",
            brief,
            certain=False,
        )
    return RoleVerdict(topic.role, f"{reason}.", brief, certain=not hint.inside)


def can_be(profile: ColumnProfile, hint: NameHint) -> bool:
    """Return whether the values can be what the name seems to say."""
    topic = hint.topic
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
    brief = f"name: {_bare(topic.about)}"
    if topic.role == "quasi_identifier":
        dated = _is_of_dates(profile) or _is_of_calendar(profile, hint)
        return RoleVerdict("quasi_identifier", f"{reason}.", brief) if dated else None
    if topic.role == "sensitive":
        is_code = is_nearly_unique(profile) and not profile.is_number
        is_other = is_code or _is_of_dates(profile)
        return None if is_other else RoleVerdict("sensitive", f"{reason}.", brief, certain=False)
    if topic.kind == "text" and profile.mean_words >= REMARK_WORDS:
        why = f"{reason}, which may name people: as an identifier it is dropped."
        return RoleVerdict("identifier", why, brief, certain=False)
    if hint.measures or not _has_many(profile, hint):
        return None
    return RoleVerdict(
        "identifier",
        f"{reason}, and it has {profile.distinct:,} different values in {profile.filled:,} rows.",
        brief,
        certain=profile.uniqueness >= NEARLY_UNIQUE,
    )


def _has_many(profile: ColumnProfile, hint: NameHint) -> bool:
    """Return whether there are as many different values as numbers or names of people have."""
    if hint.topic.about == "a person":
        return profile.distinct >= PEOPLE_AT_LEAST and profile.whole_numbers
    if hint.topic.kind == "text" and profile.is_number:
        return False
    counted = profile.whole_numbers or not profile.dtype.is_float()
    return counted and (profile.uniqueness >= 0.5 or profile.distinct > 1_000)


def _is_of_calendar(profile: ColumnProfile, hint: NameHint) -> bool:
    """Return whether numbers are years or months of a calendar: "time" may be anything."""
    if not profile.whole_numbers or profile.low is None or profile.high is None:
        return False
    year = CALENDAR_YEARS[0] <= profile.low and profile.high <= CALENDAR_YEARS[1]
    return year or (hint.of_calendar and profile.low >= 0 and profile.high <= 99)


def _by_names(profile: ColumnProfile, hint: NameHint | None) -> RoleVerdict | None:
    """Judge columns that hold names of people, whatever their own name says."""
    topic = hint.topic if hint is not None and hint.strong else None
    if topic is not None and (topic.role == "identifier" or topic.about.startswith(PLACES)):
        return None
    full = profile.names >= MOSTLY_NAMES and profile.mean_words >= FULL_NAME_WORDS
    some = profile.names >= MIN_NAMES and profile.distinct >= NAMES_AT_LEAST
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
    for name in ("coordinates", "postcode"):
        share = profile.patterns.get(name, 0.0)
        if share >= PATTERNS[name].least:
            return RoleVerdict(
                "quasi_identifier",
                f"{share:.0%} of its values have the form of {PATTERNS[name].about}.",
                f"values: {_bare(PATTERNS[name].about)}",
                certain=False,
            )
    return None


def _by_uniqueness(profile: ColumnProfile, hint: NameHint | None) -> RoleVerdict | None:  # noqa: ARG001 - as all rules
    """Judge columns whose name says nothing by how many values they have."""
    numeric = profile.is_number
    if not is_nearly_unique(profile) or not (profile.whole_numbers or not numeric):
        return None
    spread = (profile.high or 0) - (profile.low or 0) + 1
    runs = profile.whole_numbers and spread <= 1.5 * profile.distinct
    if numeric and not runs and profile.mean_length < CODE_DIGITS:
        return None
    return RoleVerdict(
        "identifier",
        f"Nearly every row has a value of its own ({profile.distinct:,} in {profile.filled:,}"
        f"{', and they are consecutive' if runs else ''}).",
        "a value for each row",
        certain=runs,
    )


def _bare(about: str) -> str:
    """Return what a name or a pattern is about in a few words.

    Examples
    --------
    >>> _bare("an e-mail address"), _bare("a place of a person, by its code")
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
    _by_name,
    _by_weak_name,
    _by_date_or_place,
    _by_uniqueness,
)
