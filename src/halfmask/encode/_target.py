"""A regression's target as a keyed affine image, and predictions of it back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import DataError
from halfmask.encode._ticks import to_ticks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.encode._scaling import Scaling


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberTarget:
    """``slope * standard + shift``, the slope a power of two of either sign.

    A power of two, so that sums of encoded targets are rounded as sums of plain ones are: what a
    learner of squared loss compares keeps its order.
    """

    scaling: Scaling
    token: str
    slope: float
    shift: float

    @property
    def name(self) -> str:
        """The target's name at home."""
        return self.scaling.name

    @property
    def dtype(self) -> pl.DataType:
        """The target's type at home."""
        return self.scaling.dtype

    def encode(self, column: pl.Series) -> pl.Series:
        """Return the encoded target; a missing one stays missing."""
        ticks, present = to_ticks(column)
        encoded = self.slope * self.scaling.standardized(ticks, present) + self.shift
        back = (encoded - self.shift) / self.slope
        self.scaling.check(ticks, present, back, ~present)
        coded = pl.Series(self.token, encoded)
        return coded if present.all() else coded.set(pl.Series(~present), None)

    def decode(self, encoded: pl.Series) -> pl.Series:
        """Return the target's cells, of their own type."""
        missing = encoded.is_null().to_numpy()
        values = encoded.cast(pl.Float64).fill_null(self.shift).to_numpy()
        wrong = int((~np.isfinite(values)).sum())
        if wrong:
            raise DataError(
                f"Target {self.name!r} has {wrong} encoded cells that are not finite.",
                hint="Decode the encoded rows unchanged.",
            )
        return self.scaling.restore((values - self.shift) / self.slope, missing)

    def predictions(self, predicted: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return predictions in the target's own unit, unrounded."""
        return self.scaling.values((predicted - self.shift) / self.slope)
