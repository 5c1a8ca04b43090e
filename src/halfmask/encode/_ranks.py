"""An ordered column as ranks: all that a tree sees of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import DataError, SchemaError
from halfmask.encode._ticks import from_ticks, to_ticks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.encode._ticks import Numbers

__all__ = ["Ranks"]

# Room between two ranks for a value that lies between them, on either side of their middle.
_STEP = 4
_MANY = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """A strictly increasing map of a column's fitted values to integer codes.

    Parameters
    ----------
    name, token
        The column's name at home, and what it is called elsewhere.
    dtype
        The column's type at home.
    values
        The fitted values as ticks, sorted, each once.
    null_at
        The place of missing cells among the values where they are hidden; -1 where they stay
        missing.
    out_of_range
        Whether values beyond the fitted ones are an ``"error"`` or placed at the ends
        (``"extrapolate"``).

    Guarantees
    ----------
    A fitted value's code is four times its rank, and decodes bit-equal. A value between two
    fitted ones is coded beside the nearer of them, the lower at a tie: exactly on the side of the
    middle between them where a threshold of scikit-learn's puts it. Such a code, and one beyond
    the range, can't be decoded, and `decode` says so.
    """

    name: str
    token: str
    dtype: pl.DataType
    values: Numbers
    null_at: int
    out_of_range: str

    def encode(self, column: pl.Series) -> pl.Series:
        """Return the codes of a column of the fitted type."""
        ticks, present = to_ticks(column)
        self._check_range(ticks[present])
        codes = np.zeros(len(ticks), dtype=np.int64)
        if len(self.values):
            codes[present] = self._codes(ticks[present])
        elif present.any():
            raise SchemaError(
                f"Column {self.name!r} had no value at the fit and has {int(present.sum())} now.",
                hint="Fit the codec to rows that have values.",
            )
        coded = pl.Series(self.token, codes)
        if self.null_at >= 0:
            codes[~present] = _STEP * self.null_at
            return pl.Series(self.token, codes)
        return coded.set(pl.Series(~present), None)

    def decode(self, coded: pl.Series) -> pl.Series:
        """Return the values of codes.

        Raises
        ------
        DataError
            If a code stands for no fitted value, with the number of such cells.
        """
        codes = coded.cast(pl.Int64).fill_null(0).to_numpy()
        present = coded.is_not_null().to_numpy()
        places = codes // _STEP
        if self.null_at >= 0:
            present = present & (places != self.null_at)
            places = places - (places > self.null_at)
        lost = present & ((codes % _STEP != 0) | (places < 0) | (places >= len(self.values)))
        if lost.any():
            raise DataError(
                f"Column {self.name!r} has {int(lost.sum())} codes of values that were not there "
                "at the fit: an encoding for trees says only where they lie.",
                hint="Decode rows that the codec was fitted to; predictions decode for any row.",
            )
        ticks = np.zeros_like(self.values, shape=len(codes))
        ticks[present] = self.values[places[present]]
        return from_ticks(ticks, present, name=self.name, dtype=self.dtype)

    def _codes(self, ticks: Numbers) -> NDArray[np.int64]:
        above = _first_not_below(self.values, ticks)
        last = len(self.values) - 1
        at = np.minimum(above, last)
        below = np.maximum(above - 1, 0)
        equal = self.values[at] == ticks
        lower = ~equal & (
            (above > last) | ((above > 0) & _nearer(ticks, self.values[below], self.values[at]))
        )
        place = np.where(lower, below, at)
        shift = np.where(equal, 0, np.where(lower, 1, -1))
        if self.null_at >= 0:
            place = place + (place >= self.null_at)
        codes: NDArray[np.int64] = _STEP * place + shift
        return codes

    def _check_range(self, ticks: Numbers) -> None:
        if self.out_of_range == "extrapolate" or not len(self.values):
            return
        outside = int(((ticks < self.values[0]) | (ticks > self.values[-1])).sum())
        if outside:
            raise SchemaError(
                f"Column {self.name!r} has {outside} cells outside of its range at the fit.",
                hint='Check the unit, or make the codec with out_of_range="extrapolate".',
            )


def _first_not_below(values: Numbers, ticks: Numbers) -> NDArray[np.int64]:
    """Return for each tick the place of the first value that isn't below it."""
    if len(ticks) < _MANY or len(values) < _MANY:
        return np.searchsorted(values, ticks)
    # Searches in order find what they need in the cache: sorting them first is twice as fast.
    order = np.argsort(ticks)
    above = np.empty(len(ticks), dtype=np.int64)
    above[order] = np.searchsorted(values, ticks[order])
    return above


def _nearer(ticks: Numbers, below: Numbers, above: Numbers) -> NDArray[np.bool_]:
    """Return whether a value lies at or below the middle of two others."""
    if ticks.dtype == np.float64:
        # Scikit-learn's own middle; halves first, where the sum would overflow.
        middle = below / 2 + above / 2
        nearer: NDArray[np.bool_] = ticks <= middle
        return nearer
    # Differences of int64 extremes wrap around to the right unsigned number.
    down = ticks.view(np.uint64) - below.view(np.uint64)
    up = above.view(np.uint64) - ticks.view(np.uint64)
    return np.asarray(down <= up)
