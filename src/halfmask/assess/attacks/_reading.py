"""Read released cells as the type of the original values.

A table that went through a CSV file holds text where the original holds dates, truth values or
decimals: an attacker reads ``2000-01-01T00:00:00.000000`` as the time it is.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import polars as pl

from halfmask.data import leaf_text, local_times

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


#: How naive times are written: by us, polars and pandas, and by hand.
MOMENTS = (
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M",
    # pandas omits midnight if a column has no other time.
    "%Y-%m-%d",
)
TIMES_OF_DAY = ("%H:%M:%S%.f", "%H:%M")
#: Days, hours, minutes and seconds: as pandas and Python write spans of time, and ISO 8601.
SPANS = (
    r"^(?:(-?\d+) days?,?\s+)?\+?(\d+):(\d\d):(\d\d(?:\.\d+)?)$",
    r"^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$",
)
MICROSECONDS = (86_400e6, 3_600e6, 60e6, 1e6)
TRUTHS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}


def is_text(dtype: pl.DataType) -> bool:
    """Return whether a type's values are texts, however they are stored."""
    return dtype in (pl.String, pl.Categorical, pl.Enum)


def as_numbers(values: pl.Series) -> pl.Series:
    """Return numbers, dates and times as floating-point numbers; missing where not finite."""
    physical = values.to_physical() if values.dtype.is_temporal() else values
    numbers = physical.cast(pl.Float64, strict=False)
    return numbers.set(~numbers.is_finite().fill_null(value=False), None)


