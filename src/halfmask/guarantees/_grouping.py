"""From columns of values to small integers: the class of each row, the code of each value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from halfmask._errors import ColumnNotFoundError, DataError, HierarchyError, ParameterError
from halfmask.data import leaf_text

_KEY_LIMIT = 2**62
_DENSE_RANGE = 2**20
_TEXT = (pl.String, pl.Categorical, pl.Enum)

Codes = npt.NDArray[np.int64]


def class_of_row(frame: pl.DataFrame, *, quasi_identifiers: Sequence[str]) -> tuple[Codes, int]:
    """Return the equivalence class of each row.

    Each column becomes integer codes. The codes of a row form one integer key (mixed radix), and
    the keys are sorted. On nine text columns this took 0.005 s for Adult and 0.15 s for a million
    rows; polars' ``group_by`` took 0.012 and 0.18 s.

    Parameters
    ----------
    frame
        The table.
    quasi_identifiers
        The columns that define a class. Without columns, all rows are in one class.

    Returns
    -------
    tuple
        The class of each row (int64, from 0), and the number of classes. Every class has a row.

    Raises
    ------
    ColumnNotFoundError
        When the table lacks one of the columns.
    DataError
        When a column holds lists, structs or foreign objects.

    Notes
    -----
    **Guarantees.** Two rows are in one class if and only if they are equal in every column. The
    keys are exact, not hashes.

    **Edge cases.** A missing cell is a value of its own, equal to other missing cells. NaN equals
    NaN, and 0.0 equals -0.0.

    Examples
    --------
    >>> frame = pl.DataFrame({"sex": ["f", "m", "f"], "age": [30, 30, 30]})
    >>> codes, n = class_of_row(frame, quasi_identifiers=["sex", "age"])
    >>> codes.tolist(), n
    ([0, 1, 0], 2)
    """
    distinct, of_row = np.unique(_keys(frame, quasi_identifiers), return_inverse=True)
    return of_row.astype(np.int64, copy=False), len(distinct)


def class_sizes(frame: pl.DataFrame, *, quasi_identifiers: Sequence[str]) -> Codes:
    """Count the rows of each class, in the order of :func:`class_of_row`.

    This is faster where only sizes are needed, as no row gets its class.
    """
    _, counts = np.unique(_keys(frame, quasi_identifiers), return_counts=True)
    return counts.astype(np.int64, copy=False)


def value_codes(column: pl.Series, *, order: Sequence[object] | None = None) -> tuple[Codes, int]:
    """Code the values of a column by their place in the order.

    Missing cells, NaN among them, are one more code after all others.

    Examples
    --------
    >>> codes, n = value_codes(pl.Series("pay", ["high", None, "low"]), order=["low", "high"])
    >>> codes.tolist(), n
    ([1, 2, 0], 3)
    """
    _check_flat(column)
    if column.dtype.is_float():
        column = column.fill_nan(None)
    if order is not None:
        spelt = leaf_text(pl.Series(list(order), strict=False)).cast(pl.String)
        return _codes_in(leaf_text(column), spelt.to_list())
    if isinstance(column.dtype, pl.Enum):
        physical = column.to_physical()
        return _filled(physical, len(column.dtype.categories))
    if column.dtype in (pl.String, pl.Categorical):
        text = column.cast(pl.String)
        return _codes_in(text, text.unique().drop_nulls().sort().to_list())
    return _ranked(column)


def check_columns(frame: pl.DataFrame, names: Sequence[str]) -> None:
    """Raise unless the table has all the columns."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise ColumnNotFoundError.of(missing, frame.columns, where="the table")


def _check_flat(column: pl.Series) -> None:
    if column.dtype.is_nested() or column.dtype in (pl.Object, pl.Binary):
        raise DataError(
            f"Column {column.name!r} can't be grouped: it holds {column.dtype.base_type()}.",
            hint="Turn it into text or numbers first.",
        )


def _keys(frame: pl.DataFrame, columns: Sequence[str]) -> Codes:
    """Return one integer for each row, the same for rows that are equal in the columns."""
    check_columns(frame, columns)
    keys = np.zeros(frame.height, dtype=np.int64)
    span = 1
    for codes, n_values in _all_codes(frame, columns):
        if span * n_values > _KEY_LIMIT:
            # The product left 62 bits: number the keys so far, which are at most one per row.
            distinct, keys = np.unique(keys, return_inverse=True)
            span = len(distinct)
        keys = keys * n_values + codes
        span *= n_values
    return keys


def _all_codes(frame: pl.DataFrame, columns: Sequence[str]) -> Iterator[tuple[Codes, int]]:
    """Code the values of each column in whatever order is fastest."""
    for name in columns:
        _check_flat(frame[name])
    text = [name for name in columns if frame[name].dtype in _TEXT]
    # A pool of categories each: those of the global one outlive the table, and aren't dense. All
    # columns in one call, which polars spreads over the cores.
    physical = frame.select(
        pl.col(name).cast(pl.String).cast(pl.Categorical(pl.Categories.random())).to_physical()
        for name in dict.fromkeys(text)
    )
    for name in columns:
        if name in text:
            yield _filled(physical[name], _maximum(physical[name]) + 1)
        else:
            yield _number_codes(frame[name])


def _number_codes(column: pl.Series) -> tuple[Codes, int]:
    """Code numbers by what they exceed the least by, if that stays small, else by rank."""
    if column.dtype.is_integer() and column.dtype not in (pl.UInt64, pl.Int128, pl.UInt128):
        low, high = column.min(), column.max()
        if isinstance(low, int) and isinstance(high, int) and high - low < _DENSE_RANGE:
            return _filled(column.cast(pl.Int64) - low, high - low + 1)
    return _ranked(column)


def _ranked(column: pl.Series) -> tuple[Codes, int]:
    if column.dtype.is_float():
        column = column.fill_nan(None)
    ranks = column.to_physical().rank("dense")
    n_values = _maximum(ranks)
    return _filled(ranks.cast(pl.Int64) - 1, n_values)


def _codes_in(column: pl.Series, order: Sequence[str]) -> tuple[Codes, int]:
    """Code a column of text by its place in the order."""
    if len(set(order)) != len(order):
        raise ParameterError(f"The order of column {column.name!r} names a value twice.")
    physical = column.cast(pl.Enum(order), strict=False).to_physical()
    unknown = column.filter(physical.is_null() & column.is_not_null())
    if len(unknown):
        n, rows = unknown.n_unique(), len(unknown)
        # Where each value is given once they may be a column's values and not its rows.
        where = f", in {rows} rows" if rows > n else ""
        raise HierarchyError(
            f"The order of column {column.name!r} lacks {n} "
            f"{'value' if n == 1 else 'values'} of the column{where}.",
            hint="Add the missing values to its hierarchy.",
        )
    return _filled(physical, len(order))


def _filled(codes: pl.Series, n_values: int) -> tuple[Codes, int]:
    if codes.null_count():
        return codes.cast(pl.Int64).fill_null(n_values).to_numpy(), n_values + 1
    return codes.cast(pl.Int64).to_numpy(), n_values


def _maximum(codes: pl.Series) -> int:
    largest = codes.max()
    return largest if isinstance(largest, int) else 0
