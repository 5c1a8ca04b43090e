"""How many rows agree with each row, where a missing cell agrees with every value."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from halfmask.guarantees._grouping import check_columns, class_of_row, value_codes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

Ints: TypeAlias = NDArray[np.int64]
Sums: TypeAlias = "NDArray[np.float64] | Ints"

#: Keys stay below this.
_KEY_LIMIT = 2**62


def agreeing_rows(
    table: pl.DataFrame, *, columns: Sequence[str], weights: NDArray[np.float64] | None = None
) -> Sums:
    """Count the rows that agree with each row; missing cells agree with all.

    Parameters
    ----------
    table
        The table.
    columns
        The columns on which rows are compared, the key variables.
    weights
        The sampling weight of each row: then these are added up in place of rows.

    Returns
    -------
    ndarray
        The count, or the sum of weights, for each row; the row itself is among them.

    Raises
    ------
    ColumnNotFoundError
        If the table lacks a column.
    DataError
        If a column holds lists, structs or foreign objects.

    Notes
    -----
    The frequencies fk and Fk of Templ, Kowarik and Meindl (2015), section 3.1, as sdcMicro's
    ``freqCalc`` counts them.

    **Guarantees.** Exact: two rows agree if and only if in each column they have the same value, or
    one of them misses it. Keys are compared, not hashes.

    **Edge cases.** Agreement isn't transitive: a row with missing cells agrees with rows that don't
    agree with each other. Without missing cells the count is the size of the row's class.

    **Cost.** A sort of the different combinations for each pair of patterns of missing cells.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"sex": ["f", "f", "m", None], "age": [30, 40, 30, 30]})
    >>> agreeing_rows(people, columns=["sex", "age"]).tolist()
    [2, 1, 2, 3]
    """
    check_columns(table, columns)
    of_row, n_classes = class_of_row(table, quasi_identifiers=columns)
    codes = class_codes(table, of_row, n_classes, columns)
    sums = np.bincount(of_row, weights=weights, minlength=n_classes)
    found = agreeing_codes(codes, codes, sums)[of_row]
    return found if weights is not None else found.astype(np.int64)


def codes_of(table: pl.DataFrame, columns: Sequence[str]) -> Ints:
    """Return cells as integers, (rows, columns): 0 for missing, 1 and up for values.

    Parameters
    ----------
    table, columns
        As of `agreeing_rows`.
    """
    codes = np.zeros((table.height, len(columns)), dtype=np.int64)
    for j, name in enumerate(columns):
        found, _ = value_codes(table[name])
        codes[:, j] = np.where(table[name].is_null().to_numpy(), 0, found + 1)
    return codes


def class_codes(
    table: pl.DataFrame, class_of_row: Ints, n_classes: int, columns: Sequence[str]
) -> Ints:
    """Return the cells of each class as integers, (classes, columns).

    They are those of `codes_of`.

    Parameters
    ----------
    table
        Rows that agree in the columns if they are of one class.
    class_of_row, n_classes
        The class of each row, and how many there are.
    columns
        The columns.
    """
    first = np.empty(n_classes, dtype=np.int64)
    first[class_of_row[::-1]] = np.arange(table.height - 1, -1, -1)
    return codes_of(table, columns)[first]


def agreeing_codes(asked: Ints, offered: Ints, sums: Sums) -> NDArray[np.float64]:
    """Add up the offered sums that agree with each combination that is asked.

    Parameters
    ----------
    asked, offered
        Combinations of codes, (combinations, columns); 0 agrees with all.
    sums
        The rows, or the weight, of each offered combination.

    Examples
    --------
    >>> offered = np.array([[1, 1], [1, 2], [0, 2]])
    >>> agreeing_codes(np.array([[1, 2], [2, 0]]), offered, np.array([5, 3, 1])).tolist()
    [4.0, 1.0]
    """
    found = np.zeros(len(asked), dtype=np.float64)
    theirs = list(_patterns(offered))
    for present, mine in _patterns(asked):
        # Patterns with the same columns to compare are joined at once.
        joined: dict[bytes, list[Ints]] = {}
        for pattern, rows in theirs:
            joined.setdefault((present & pattern).tobytes(), []).append(rows)
        for common, parts in joined.items():
            columns = np.flatnonzero(np.frombuffer(common, dtype=np.bool_))
            rows = np.concatenate(parts)
            keys = _keys_of(asked, offered, mine, rows, columns)
            totals = np.bincount(keys[len(mine) :], weights=sums[rows], minlength=keys.max() + 1)
            found[mine] += totals[keys[: len(mine)]]
    return found


def _patterns(codes: Ints) -> Iterator[tuple[NDArray[np.bool_], Ints]]:
    """Yield which columns aren't missing, and the combinations of which that is true."""
    if not len(codes):
        return
    present = codes > 0
    if present.all():
        yield present[0], np.arange(len(codes))
        return
    patterns, of = np.unique(present, axis=0, return_inverse=True)
    of = of.reshape(-1)
    for i, pattern in enumerate(patterns):
        yield pattern, np.flatnonzero(of == i)


def _keys_of(asked: Ints, offered: Ints, mine: Ints, rows: Ints, columns: Ints) -> Ints:
    """Return a number for each combination of both sides on some columns: equal ones share it."""
    keys = np.zeros(len(mine) + len(rows), dtype=np.int64)
    span = 1
    for j in columns:
        column = np.concatenate((asked[mine, j], offered[rows, j]))
        width = int(column.max()) + 1
        if span > _KEY_LIMIT // width:
            distinct, keys = np.unique(keys, return_inverse=True)
            span = len(distinct)
        keys = keys * width + column
        span *= width
    if span <= 4 * len(keys):
        return keys
    _, keys = np.unique(keys, return_inverse=True)
    return keys.astype(np.int64, copy=False)
