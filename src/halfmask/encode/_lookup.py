"""Cells of a column as the places of their values, found once for each batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from halfmask.encode._ticks import read_only, to_ticks

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The place of a value that wasn't there at the fit.
UNSEEN = -1
#: The place of a missing cell.
MISSING = -2
_MAX_BUCKETS = 1 << 20


class Buckets:
    """Sorted numbers cut into buckets of about equal width, so that few are looked at in each."""

    __slots__ = ("scale", "starts", "values")

    def __init__(self, values: NDArray[Any]) -> None:
        from halfmask.kernels.encoding.ranking import start_buckets  # noqa: PLC0415 # numba is heavy

        n_buckets = min(_MAX_BUCKETS, 1 << (2 * len(values)).bit_length())
        width = float(values[-1]) - float(values[0])
        with np.errstate(over="ignore", divide="ignore"):
            scale = float(np.float64(n_buckets) / np.float64(width))
        self.values = read_only(values)
        self.scale = scale if np.isfinite(scale) and np.isfinite(width) else 0.0
        self.starts = np.empty(n_buckets + 1, dtype=np.int64)
        start_buckets(self.values, self.scale, self.starts)


class Lookup:
    """The values of a categorical column, by their places."""

    __slots__ = ("_buckets", "_enum", "_values")

    def __init__(self, values: pl.Series) -> None:
        self._values = values
        self._enum: pl.Enum | None = None
        self._buckets: Buckets | None = None

    def places(self, column: pl.Series) -> NDArray[np.int64]:
        """Return each cell's place; `UNSEEN` for no value, `MISSING` if missing and no value.

        A column of another type than the values' is the caller's mistake.
        """
        places = self._found(column)
        if self._values.null_count() and column.null_count():
            places[column.is_null().to_numpy()] = int(self._values.is_null().arg_true()[0])
        return places

    def _found(self, column: pl.Series) -> NDArray[np.int64]:
        dtype = column.dtype
        if not len(self._values) or self._values.null_count() == len(self._values):
            return np.where(column.is_null().to_numpy(), MISSING, UNSEEN)
        if dtype == pl.String:
            return self._of_texts(column)
        if dtype == pl.Boolean or (
            (dtype.is_integer() or dtype.is_temporal()) and dtype not in {pl.Int128, pl.UInt128}
        ):
            return self._of_ticks(column)
        return self._joined(column)

    def _of_texts(self, column: pl.Series) -> NDArray[np.int64]:
        if self._enum is None:
            self._enum = pl.Enum(self._values.drop_nulls())
        physical = column.cast(self._enum, strict=False).to_physical()
        if not physical.null_count():
            return physical.to_numpy().astype(np.int64)
        places = physical.cast(pl.Int64).fill_null(UNSEEN).to_numpy().copy()
        if column.null_count():
            places[column.is_null().to_numpy()] = MISSING
        return places

    def _of_ticks(self, column: pl.Series) -> NDArray[np.int64]:
        from halfmask.kernels.encoding.ranking import find_places  # noqa: PLC0415 # numba is heavy

        if self._buckets is None:
            self._buckets = Buckets(to_ticks(self._values.drop_nulls())[0])
        known = self._buckets
        ticks, present = to_ticks(column)
        places = np.empty(len(ticks), dtype=np.int64)
        find_places(ticks, present, known.values, known.starts, known.scale, places)
        return places

    def _joined(self, column: pl.Series) -> NDArray[np.int64]:
        values = self._values.drop_nulls()
        known = pl.DataFrame({"value": values, "place": np.arange(len(values))})
        cells: Any = pl.DataFrame({"value": column})
        joined = cells.join(known, on="value", how="left", maintain_order="left")
        places: NDArray[np.int64] = joined["place"].fill_null(UNSEEN).to_numpy().copy()
        if column.null_count():
            places[column.is_null().to_numpy()] = MISSING
        return places
