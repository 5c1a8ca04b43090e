"""The kind that a column seems to have: numbers, codes, dates, places, ranges, texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.data.value_patterns import PATTERNS
from halfmask.description._codes import code_reason
from halfmask.description.thresholds import FEW_VALUES, NEARLY_OF_FORM
from halfmask.description.verdicts import has_free_text, is_sampling_weight, values_text

if TYPE_CHECKING:
    from halfmask.data import Kind
    from halfmask.data.text_forms import TextForm
    from halfmask.description.column_names import NameHint
    from halfmask.description.profile import ColumnProfile

# What to do with places that are written in one column.
PLACES = {
    "coordinates": "Its values are points in one text. Split them into two columns of numbers.",
    "degrees": "Its values are degrees and minutes. Write them as decimal degrees.",
    "h3": "Its values are cells of H3, which have coarser ones above them.",
}
# The least code of five digits without a zero in front.
SHORTEST_CODE = 10_000


def judge_kind(profile: ColumnProfile, hint: NameHint | None) -> tuple[Kind, str]:
    """Return the kind of a column and the sentence that says why: the first case that fits."""
    strong = hint is not None and hint.strong
    is_geo = strong and hint is not None and hint.topic.kind == "geo"
    is_named_text = strong and hint is not None and hint.topic.kind == "text"
    code = code_reason(profile, hint)
    place = next(
        (
            why
            for name, why in PLACES.items()
            if profile.patterns.get(name, 0) >= PATTERNS[name].least
        ),
        None,
    )
    numeric, distinct = profile.dtype.is_numeric(), profile.distinct
    form = profile.form
    counted = "" if form is None else f" {form.counted()}".rstrip() + _say_other_form(form)
    spelled = "" if form is None else form.spelling
    cases: tuple[tuple[bool, Kind, str], ...] = (
        (profile.dtype.is_temporal(), "datetime", "Its type is one of dates or times."),
        (
            profile.date_format is not None,
            "datetime",
            f"Its values are dates stored as text ({profile.date_format}).{counted}",
        ),
        (place is not None, "geo", place or ""),
        (is_geo, "geo", f"Its values are places: codes or coordinates.{_say_cut(profile)}"),
        (is_sampling_weight(profile, hint), "numeric", "Its values are numbers."),
        (numeric and distinct <= 2, "categorical", "It has two different values or fewer."),
        (code is not None, "categorical", code or ""),
        (numeric, "numeric", f"Its values are numbers.{_say_infinite(form)}"),
        (has_free_text(profile), "text", "Its values are free text."),
        (
            profile.is_number_text and distinct > 2,
            "numeric",
            f"Its values are numbers stored as text ({spelled}).{counted}",
        ),
        (
            not strong and profile.patterns.get("postcode", 0) >= PATTERNS["postcode"].least,
            "geo",
            "Its values are postal codes by their form.",
        ),
        (profile.ranges >= 0.8, "ordinal", "Its values are ranges, which have an order."),
        (
            is_named_text and distinct > FEW_VALUES,
            "text",
            f"It has {distinct:,} different texts.",
        ),
        (
            True,
            "categorical",
            f"It has {values_text(distinct)} without a clear order.{_say_nearly(form)}",
        ),
    )
    return next((kind, why) for fits, kind, why in cases if fits)


def _say_cut(profile: ColumnProfile) -> str:
    """Say of numbers that are codes of five digits, and of fewer, that zeros got lost."""
    low, high = profile.low or 0, profile.high or 0
    cut = profile.whole_numbers and 0 < low < SHORTEST_CODE <= high < 10 * SHORTEST_CODE
    return " They lost leading zeros: make them texts of five digits again." if cut else ""


def _say_infinite(form: TextForm | None) -> str:
    if form is None or not form.is_number:
        return ""
    return f" {form.others:,} of {form.fits + form.others:,} cells are infinite."


def _say_other_form(form: TextForm | None) -> str:
    return f" They also fit the form {form.also}." if form is not None and form.also else ""


def _say_nearly(form: TextForm | None) -> str:
    """Say of a column of categories how many of its cells are numbers or dates."""
    if form is None or form.share < NEARLY_OF_FORM or form.holds:
        return ""
    what = "numbers" if form.is_number else "dates or times"
    return f" Most look like {what} ({form.spelling}). {form.counted()}"
