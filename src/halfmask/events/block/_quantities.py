"""Columns of numbers and amounts, exactly: ``7.99``, ``1e3``, ``"7.99 EUR"``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ParameterError
from halfmask.events.block._levels import absent, merged, only
from halfmask.events.block._values import Kind, Values, written_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.events.running._context import Context

#: Units are below it, so that their doubles are, too.
MOST = 1 << 62
_TENS = 10 ** np.arange(19, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Quantities:
    """A column of decimal numbers, each with its unit."""

    source: Values
    units: NDArray[np.int64]
    places: NDArray[np.int64]
    suffix: NDArray[np.int32]
    suffixes: tuple[bytes, ...]
    fits: NDArray[np.bool_]

    @classmethod
    def read(cls, values: Values, context: Context, units: Sequence[str]) -> Quantities:
        """Read numbers; texts, too, where units are given: a number and one of them.

        What isn't one is counted: ``wrong-type``, ``not-a-number``, ``unknown-unit``, or
        ``out-of-range`` with more than 18 digits.
        """
        from halfmask.kernels.text.decimals import LONG, NONE, parse_decimals  # noqa: PLC0415 # numba is slow to import

        kinds = (Kind.INTEGER, Kind.NUMBER, *((Kind.STRING,) if units else ()))
        fits = context.scalars(values, *kinds)
        count, level = len(fits), values.level
        starts, stops = np.where(fits, values.starts, 0), np.where(fits, values.stops, 0)
        found, places = np.empty(count, np.int64), np.empty(count, np.int8)
        ends = np.empty(count, np.int64)
        parse_decimals(values.data, starts, stops, found, places, ends)
        context.fail("not-a-number", level, fits & (places == NONE))
        context.fail("out-of-range", level, fits & (places == LONG))
        fits &= places >= 0
        suffixes = tuple(written_text(unit) for unit in units)
        suffix = np.full(count, -1, np.int32)
        texts = fits & (values.kinds == int(Kind.STRING))
        for number, word in enumerate(suffixes):
            suffix[texts & _ends_with(values.data, ends, stops, word)] = number
        context.fail("unknown-unit", level, texts & (suffix < 0))
        fits &= ~texts | (suffix >= 0)
        return cls(
            source=values,
            units=np.where(fits, found, 0),
            places=np.where(fits, places, 0).astype(np.int64),
            suffix=suffix,
            suffixes=suffixes,
            fits=fits,
        )

    def written(
        self, units: NDArray[np.int64], places: NDArray[np.int64], fits: NDArray[np.bool_]
    ) -> Values:
        """Return numbers in place of those that were read, with the units that those had."""
        level = self.source.level
        columns = []
        for each in np.flatnonzero(np.bincount(places[fits])).tolist():
            there = fits & (places == each)
            columns.append(Values.from_decimals(level, units, each, there))
        numbers = merged(columns) if columns else absent(level)
        return with_nulls(self._suffixed(numbers), self.source)

    def _suffixed(self, numbers: Values) -> Values:
        texts = (self.suffix >= 0) & (numbers.kinds != int(Kind.MISSING))
        if not texts.any():
            return numbers
        codes, tokens = numbers.distinct()
        width = len(self.suffixes) + 1
        pairs, where = np.unique(codes.astype(np.int64) * width + self.suffix, return_inverse=True)
        made: list[tuple[Kind, bytes]] = []
        for pair in pairs.tolist():
            code, suffix = divmod(pair, width)
            if suffix == width - 1:  # of -1, which is none
                code, suffix = code + 1, -1
            kind, token = tokens[code] if code >= 0 else (Kind.MISSING, b"")
            made.append(
                (Kind.STRING, token + self.suffixes[suffix]) if suffix >= 0 else (kind, token)
            )
        return only(
            Values.from_tokens(numbers.level, where, made), numbers.kinds != int(Kind.MISSING)
        )


def with_nulls(values: Values, source: Values) -> Values:
    """Return values with NULL wherever the source has it."""
    nulls = source.kinds == int(Kind.NULL)
    if not nulls.any():
        return values
    return Values(
        level=values.level,
        kinds=np.where(nulls, np.uint8(Kind.NULL), values.kinds),
        data=values.data,
        starts=values.starts,
        stops=values.stops,
    )


def rounded_to(
    units: NDArray[np.int64], step: NDArray[np.int64] | np.int64, to: str
) -> NDArray[np.int64]:
    """Return the multiples of positive steps that are nearest, below or above.

    Ties go to the even multiple. Whole numbers below `MOST` come in, and steps below it.

    Examples
    --------
    >>> rounded_to(np.array([25, 35, -25, 26]), np.int64(10), "nearest").tolist()
    [20, 40, -20, 30]
    """
    below, rest = np.divmod(units, step)
    if to == "nearest":
        below += (2 * rest > step) | ((2 * rest == step) & (below % 2 == 1))
    elif to == "up":
        below += rest > 0
    elif to != "down":
        raise ParameterError("Numbers are rounded to what is nearest, down or up.")
    return below * step


def ten_to(power: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """Return ten to a power of 0 to 18."""
    return np.asarray(_TENS[power], np.int64)


def _ends_with(
    data: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64], word: bytes
) -> NDArray[np.bool_]:
    """Return where the bytes from a start to a stop are a word."""
    same = np.asarray(stops - starts == len(word), np.bool_)
    for at, byte in enumerate(word):
        same[same] &= data[starts[same] + at] == byte
    return same
