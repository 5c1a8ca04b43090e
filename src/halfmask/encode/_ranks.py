"""An ordered column as ranks: all that a tree sees of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import DataError, SchemaError
from halfmask.encode._lookup import Buckets
from halfmask.encode._ticks import from_ticks, to_ticks
from halfmask.encode._whole_codes import whole_codes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.encode._ticks import Numbers

# How far apart codes of neighbouring values are: `STEP` of `halfmask.kernels.encoding.ranking`,
# which is slow to import.
STEP = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """A strictly increasing map of a column's fitted values to integer codes.

    Guarantees
    ----------
    Codes of neighbouring fitted values are four apart, and decode bit-equal. A value between two
    fitted ones is coded next to the nearer of them, the lower at a tie: exactly on the side of the
    middle between them where a threshold of scikit-learn's puts it. Such a code, and one beyond
    the range, can't be decoded, and `decode` says so. Unless missing cells are encoded, zero has
    code 0, and other codes the sign of their values: LightGBM gives zero a bin of its own, and cuts
    either side of it by itself. So which code is zero's, and which values are negative, shows.
    """

    name: str
    token: str
    dtype: pl.DataType
    values: Numbers
    null_at: int
    out_of_range: str
    _buckets: Buckets | None = field(init=False, repr=False, compare=False, default=None)

    def encode(self, column: pl.Series) -> pl.Series:
        """Return the codes of a column of the fitted type."""
        from halfmask.kernels.encoding.ranking import rank_codes  # noqa: PLC0415 # numba is heavy

        ticks, present = to_ticks(column)
        known = self._known(present)
        codes = np.empty(len(ticks), dtype=np.int64)
        outside = rank_codes(
            ticks, present, known.values, known.starts, known.scale, self.null_at,
            ticks.dtype != np.float64, codes,
        )  # fmt: skip
        if outside and self.out_of_range == "error":
            raise SchemaError(
                f"Column {self.name!r} has {outside} cells outside of its range at the fit.",
                hint='Check the unit, or make the codec with out_of_range="extrapolate".',
            )
        codes -= self._zero
        coded = pl.Series(self.token, codes)
        if self.null_at >= 0 or present.all():
            return coded
        return coded.set(pl.Series(~present), None)

    def decode(self, coded: pl.Series) -> pl.Series:
        """Return the values of codes."""
        from halfmask.kernels.encoding.ranking import rank_values  # noqa: PLC0415 # numba is heavy

        codes, there = whole_codes(coded, name=self.name, hidden=self.null_at >= 0)
        codes = codes + self._zero
        ticks = np.empty_like(self.values, shape=len(codes))
        present = np.empty(len(codes), dtype=np.bool_)
        lost = rank_values(codes, there, self.values, self.null_at, ticks, present)
        if lost:
            raise DataError(
                f"Column {self.name!r} has {lost} codes of values that were not there "
                "at the fit: an encoding for trees says only where they lie.",
                hint="Decode rows that the codec was fitted to; predictions decode for any row.",
            )
        return from_ticks(ticks, present, name=self.name, dtype=self.dtype)

    @property
    def _zero(self) -> int:
        """What four times a rank is at zero; between two ranks where no fitted value is zero.

        0 where missing cells are encoded: their sign might be one that no value has.
        """
        if not len(self.values) or self.null_at >= 0:
            return 0
        zero = to_ticks(pl.Series(self.name, [0]).cast(self.dtype))[0][0]
        place = int(np.searchsorted(self.values, zero))
        fitted = place < len(self.values) and self.values[place] == zero
        return STEP * place - (0 if fitted else STEP // 2)

    def _known(self, present: NDArray[np.bool_]) -> Buckets:
        """Return the values in buckets; a column without any has one for its missing cells."""
        if not len(self.values) and present.any():
            raise SchemaError(
                f"Column {self.name!r} had no value at the fit and has {int(present.sum())} now.",
                hint="Fit the codec to rows that have values.",
            )
        known = self._buckets
        if known is None:
            known = Buckets(
                self.values if len(self.values) else np.zeros_like(self.values, shape=1)
            )
            object.__setattr__(self, "_buckets", known)
        return known
