"""Cells of an ordered column as numbers, and back: integers on the type's own grid, or floats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import polars as pl

from halfmask._errors import DataError, SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[np.int64] | NDArray[np.float64]
    from collections.abc import Mapping


Kind = TypeVar("Kind", bound=np.generic)

_WIDE = (pl.Int128, pl.UInt128)
_SIGN = np.uint64(1 << 63)


def is_ordered(dtype: pl.DataType) -> bool:
    """Return whether cells of the type are numbers, dates or times."""
    return dtype.is_numeric() or dtype.is_temporal()


def to_ticks(column: pl.Series) -> tuple[Numbers, NDArray[np.bool_]]:
    """Return each cell as a number that has its order, and which cells hold a value.

    Integers, truth values, dates, times and decimals become integers: the count of the type's
    smallest steps. Floats stay; minus zero is zero. A missing cell is 0. Neither array may be
    written to.
    """
    present = read_only(column.is_not_null().to_numpy())
    if column.dtype.is_float():
        values = column.cast(pl.Float64).fill_null(0.0).to_numpy() + 0.0
        if not np.isfinite(values).all():
            raise SchemaError(
                f"Column {column.name!r} has {int((~np.isfinite(values)).sum())} infinite cells; "
                "no encoding restores them.",
                hint="Make them missing, or leave their rows out.",
            )
        return read_only(values), present
    if column.dtype == pl.UInt64:
        unsigned = column.fill_null(0).to_numpy()
        return read_only((unsigned ^ _SIGN).view(np.int64)), present
    physical = column.to_physical()
    if isinstance(column.dtype, pl.Decimal) or column.dtype in _WIDE:
        narrow = physical.cast(pl.Int64, strict=False)
        if narrow.null_count() > column.null_count():
            raise SchemaError(
                f"Column {column.name!r} has {narrow.null_count() - column.null_count()} cells of "
                "more than 64 bits.",
                hint="Declare it with fewer digits, or as text.",
            )
        physical = narrow
    return read_only(physical.cast(pl.Int64).fill_null(0).to_numpy()), present


def read_only(array: NDArray[Kind]) -> NDArray[Kind]:
    """Return a view that can't be written to: kernels are compiled for one of the two alone."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def from_ticks(
    numbers: NDArray[Any], present: NDArray[np.bool_], *, name: str, dtype: pl.DataType
) -> pl.Series:
    """Return the cells that these numbers stand for; the inverse of `to_ticks`."""
    if isinstance(dtype, pl.Decimal):
        return _decimals(numbers.astype(np.int64), present, name=name, dtype=dtype)
    if dtype == pl.UInt64:
        numbers = numbers.view(np.uint64) ^ _SIGN
    column = pl.Series(name, np.ascontiguousarray(numbers))
    if not present.all():
        column = column.set(pl.Series(~present), None)
    cells = column.cast(dtype, strict=False)
    lost = cells.null_count() - column.null_count()
    if lost:
        raise DataError(
            f"Column {name!r} has {lost} cells that {dtype} has no room for.",
            hint="Decode the encoded rows unchanged.",
        )
    return cells


def _decimals(
    numbers: NDArray[np.int64], present: NDArray[np.bool_], *, name: str, dtype: pl.Decimal
) -> pl.Series:
    """Make the 128-bit integers by hand: a cast to decimal would multiply by the scale."""
    import pyarrow as pa  # noqa: PLC0415 # heavy, and only decimals need it

    words = np.empty((len(numbers), 2), dtype=np.int64)
    words[:, 0], words[:, 1] = numbers, numbers >> 63
    buffers = [pa.py_buffer(np.packbits(present, bitorder="little")), pa.py_buffer(words)]
    kind = pa.decimal128(dtype.precision or 38, dtype.scale)
    column: Any = pl.from_arrow(pa.Array.from_buffers(kind, len(numbers), buffers))
    return pl.Series(name, column).cast(dtype)


_TEXT_FILES = {"csv", "tsv"}


def as_fitted(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return a column's values in the type that they had at the fit.

    Numbers become other numbers, times times of another unit or zone, and texts integers that are
    written as these texts.
    """
    if column.dtype == dtype:
        return column
    if column.null_count() == len(column):
        return pl.Series(column.name, [None] * len(column), dtype=dtype)
    cast = column.cast(dtype, strict=False) if _is_of_kind(column.dtype, dtype) else None
    if cast is None or not _is_same(column, cast):
        hint = "Read the column with the type that it had."
        if column.dtype == pl.String:
            hint = "Look for leading zeros, words and marks of missing cells among its numbers."
        raise SchemaError(
            f"Column {column.name!r} held {dtype} at the fit and holds {column.dtype} now.",
            hint=hint,
        )
    return cast


def types_to_declare(
    found: Mapping[str, pl.DataType],
    fitted: Mapping[str, pl.DataType],
    *,
    format: str | None,  # noqa: A002 # the word for it
) -> dict[str, pl.DataType]:
    """Return the types to read a text file's columns with, where its cells don't say them.

    A text of digits is the text that it was at the fit. Numbers keep the type that was read:
    `as_fitted` converts them, and refuses what lost a digit.
    """
    declared = {}
    for name, dtype in found.items():
        wanted = fitted.get(name, dtype)
        if wanted == dtype:
            continue
        text = wanted == pl.String and format in _TEXT_FILES
        special = dtype == pl.String and (wanted.is_temporal() or wanted.is_decimal())
        if text or special:
            declared[name] = wanted
    return declared


def _is_of_kind(now: pl.DataType, fitted: pl.DataType) -> bool:
    if now == pl.String:
        return fitted.is_integer()
    if isinstance(now, pl.Datetime) and isinstance(fitted, pl.Datetime):
        return (now.time_zone is None) == (fitted.time_zone is None)
    local = all(it == pl.Date or (isinstance(it, pl.Datetime) and it.time_zone is None)
                for it in (now, fitted))  # fmt: skip
    spans = now == pl.Duration and fitted == pl.Duration
    return local or spans or (now.is_numeric() and fitted.is_numeric())


def _is_same(before: pl.Series, after: pl.Series) -> bool:
    """Return whether each value is the one that it was."""
    back = after.cast(before.dtype, strict=False)
    if before.dtype.is_float() and after.dtype.is_integer():
        # Beyond 2**53 a float stands for more than one integer.
        return back.equals(before) and bool((before.abs() <= 2.0**53).all())
    return back.equals(before)
