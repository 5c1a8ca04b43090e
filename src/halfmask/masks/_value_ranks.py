"""The ranks of a column's cells: which row is the smallest, which ones are equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def ranked_rows(cells: pl.Series) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
    """Return the row of each rank, and whether a rank is the first one of its value.

    Examples
    --------
    >>> rows, is_first = ranked_rows(pl.Series([30, 10, 30]))
    >>> int(rows[0]), is_first.tolist()
    (1, [True, True, False])
    """
    found = _from_packed(cells.to_physical()) if cells.len() else None
    if found is not None:
        return found
    rows = cells.arg_sort()
    ordered = cells.gather(rows)
    is_first = ordered.ne_missing(ordered.shift(1)).to_numpy(writable=True)
    is_first[:1] = True
    return rows.to_numpy(writable=True).astype(np.uint32, copy=False), is_first


def _from_packed(physical: pl.Series) -> tuple[NDArray[np.uint32], NDArray[np.bool_]] | None:
    """Sort words of a number's leading digits and its row: many times as fast as rows.

    None for types of more than 64 bits, and where too many numbers have the same leading digits.
    """
    from halfmask.kernels.swapping.sorting import (  # noqa: PLC0415 # numba takes a second
        FLOAT,
        SIGNED,
        UNSIGNED,
        key_range,
        order_of_packed,
        pack_keys,
    )

    dtype: pl.DataType = physical.dtype
    wide: pl.DataType
    if dtype.is_float():
        kind, wide = FLOAT, pl.Float64()
    elif dtype.is_unsigned_integer() and dtype != pl.UInt128:
        kind, wide = UNSIGNED, pl.UInt64()
    elif dtype.is_signed_integer() and dtype != pl.Int128:
        kind, wide = SIGNED, pl.Int64()
    else:
        return None
    numbers = physical.cast(wide).to_numpy().view(np.int64)
    n = len(numbers)
    low, high = map(int, key_range(numbers, kind))
    bits = max(1, n - 1).bit_length()
    cut = max(0, (high - low).bit_length() - (64 - bits))
    packed = pack_keys(numbers, kind, np.uint64(low), cut, bits)
    packed.sort()
    rows, is_first = packed.view(np.uint32)[:n], np.empty(n, np.bool_)
    done = order_of_packed(packed, bits, numbers, kind, cut, rows, is_first)
    return (rows, is_first) if done else None


def normal_scores(cells: pl.Series) -> NDArray[np.float64]:
    """Return the normal quantile of each cell's rank; NaN where it is missing.

    Notes
    -----
    The score of rank r of n, from 0, is the normal quantile of ``(r + 0.5) / n``.

    Examples
    --------
    >>> normal_scores(pl.Series([9, 7, None, 8])).round(2).tolist()
    [0.97, -0.97, nan, 0.0]
    """
    from scipy.special import ndtri  # noqa: PLC0415 # scipy comes with scikit-learn; 60 ms

    there = cells.is_not_null().arg_true().to_numpy()
    rows, is_first = ranked_rows(cells.gather(there))
    starts = np.flatnonzero(is_first)
    sizes = np.diff(starts, append=len(rows))
    middle = np.repeat(starts + sizes / 2.0, sizes)
    scores = np.full(cells.len(), np.nan)
    scores[there[rows]] = ndtri(middle / max(1, len(rows)))
    return scores


def check_ordered(column: str, dtype: pl.DataType, *, mask: str) -> None:
    """Raise unless a column's values have an order that says something."""
    if dtype.is_numeric() or dtype.is_temporal() or isinstance(dtype, pl.Enum):
        return
    raise SchemaError(
        f"Column {column!r} has the mask {mask!r}, which is for numbers, dates and ordered "
        f"categories. Got the type {_named(dtype)}.",
        hint="Declare its type under [input]; of categories whose type has an order, declare the "
        "kind 'ordinal'. Or choose the mask 'pram'.",
    )


def _named(dtype: pl.DataType) -> str:
    """Return the name of a type: that of a categorical type would list its categories."""
    return str(dtype.base_type().__name__)