def read_numbers(texts: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return the numbers that texts spell, as `as_numbers` has those of a type; else missing."""
    if dtype.is_temporal():
        return as_numbers(read_times(texts, dtype))
    return as_numbers(texts.str.strip_chars().cast(pl.Float64, strict=False))


def read_times(texts: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return the dates, moments, times of day or spans that texts spell; missing for others.

    A moment without a zone is one of the column's clock.
    """
    if dtype == pl.Time:
        return _first_read([texts.str.to_time(form, strict=False) for form in TIMES_OF_DAY])
    if dtype == pl.Duration:
        return recast(_first_read([_spans(texts, form) for form in SPANS]), dtype)
    unit = dtype.time_unit if isinstance(dtype, pl.Datetime) else "us"
    naive = [texts.str.to_datetime(form, strict=False, time_unit=unit) for form in MOMENTS]
    zoned = texts.str.to_datetime("%+", strict=False, time_unit=unit)
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
        return _first_read([*(local_times(it, dtype) for it in naive), recast(zoned, dtype)])
    moments = _first_read([*naive, zoned.dt.replace_time_zone(None)])
    if dtype == pl.Date:
        days = moments.cast(pl.Date)
        days = days.set((days.cast(moments.dtype) != moments).fill_null(value=False), None)
        return _first_read([days, _dates(texts)])
    return recast(moments, dtype)


def _dates(texts: pl.Series) -> pl.Series:
    """Return the dates that texts spell in the form of most; missing for others."""
    try:
        return texts.str.to_date(strict=False)
    except pl.exceptions.ComputeError:  # polars 1.42, where no text spells a date
        return pl.Series(texts.name, [None], dtype=pl.Date).new_from_index(0, len(texts))


def recast(values: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return values as another type; missing where they aren't values of it."""
    try:
        return values.cast(dtype, strict=False)
    except pl.exceptions.InvalidOperationError:  # no value of the one type is one of the other
        return pl.Series(values.name, [None], dtype=dtype).new_from_index(0, len(values))


def common_type(released: pl.DataType, true_dtype: pl.DataType) -> pl.DataType:
    """Return the type by which released cells and people's own values are compared.

    That of people's values; but numbers that were rounded to single precision on one side are
    rounded on both, and texts are read as what they were released as.
    """
    if is_text(true_dtype):
        return released
    if released.is_numeric() and true_dtype.is_numeric() and pl.Float32 in (released, true_dtype):
        return pl.Float32()
    return true_dtype


def spelt(values: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return values as texts that are equal where they mean the same value of a type.

    They are spelt as hierarchies spell values of the type. What can't be read as a value of it,
    such as a range, keeps its own text.

    Examples
    --------
    >>> spelt(pl.Series(["True", "false", "{false, true}"]), pl.Boolean()).to_list()
    ['true', 'false', '{false, true}']
    """
    texts = leaf_text(values)
    if values.dtype == dtype:
        return texts
    text = is_text(values.dtype)
    if dtype == pl.Boolean:
        read = texts.str.to_lowercase().replace_strict(
            list(TRUTHS), list(TRUTHS.values()), default=None, return_dtype=pl.Boolean
        )
    elif dtype.is_numeric() and (text or values.dtype.is_numeric()):
        return _spelt_numbers(texts.str.strip_chars() if text else values, dtype).fill_null(texts)
    elif dtype.is_temporal() and text:
        read = read_times(texts, dtype)
    elif dtype.is_temporal() and values.dtype.is_temporal():
        read = recast(values, dtype)
        # A day isn't the moment that it was cut off from.
        lost = recast(read, values.dtype) != values
        read = read.set(lost.fill_null(value=False), None)
    else:
        return texts
    return leaf_text(read).fill_null(texts)


def _spelt_numbers(values: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return numbers or their texts, spelt as numbers of a type; missing where they are none."""
    exact = values.cast(dtype, strict=False)
    if dtype.is_float():
        return leaf_text(exact)
    numbers = values.cast(pl.Float64, strict=False)
    # Casts round: 500.004 isn't the decimal 500.00, nor 39.5 the whole number 39.
    rounded = (exact.cast(pl.Float64) != numbers).fill_null(value=False)
    return leaf_text(exact.set(rounded, None)).fill_null(leaf_text(numbers))


def _spans(texts: pl.Series, form: str) -> pl.Series:
    """Return the spans of time that texts of one form spell; missing where they spell none."""
    total = pl.repeat(0.0, len(texts), eager=True).alias(texts.name)
    for place, size in enumerate(MICROSECONDS, start=1):
        part = texts.str.extract(form, place).cast(pl.Float64)
        total += part.fill_null(0.0) * size
    matching = texts.str.contains(form).fill_null(value=False)
    return total.round().cast(pl.Int64).set(~matching, None).cast(pl.Duration("us"))


def _first_read(readings: list[pl.Series]) -> pl.Series:
    """Return each value by the first reading that has one."""
    read = readings[0]
    for other in readings[1:]:
        read = read.fill_null(other)
    return read


#: Digits that a floating-point number may not hold.
MANY_DIGITS = r"\d{16}"
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)


@dataclass(frozen=True, slots=True, repr=False)
class NumberReader:
    """How values of a type are read as numbers: unchanged, where that keeps them apart."""

    dtype: pl.DataType
    origin: Fraction | None = None
    places: tuple[Fraction, ...] = ()

    @classmethod
    def of(cls, dtype: pl.DataType, columns: Sequence[pl.Series]) -> NumberReader:
        """Return the reader that keeps the values of some columns of numbers apart."""
        if all(_is_exact(column) for column in columns):
            return cls(dtype)
        exact = (_fractions(_plain(column)).values() for column in columns)
        places = sorted({number for each in exact for number in each if number is not None})
        if not places:  # digits that spell no number
            return cls(dtype)
        origin = places[len(places) // 2]
        apart = len({float(number - origin) for number in places}) == len(places)
        return cls(dtype, origin, () if apart else tuple(places))

    def numbers(self, values: pl.Series) -> pl.Series:
        """Return numbers, dates or times as floating-point numbers; missing where not finite."""
        return as_numbers(values) if self.origin is None else self._measured(_plain(values))

    def spelt(self, texts: pl.Series) -> pl.Series:
        """Return the numbers that texts spell; missing where they spell none."""
        if self.origin is None:
            return read_numbers(texts, self.dtype)
        return self._measured(
            _plain(read_times(texts, self.dtype)) if self.dtype.is_temporal() else texts
        )

    def _measured(self, values: pl.Series) -> pl.Series:
        found = {each: self._of(number) for each, number in _fractions(values).items()}
        return pl.Series(values.name, map(found.__getitem__, values.to_list()), dtype=pl.Float64)

    def _of(self, number: Fraction | None) -> float | None:
        if number is None or self.origin is None:
            return None
        if not self.places:
            return float(number - self.origin)
        place = bisect_left(self.places, number)
        known = place < len(self.places) and self.places[place] == number
        return float(place) if known else place - 0.5


def _plain(values: pl.Series) -> pl.Series:
    return values.to_physical() if values.dtype.is_temporal() else values


def _is_exact(values: pl.Series) -> bool:
    """Return whether floating-point numbers hold all values of a column."""
    plain = _plain(values)
    if is_text(plain.dtype):
        digits = plain.cast(pl.String).str.replace(".", "", literal=True)
        return not digits.str.contains(MANY_DIGITS).any()
    if plain.dtype.is_float() or not plain.dtype.is_numeric():
        return True
    again = plain.cast(pl.Float64, strict=False).cast(plain.dtype, strict=False)
    return bool((again == plain).fill_null(plain.is_null()).all())


def _fractions(values: pl.Series) -> dict[Any, Fraction | None]:
    """Return the exact number of each different value; ``None`` where it is none."""
    return {each: _fraction(each) for each in set(values.to_list())}


def _fraction(value: Any) -> Fraction | None:  # noqa: ANN401 # what a column of any type holds
    # A float's shortest text isn't its number: beyond 2**53 whole floats are their integers.
    text = str(int(value) if isinstance(value, float) and value.is_integer() else value).strip()
    return Fraction(text) if NUMBER.fullmatch(text) and math.isfinite(float(text)) else None
