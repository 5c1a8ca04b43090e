"""Whole numbers that are codes: by labels in the file, by name, or because they are few from 1 on.

A code has no order. As a number it would get a mean, such as 4.39 for a supply of water.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from halfmask.description.column_names import words_of
from halfmask.description.column_words import MEASURE_WORDS
from halfmask.description.thresholds import FEW_ROWS, FEW_VALUES, MANY_VALUES

if TYPE_CHECKING:
    from halfmask.description.column_names import NameHint
    from halfmask.description.profile import ColumnProfile

_CODE_WORDS: Final = frozenset(
    {
        *("code", "codes", "cd", "cod", "type", "types", "typ", "class", "category", "cat", "kind"),
        *("klasse", "kategorie", "schlussel", "art", "classe", "categorie", "codigo", "tipo"),
        *("clase", "categoria", "codice", "kod", "kode", "kategoria", "rodzaj", "klass", "soort"),
    }
)
#: What counts or rates has an order, though it begins at 1.
_COUNT_WORDS: Final = MEASURE_WORDS | {
    *("num", "number", "nb", "nbr", "n", "no", "nr", "qty", "quantity", "size", "times", "freq"),
    *("level", "grade", "rank", "rating", "score", "scale", "stars", "points", "stage", "step"),
    *("rooms", "bedrooms", "bathrooms", "beds", "floor", "floors", "doors", "cars", "persons"),
    *("people", "members", "children", "visits", "trips", "calls", "items", "orders", "group"),
    *("experience", "exper", "tenure", "seniority", "overtime", "distance", "commute", "time"),
    *("height", "width", "weight", "price", "cost", "value", "term", "quarter", "wave", "round"),
    *("year", "month", "day", "week", "hour", "size", "order", "rate", "dose", "degree", "zimmer"),
}
#: What these are about has an order, also in classes.
_ORDERED: Final = ("age", "birth", "money", "education")
_MOST_FROM_ONE: Final = 12
_MOST_DIGITS: Final = 99


_BY_NAME: Final = "By its name its numbers are codes, which have no order."


def code_reason(profile: ColumnProfile, hint: NameHint | None) -> str | None:
    """Return the sentence that says why a column's whole numbers are codes; ``None`` if not."""
    if not profile.whole_numbers or not profile.is_number or (profile.low or 0) < 0:
        return None
    if profile.labelled:
        return "Most of its values have labels in the file: its numbers are codes."
    if _is_named_key(profile, hint):
        return _BY_NAME
    words = frozenset(words_of(profile.name))
    return None if words & _COUNT_WORDS else _reason_by_words(profile, hint, words)


def _is_named_key(profile: ColumnProfile, hint: NameHint | None) -> bool:
    """Return whether the name says that few numbers are keys, such as a status id."""
    weak = hint is not None and not hint.strong and hint.topic.role == "identifier"
    return weak and profile.dtype.is_numeric() and profile.distinct <= FEW_VALUES


def _reason_by_words(
    profile: ColumnProfile, hint: NameHint | None, words: frozenset[str]
) -> str | None:
    is_ordered = hint is not None and hint.topic.about in _ORDERED
    if words & _CODE_WORDS and profile.distinct <= FEW_VALUES and not is_ordered:
        return _BY_NAME
    if hint is not None and hint.strong and hint.topic.kind == "categorical":
        by_topic = profile.distinct <= MANY_VALUES
        return "Its name is one of categories, so its numbers are codes." if by_topic else None
    if hint is None and _are_few_from_one(profile):
        return (
            "Its few whole numbers from 1 on look like codes, which have no order. If they count "
            "or rate something, make it numeric."
        )
    return None


def _are_few_from_one(profile: ColumnProfile) -> bool:
    return (
        profile.dtype.is_numeric()
        and profile.filled >= FEW_ROWS
        and profile.distinct <= _MOST_FROM_ONE
        and (profile.low or 0) >= 1
        and (profile.high or 0) <= _MOST_DIGITS
    )
