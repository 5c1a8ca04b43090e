"""Random rounding: up or down to a multiple of a base, so that the expectation is the number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from halfmask._errors import DataError
from halfmask.masks._checked_mask import CheckedMask
from halfmask.masks._mask import counted_claim
from halfmask.masks._numbers import (
    EXACT,
    as_column,
    check_numeric,
    check_size,
    exact_type,
    floats,
    from_units,
    may_overflow,
    places_of,
    to_units,
    units_of,
)
from halfmask.masks._row_draws import row_fractions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.claims import Claim
    from halfmask.masks._mask import ReadColumns
    from halfmask.masks._value_counts import ValueCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomRounding(CheckedMask):
    """Round up or down to a multiple of a base, without bias.

    Parameters
    ----------
    base
        Above 0, such as 1000 or 0.5.

    Notes
    -----
    Unbiased random rounding (Nargundkar and Saveland 1972). A number between two
    multiples is rounded up with the probability of its distance from the lower one, as a share of
    the base.

    **Guarantees.** The expectation of what is written is the number. It is one of the two
    multiples next to the number, and a multiple itself stays. Each row is rounded by its own random
    number, which is unknown without the key.

    **Edge cases.** Integers with an integer base stay integers, whatever their size; so do
    decimals. Float32 becomes Float64. Of floats, a number that is within the precision of a float
    of a multiple counts as that multiple. Floats of more than 2**53 bases are refused. Rows with
    the same number can get different multiples: the mean over many of them comes near to it.

    Examples
    --------
    >>> plan = RandomRounding(base=10).fit("age", pl.Int64(), None, bytes(32))
    >>> written = plan.apply(pl.Series("age", [20, 23, 28, None]), 0)
    >>> written[0], written[1] in (20, 30), written[2] in (20, 30), written[3]
    (20, True, True, None)
    """

    name: ClassVar[str] = "random-rounding"
    coarsens: ClassVar[bool] = False
    is_matchable: ClassVar[bool] = True  # one of two multiples
    needs_counts: ClassVar[bool] = False
    weaknesses: ClassVar[tuple[str, ...]] = (
        "averaging",
        "nulls-visible",
        "outlier-visible",
        "within-distance",
    )

    base: float

    def _check_together(self) -> None:
        check_size(mask=self.name, base=self.base)

    def claims(self, columns: Sequence[str], read: ReadColumns) -> list[Claim]:
        """Return the claim that numbers are multiples of the base; see `ClaimingMask`."""
        return [counted_claim("multiples", columns, base=self.base)]

    def written(self, column: str, dtype: pl.DataType) -> pl.DataType:
        """Return Int64 for whole numbers and a whole base, a decimal for decimals."""
        check_numeric(column, dtype, mask=self.name, decimals=True)
        return exact_type(column, dtype, [self.base], mask=self.name)

    def fit(
        self, column: str, dtype: pl.DataType, counts: ValueCounts | None, key: bytes
    ) -> _RandomlyRounded:
        """Return the plan, which holds the key of the draws; see `Mask`."""
        return _RandomlyRounded(self, self.written(column, dtype), key)


@dataclass(frozen=True, slots=True)
class _RandomlyRounded:
    mask: RandomRounding
    dtype: pl.DataType
    key: bytes = field(repr=False)

    def apply(self, column: pl.Series, first_row: int) -> pl.Series:
        u = row_fractions(column.len(), key=self.key, first_row=first_row)
        if self.dtype.is_float():
            found = self._of_floats(column, u)
            return as_column(found + 0.0, name=column.name, dtype=self.dtype)  # no -0.0
        base = units_of(self.mask.base, self.dtype)
        cells = to_units(column, self.dtype, mask=self.mask.name, room=base)
        one, cell = pl.lit(base, dtype=pl.Int128), pl.col("cell")
        below = cell // one
        # The share is rounded to a float: the bias is below 2**-53 of the base.
        up = pl.col("u") < (cell - below * one).cast(pl.Float64) / float(base)
        frame = pl.DataFrame({"cell": cells, "u": u})
        found_units = frame.select((below + up.cast(pl.Int128)) * one).to_series()
        return from_units(found_units.alias(column.name), self.dtype, mask=self.mask.name)

    def _of_floats(self, column: pl.Series, u: NDArray[np.float64]) -> NDArray[np.float64]:
        with may_overflow():
            multiples = floats(column, mask=self.mask.name) / self.mask.base
        if (np.abs(multiples) >= EXACT).any():
            raise DataError(
                f"Column {column.name!r} has numbers of more than 2**53 times the base of its mask "
                f"{self.mask.name!r}.",
                hint="Choose a larger base.",
            )
        nearest = np.rint(multiples)
        # 0.3 / 0.1 is 2.9999999999999996: a multiple, as far as floats can say.
        is_one = np.abs(multiples - nearest) <= 4 * np.finfo(np.float64).eps * np.abs(multiples)
        below = np.where(is_one, nearest, np.floor(multiples))
        up = ~is_one & (u < multiples - below)
        return np.round((below + up) * self.mask.base, places_of(self.mask.base))
