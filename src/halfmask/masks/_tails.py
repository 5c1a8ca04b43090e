"""Top and bottom coding: what lies in a tail is written as the tail's bound."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError
from halfmask._validation import rows_of_share
from halfmask.masks._checked_mask import CheckedMask
from halfmask.masks._mask import counted_claim
from halfmask.masks._numbers import (
    as_column,
    check_bounds,
    check_numeric,
    exact_type,
    floats,
    from_units,
    to_units,
    units_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.claims import Claim
    from halfmask.masks._mask import ReadColumns
    from halfmask.masks._value_counts import ValueCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class TailCoding(CheckedMask):
    """Write the bound for numbers beyond it: top and bottom coding.

    Parameters
    ----------
    low, high
        The bounds, as numbers of the column.
    low_share, high_share
        In their place: the share of cells, 0 to 0.5, that are in the tail at most. The bound is
        then a number of the column. Both together must be below 1.

    Raises
    ------
    ParameterError
        If no bound is given, a bound is given twice, or the bounds cross.

    Notes
    -----
    **Guarantees.** Nothing beyond a bound is written. Of a share, at most that share of the cells
    is changed by its bound.

    **Edge cases.** Whole numbers with whole bounds, and decimals, are compared exactly, whatever
    their size. Whole numbers become Int64. Float32 becomes Float64 if it doesn't hold a bound. A
    bound by share is a number that somebody has; ties stay together, so that fewer cells may be in
    the tail. How many lie beyond a bound is seen.

    Examples
    --------
    >>> plan = TailCoding(high=100).fit("income", pl.Int64(), None, bytes(32))
    >>> plan.apply(pl.Series("income", [70, 101, 900, None]), 0).to_list()
    [70, 100, 100, None]
    """

    name: ClassVar[str] = "tails"
    coarsens: ClassVar[bool] = True
    is_matchable: ClassVar[bool] = True
    low: float | None = None
    high: float | None = None
    low_share: float | None = field(default=None, metadata={"gt": 0, "le": 0.5})
    high_share: float | None = field(default=None, metadata={"gt": 0, "le": 0.5})

    def _check_together(self) -> None:
        given = [self.low, self.high, self.low_share, self.high_share]
        if all(it is None for it in given):
            raise ParameterError(
                "The mask 'tails' has no bound.",
                hint="Give low or high, or low_share or high_share.",
            )
        for side, share in (("low", self.low_share), ("high", self.high_share)):
            if share is not None and getattr(self, side) is not None:
                raise ParameterError(f"The mask 'tails' has both '{side}' and '{side}_share'.")
        if (self.low_share or 0) + (self.high_share or 0) >= 1:
            raise ParameterError(
                "The 'low_share' and 'high_share' of the mask 'tails' must be below 1 together, "
                "or the lower bound may lie above the upper one.",
                hint="Choose smaller shares.",
            )
        check_bounds(self.low, self.high, mask=self.name)

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """The names of the technique's weaknesses."""
        left_out = ("left-out-values",) if self.needs_counts else ()
        return ("heaped-at-bounds", *left_out, "values-between-bounds-kept")

    @property
    def needs_counts(self) -> bool:
        """Whether a bound is given by its share of the cells."""
        return self.low_share is not None or self.high_share is not None

    def claims(self, columns: Sequence[str], read: ReadColumns) -> list[Claim]:
        """Return the claim that nothing lies beyond given bounds; see `ClaimingMask`."""
        given = {side: it for side in ("low", "high") if (it := getattr(self, side)) is not None}
        return [counted_claim("bounded", columns, **given)] if given else []

    def written(self, column: str, dtype: pl.DataType) -> pl.DataType:
        """Return Int64 for whole numbers and bounds, a decimal for decimals; see `Mask`."""
        check_numeric(column, dtype, mask=self.name, decimals=True)
        bounds = [it for it in (self.low, self.high) if it is not None]
        if dtype == pl.Float32:
            held = pl.Series(bounds, dtype=pl.Float64).cast(dtype)
            if held.to_list() == bounds:
                return dtype
        return exact_type(column, dtype, bounds, mask=self.name)

    def fit(
        self, column: str, dtype: pl.DataType, counts: ValueCounts | None, key: bytes
    ) -> _CodedTails:
        """Return the plan: bounds by share become numbers of the column; see `Mask`."""
        low: float | Decimal | None = self.low
        high: float | Decimal | None = self.high
        if counts is not None and counts.cells:
            numbers, reached = counts.values, counts.counts.cum_sum()
            if self.low_share is not None:
                # The first number with more than the share at or below it: fewer lie below.
                most = rows_of_share(self.low_share, counts.cells)
                low = numbers[int((reached > most).arg_max() or 0)]
            if self.high_share is not None:
                most = rows_of_share(self.high_share, counts.cells)
                high = numbers[int((counts.cells - reached <= most).arg_max() or 0)]
        if low is not None and high is not None and _exactly(low) > _exactly(high):
            raise DataError(
                f"The bounds of the mask 'tails' cross in column {column!r}.",
                hint="Choose smaller shares, or bounds further apart.",
            )
        return _CodedTails(self.written(column, dtype), low, high)


@dataclass(frozen=True, slots=True, repr=False)
class _CodedTails:
    dtype: pl.DataType
    low: float | Decimal | None
    high: float | Decimal | None

    def apply(self, column: pl.Series, first_row: int) -> pl.Series:
        if self.dtype.is_float():
            low, high = (None if it is None else float(it) for it in (self.low, self.high))
            if column.dtype.is_integer():
                # Beyond a bound whole numbers may have more digits than a float holds.
                column = _clipped(
                    to_units(column, pl.Int64(), mask="tails"),
                    None if low is None else math.floor(low),
                    None if high is None else math.ceil(high),
                )
            coded = np.clip(floats(column, mask="tails"), low, high)
            return as_column(coded, name=column.name, dtype=self.dtype)
        bounds = (None if it is None else units_of(it, self.dtype) for it in (self.low, self.high))
        units = to_units(column, self.dtype, mask="tails")
        return from_units(_clipped(units, *bounds), self.dtype, mask="tails")


def _clipped(units: pl.Series, low: int | None, high: int | None) -> pl.Series:
    bounds = [None if it is None else pl.Series([it], dtype=pl.Int128) for it in (low, high)]
    return units.clip(*bounds)


def _exactly(bound: float | Decimal) -> Decimal:
    """Return a bound as its digits say, so that floats and decimals compare."""
    return Decimal(str(bound))
