"""Noise: each number with a random part."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError
from halfmask.masks._checked_mask import CheckedMask
from halfmask.masks._numbers import (
    EXACT,
    as_column,
    check_bounds,
    check_decimals,
    check_numeric,
    check_size,
    floats,
    may_overflow,
    rounded_to,
)
from halfmask.masks._row_draws import Law, noise, row_fractions

if TYPE_CHECKING:
    from collections.abc import Callable

    from halfmask.masks._value_counts import ValueCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomNoise(CheckedMask):
    """Add noise to each number, or multiply it by 1 + noise.

    Parameters
    ----------
    law
        ``"laplace"`` or ``"gaussian"`` with the scale b or sigma; ``"uniform"`` from -scale to
        scale.
    scale
        Above 0: in the column's unit, or with ``"multiply"`` a share of each number.
    unit
        ``"column"``, or ``"sd"`` for a scale in standard deviations of the column.
    decimals
        Digits behind the point, 0 to 9. More than the column had would show that there is noise.
    how
        ``"add"`` or ``"multiply"``.
    low, high
        What would be beyond them is written as the bound.

    Notes
    -----
    **Guarantees.** The noise of a row is independent of its number and of the other rows, and
    unknown without the key. It is no differential privacy: no budget is kept. Another table, or
    other parameters, have other noise under the same key.

    **Edge cases.** Large numbers stay large. Averages over many rows are near those of the column.
    What is multiplied stays 0 where it was 0. A number that would need more than 53 bits is
    refused. Float32 becomes Float64.

    Examples
    --------
    >>> mask = RandomNoise(law="uniform", scale=2.0, decimals=0)
    >>> plan = mask.fit("age", pl.Int64(), None, bytes(32))
    >>> moved = plan.apply(pl.Series("age", [40, 41, None]), 0)
    >>> bool(((moved - pl.Series([40, 41, None])).abs() <= 2).all()), moved.null_count()
    (True, 1)
    """

    name: ClassVar[str] = "noise"
    coarsens: ClassVar[bool] = False
    is_matchable: ClassVar[bool] = True  # roughly

    law: Law
    scale: float
    decimals: int
    how: Literal["add", "multiply"] = "add"
    unit: Literal["column", "sd"] = "column"
    low: float | None = None
    high: float | None = None

    def _check_together(self) -> None:
        check_size(mask=self.name, scale=self.scale)
        check_decimals(self.decimals, mask=self.name)
        if self.unit == "sd" and self.how == "multiply":
            raise ParameterError(
                "The mask 'noise' has the unit 'sd', which is for noise that is added.",
                hint="Leave out the unit: with 'multiply' the scale is a share.",
            )
        check_bounds(self.low, self.high, mask=self.name)

    @property
    def needs_counts(self) -> bool:
        """Whether the scale is in standard deviations of the column."""
        return self.unit == "sd"

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """The names of the technique's weaknesses."""
        zero = ("zero-kept",) if self.how == "multiply" else ()
        heaps = () if self.low is None and self.high is None else ("heaped-at-bounds",)
        return ("outlier-visible", *zero, *heaps)

    def written(self, column: str, dtype: pl.DataType) -> pl.DataType:
        """Return Int64 for whole numbers without decimals, else Float64; see `Mask`."""
        check_numeric(column, dtype, mask=self.name)
        return pl.Int64() if dtype.is_integer() and not self.decimals else pl.Float64()

    def fit(
        self, column: str, dtype: pl.DataType, counts: ValueCounts | None, key: bytes
    ) -> _Noisy:
        """Return the plan, which holds the key of the draws; see `Mask`."""
        scale = self.scale
        if self.unit == "sd":
            if counts is None:
                raise ParameterError(
                    "The mask 'noise' with the unit 'sd' is fitted to the column's values; none "
                    "are given."
                )
            scale *= _sd(column, counts)
        return _Noisy(self, self.written(column, dtype), scale, key)


def _sd(column: str, counts: ValueCounts) -> float:
    numbers, n = floats(counts.values, mask="noise"), counts.counts.to_numpy()
    with may_overflow():
        mean = np.average(numbers, weights=n) if len(n) else 0.0
        sd = float(np.sqrt(np.average((numbers - mean) ** 2, weights=n))) if len(n) else 0.0
    if len(n) and not 0 < sd < EXACT:
        raise DataError(
            f"Column {column!r} has no standard deviation for its mask 'noise': its numbers are "
            "equal, or too large.",
            hint="Give the scale in the column's unit.",
        )
    return sd


@dataclass(frozen=True, slots=True)
class _Noisy:
    mask: RandomNoise
    dtype: pl.DataType
    scale: float = field(repr=False)
    key: bytes = field(repr=False)

    def _bounds(self) -> tuple[float, float]:
        """Return the bounds that have the decimals which are written."""
        low = -np.inf if self.mask.low is None else self._cut(self.mask.low, math.ceil)
        return low, np.inf if self.mask.high is None else self._cut(self.mask.high, math.floor)

    def _cut(self, bound: float, to_whole: Callable[[float], int]) -> float:
        step = 10.0**self.mask.decimals
        has_digits = abs(bound) < EXACT / step  # behind the point, that could be cut
        return to_whole(bound * step) / step if has_digits else bound

    def apply(self, column: pl.Series, first_row: int) -> pl.Series:
        mask, numbers = self.mask, floats(column, mask=self.mask.name)
        u = row_fractions(len(numbers), key=self.key, first_row=first_row)
        drawn = noise(u, law=mask.law, scale=self.scale)
        with may_overflow():
            moved = numbers + drawn if mask.how == "add" else numbers * (1.0 + drawn)
        rounded = rounded_to(moved, mask.decimals, column=column.name, mask=mask.name)
        rounded = np.clip(rounded, *self._bounds()) + 0.0  # no -0.0
        return as_column(rounded, name=column.name, dtype=self.dtype)
