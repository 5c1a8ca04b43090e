"""What can be counted of a column: the numbers that a proposal of its role rests on."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from halfmask.data import Normalization, spellings, steps_needed
from halfmask.data.date_formats import ISO
from halfmask.data.hierarchy.orders import has_order
from halfmask.data.hierarchy.tree import leaf_text
from halfmask.data.text_forms import TextForm, form_of, form_of_digits
from halfmask.data.value_patterns import pattern_shares
from halfmask.description._missing_codes import coded_cells
from halfmask.description._person_names import share_of_names

# Forms are looked for in so many different values; a share of them is known to about 2 %.
LOOKED_AT = 2_000
# Spellings are compared in columns of at most so many different texts.
MAX_RESPELLED = 20_000
# Whole numbers as long as this may be card or account numbers.
LONG_NUMBER = 10**11
# Ranges of numbers: "20-29", "[70-80)", "[70, 80)", "<30", "65+", "> 5 years", "1st-4th". Without
# brackets, "3,5" is a number.
RANGE = (
    r"^[\[(]?\d+(st|nd|rd|th)?\s*(-|to|\u2013)\s*\d+.*$|^[\[(]\d+\s*,\s*\d+.*$|"
    r"^([<>≤≥]=?)\s*\d+.*$|^\d+\s*\+.*$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnProfile:
    """Counts of one column. Holds no value of it.

    Shares are fractions in [0, 1] of the rows with a value, unless stated otherwise.
    """

    name: str
    dtype: pl.DataType
    rows: int
    missing: int
    distinct: int
    share_unique: float
    share_largest: float
    share_beyond_one: float
    share_beyond_two: float
    # Two values of the column: not for any text.
    low: float | None = field(default=None, repr=False)
    high: float | None = field(default=None, repr=False)
    mean_length: float = 0.0
    mean_words: float = 0.0
    leading_zeros: float = 0.0
    whole_numbers: bool = False
    ranges: float = 0.0
    patterns: dict[str, float] = field(default_factory=dict)
    form: TextForm | None = None
    respelled: int = 0
    normalize: tuple[Normalization, ...] = ()
    coded: int = 0
    names: float = 0.0

    @property
    def date_format(self) -> str | None:
        """The format by which nearly all texts are dates or times, or ``None``."""
        form = self.form
        if form is None or form.is_number or not form.holds:
            return None
        return form.date_format or ISO

    @property
    def is_number_text(self) -> bool:
        """Whether nearly all texts are numbers."""
        return self.form is not None and self.form.is_number and self.form.holds

    @property
    def is_number(self) -> bool:
        """Whether the values are numbers, or nearly all texts are."""
        return self.dtype.is_numeric() or self.is_number_text

    @property
    def filled(self) -> int:
        """The number of rows with a value."""
        return self.rows - self.missing

    @property
    def uniqueness(self) -> float:
        """Different values by rows with a value."""
        return self.distinct / self.filled if self.filled else 0.0


def profile_of(values: pl.Series) -> ColumnProfile:
    """Count what a proposal needs to know of a column."""
    if values.dtype.is_float():
        values = values.fill_nan(None)
    counted = _counts(values)
    different = values.drop_nulls().unique()
    if values.dtype.is_numeric():
        return ColumnProfile(**counted, **_numbers(values, different))  # type: ignore[arg-type] # by name
    if values.dtype.is_temporal() or values.dtype == pl.Boolean or different.is_empty():
        return ColumnProfile(**counted)  # type: ignore[arg-type] # by name
    texts = values.cast(pl.String)
    counted |= _texts(texts, different.cast(pl.String))
    return ColumnProfile(**counted, names=share_of_names(texts))  # type: ignore[arg-type] # by name


def _some(different: pl.Series) -> pl.Series:
    """Return at most 2,000 different values: those of the lowest hashes, the same each time."""
    if different.len() <= LOOKED_AT:
        return different
    return different.gather(different.hash(seed=0).arg_sort().head(LOOKED_AT))


def _counts(values: pl.Series) -> dict[str, object]:
    rows, missing = values.len(), values.null_count()
    counts = values.drop_nulls().alias("").value_counts(sort=False, name="n")["n"].to_numpy()
    largest = np.sort(np.append(counts, missing))[::-1]
    beyond = [float((rows - largest[:n].sum()) / max(rows, 1)) for n in (1, 2)]
    return {
        "name": values.name,
        "dtype": values.dtype,
        "rows": rows,
        "missing": missing,
        "distinct": len(counts),
        "share_unique": float(np.count_nonzero(counts == 1) / rows) if rows else 0.0,
        "share_largest": float(counts.max() / (rows - missing)) if len(counts) else 0.0,
        "share_beyond_one": beyond[0],
        "share_beyond_two": beyond[1],
    }


def _numbers(values: pl.Series, different: pl.Series) -> dict[str, object]:
    numbers = values.cast(pl.Float64)
    finite = numbers.filter(numbers.is_finite())
    low, high = finite.min(), finite.max()
    text = leaf_text(_some(different))
    long = high is not None and high >= LONG_NUMBER  # type: ignore[operator] # a float's maximum
    return {
        "low": low,
        "high": high,
        "whole_numbers": bool((finite == finite.floor()).all()),
        "mean_length": _mean(text.str.len_chars()) if text.len() else 0.0,
        "patterns": pattern_shares(text) if long else {},
        "form": _infinite(numbers) or form_of_digits(values),
        "coded": coded_cells(numbers.drop_nulls()),
    }


def _infinite(numbers: pl.Series) -> TextForm | None:
    """Return a form without infinite numbers: no range can hold them."""
    infinite = int(numbers.is_infinite().sum())
    if not infinite:
        return None
    finite = len(numbers) - numbers.null_count() - infinite
    return TextForm(dtype="float", fits=finite, others=infinite)


def _texts(texts: pl.Series, different: pl.Series) -> dict[str, object]:
    some = _some(different)
    form = form_of(texts)
    ranges = _mean(some.str.contains(RANGE))
    numbers = pl.Series([], dtype=pl.Float64)
    if form is not None and form.is_number and form.holds:
        numbers = form.read(different).drop_nulls().cast(pl.Float64)
    # Of so many different texts nobody counts how often each occurs in a class.
    normalize = steps_needed(different) if different.len() <= MAX_RESPELLED else ()
    return {
        "respelled": spellings(different, normalize) if normalize else 0,
        "normalize": normalize,
        "low": numbers.min(),
        "high": numbers.max(),
        "whole_numbers": bool(numbers.len()) and bool((numbers == numbers.floor()).all()),
        "mean_length": _mean(some.str.len_chars()),
        "mean_words": _mean(some.str.count_matches(r"\s+") + 1),
        "leading_zeros": _mean(some.str.contains(r"^0\d+$")),
        # What has no order to the release has none here.
        "ranges": ranges if ranges >= 0.5 and has_order(different) else 0.0,
        "patterns": pattern_shares(some),
        "form": form,
    }


def _mean(counts: pl.Series) -> float:
    return float(counts.cast(pl.Float64).to_numpy().mean())
