"""Rows that match where a missing cell stands for any value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
import polars.selectors as cs

from halfmask._errors import ColumnNotFoundError, DataError
from halfmask._validation import each_name
from halfmask.assess.risk._agreement import Combinations, agreeing
from halfmask.assess.risk._given_table import given_table
from halfmask.guarantees import class_of_row

Ints = npt.NDArray[np.int64]


def matching_rows(frame: object, others: object, *, quasi_identifiers: Sequence[str]) -> Ints:
    """Count the rows of ``others`` that match each row; missing matches any value.

    Two rows match when in every quasi-identifier their values are equal or one of them is missing.
    These are the semantics of sdcMicro's ``freqCalc`` (M. Templ, A. Kowarik and B. Meindl,
    "Statistical disclosure control for micro-data using the R package sdcMicro", Journal of
    Statistical Software 67(4), 2015, section 3.1). Matching isn't transitive: a row with nothing
    but missing cells matches all, which don't match each other.

    Parameters
    ----------
    frame
        The rows to count for.
    others
        The rows to count; the same table, or the population.
    quasi_identifiers
        The columns to match by.

    Returns
    -------
    ndarray
        For each row of ``frame`` the number of rows of ``others`` (int64).

    Raises
    ------
    ColumnNotFoundError
        When one of the tables lacks a column.
    DataError
        When a column holds lists, structs or foreign objects, or its types differ.

    Notes
    -----
    **Guarantees.** Exact. The cost grows with the share of missing cells, not with the number of
    pairs of rows.

    **Edge cases.** NaN is a value, not missing. Without quasi-identifiers every row matches all.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"sex": ["f", "f", "m"], "age": [30, None, 30]})
    >>> matching_rows(frame, frame, quasi_identifiers=["sex", "age"]).tolist()
    [2, 2, 1]
    """
    frame = given_table(frame)
    others = given_table(others)
    quasi_identifiers = each_name(quasi_identifiers, owner="matching_rows")
    both = _both(frame, others, quasi_identifiers)
    if not quasi_identifiers:
        return np.full(frame.height, others.height, dtype=np.int64)
    found = Combinations.of(both, quasi_identifiers)
    mine = found.of_row[: frame.height]
    counts = np.bincount(found.of_row[frame.height :], minlength=found.n)
    asked, place = np.unique(mine, return_inverse=True)
    offered = np.flatnonzero(counts)
    wild = found.wild
    sums = agreeing(wild[:, asked], wild[:, offered], [counts[offered]])
    matches: Ints = sums[0].astype(np.int64)[place]
    return matches


def equal_rows(frame: object, others: object, *, quasi_identifiers: Sequence[str]) -> Ints:
    """Count the rows of ``others`` that equal each row; missing equals missing.

    Raises as :func:`matching_rows` does.

    Parameters
    ----------
    frame
        The rows to look for.
    others
        The rows to look in.
    quasi_identifiers
        The columns that are compared.
    """
    frame = given_table(frame)
    others = given_table(others)
    quasi_identifiers = each_name(quasi_identifiers, owner="equal_rows")
    both = _both(frame, others, quasi_identifiers)
    if not quasi_identifiers:
        return np.full(frame.height, others.height, dtype=np.int64)
    of_row, n_classes = class_of_row(both, quasi_identifiers=quasi_identifiers)
    counts = np.bincount(of_row[frame.height :], minlength=n_classes).astype(np.int64)
    return counts[of_row[: frame.height]]


def _both(frame: pl.DataFrame, others: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return the rows of the one above those of the other."""
    for table, name in ((frame, "the table"), (others, "the population")):
        lacking = [column for column in columns if column not in table.columns]
        if lacking:
            raise ColumnNotFoundError.of(lacking, table.columns, where=name)
    return _stacked(frame.select(columns), others.select(columns))


def _stacked(frame: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    differ = [name for name in frame.columns if _kind(frame[name]) != _kind(others[name])]
    # A column of nothing but missing cells has no type to differ by.
    differ = [name for name in differ if pl.Null not in {frame[name].dtype, others[name].dtype}]
    if differ:
        raise DataError(
            "These columns have other types in the population than in the table: "
            f"{', '.join(repr(name) for name in differ)}.",
            hint="Read both tables in the same way.",
        )
    text = cs.by_dtype(pl.String, pl.Categorical, pl.Enum).cast(pl.String)
    both = [table.with_columns(text) for table in (frame, others)]
    return pl.concat(both, how="vertical_relaxed")


def _kind(column: pl.Series) -> object:
    """Return what two columns must share for their values to be comparable."""
    if column.dtype.is_numeric():
        return "numeric"
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        return "text"
    return column.dtype
