"""Rounding: the nearest multiple of a base."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError
from halfmask.masks._claims import counted_claim
from halfmask.masks._exact import exact_type, from_units, places_of, to_units, units_of
from halfmask.masks._numbers import EXACT, as_column, check_numeric, floats, is_number
from halfmask.masks._technique import Technique

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.claims import Claim
    from halfmask.masks._mask import ReadColumns
    from halfmask.masks._value_counts import ValueCounts

__all__ = ["Rounding"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounding:
    """Write the nearest multiple of a base.

    Parameters
    ----------
    base
        Above 0, such as 1000 or 0.5.

    Raises
    ------
    ParameterError
        If the base isn't a number above 0.

    Notes
    -----
    **Guarantees.** The written number differs from the original by at most half of the base.
    Equal numbers stay equal. A number half-way is rounded to the even multiple, so that sums have
    no bias.

    **Edge cases.** Integers with an integer base are rounded exactly and keep their type. So are
    decimals with any base. Floats of more than 2**53 bases are refused. Rare large numbers
    stay rare: code the tails as well (`TailCoding`).

    Examples
    --------
    >>> plan = Rounding(base=10).fit("age", pl.Int64(), None, bytes(32))
    >>> plan.apply(pl.Series("age", [14, 15, 25, None]), 0).to_list()
    [10, 20, 20, None]
    """

    name: ClassVar[str] = "round"
    coarsens: ClassVar[bool] = True
    about: ClassVar[Technique] = Technique(
        source="practice",
        keeps="Numbers to half of the base; sums without bias",
        oracle="exact decimals",
    )
    is_matchable: ClassVar[bool] = True
    needs_counts: ClassVar[bool] = False
    weaknesses: ClassVar[tuple[str, ...]] = ("order-leaking", "outlier-visible")

    base: float

    def __post_init__(self) -> None:
        if not (is_number(self.base) and 0 < self.base < EXACT):
            raise ParameterError(
                f"The 'base' of the mask 'round' must be a number above 0. Got {self.base!r}."
            )

    def claims(self, columns: Sequence[str], read: ReadColumns) -> list[Claim]:  # noqa: ARG002 # a ClaimingMask's
        """Return the claim that numbers are multiples of the base; see `ClaimingMask`."""
        return [counted_claim("multiples", columns, base=self.base)]

    def written(self, column: str, dtype: pl.DataType) -> pl.DataType:
        """Return Int64 for whole numbers and a whole base, a decimal for decimals."""
        check_numeric(column, dtype, mask=self.name, decimals=True)
        return exact_type(column, dtype, [self.base], mask=self.name)

    def fit(
        self,
        column: str,
        dtype: pl.DataType,
        counts: ValueCounts | None,  # noqa: ARG002 # a Mask's
        key: bytes,  # noqa: ARG002 # a Mask's
    ) -> _Rounded:
        """Return the plan: it needs nothing of the column but its type; see `Mask`."""
        return _Rounded(self, self.written(column, dtype))


@dataclass(frozen=True, slots=True)
class _Rounded:
    mask: Rounding
    dtype: pl.DataType

    def apply(self, column: pl.Series, first_row: int) -> pl.Series:  # noqa: ARG002 # a MaskPlan's
        if self.dtype.is_float():
            return self._of_floats(column)
        base = units_of(self.mask.base, self.dtype)
        units = to_units(column, self.dtype, mask=self.mask.name, room=base)
        cells, one = pl.col(column.name), pl.lit(base, dtype=pl.Int128)
        below = cells // one
        twice = (cells - below * one) * pl.lit(2, dtype=pl.Int128)
        odd = below != below // pl.lit(2, dtype=pl.Int128) * pl.lit(2, dtype=pl.Int128)
        above = (twice > one) | ((twice == one) & odd)
        rounded = units.to_frame().select((below + above.cast(pl.Int128)) * one).to_series()
        return from_units(rounded, self.dtype, mask=self.mask.name)

    def _of_floats(self, column: pl.Series) -> pl.Series:
        multiples = np.rint(floats(column, mask=self.mask.name) / self.mask.base)
        if (np.abs(multiples) >= EXACT).any():
            raise DataError(
                f"Column {column.name!r} has numbers of more than 2**53 times the base of its mask "
                "'round'.",
                hint="Choose a larger base.",
            )
        # 3 * 0.1 is 0.30000000000000004: the digits of the base are those of its multiples.
        rounded = np.round(multiples * self.mask.base, places_of(self.mask.base))
        return as_column(rounded + 0.0, name=column.name, dtype=self.dtype)  # -0.0 tells of a sign
