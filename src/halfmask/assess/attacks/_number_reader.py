"""Values of one column as floating-point numbers, without two values becoming one."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import polars as pl

from halfmask.assess.attacks._reading import as_numbers, is_text, read_numbers, read_times

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

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
