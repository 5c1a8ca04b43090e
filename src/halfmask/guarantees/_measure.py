"""Judge a table by several guarantees at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
from numpy.typing import NDArray

from halfmask._validation import each_name, list_of
from halfmask.data import orders_of, to_polars
from halfmask.guarantees._classes import Classes
from halfmask.guarantees._grouping import check_columns, class_of_row, value_codes
from halfmask.guarantees._guarantee import Guarantee
from halfmask.guarantees._histogram import Histogram

if TYPE_CHECKING:
    from halfmask.guarantees._guarantee import Judgement


def measure(
    frame: object,
    *,
    quasi_identifiers: Sequence[str],
    guarantees: Sequence[Guarantee],
    population: object = None,
) -> list[Judgement]:
    """Group a table by its quasi-identifiers and judge it by each guarantee.

    Parameters
    ----------
    frame
        The table, raw or as released: a frame of polars, pandas or pyarrow.
    quasi_identifiers
        The columns whose values make a class.
    guarantees
        What to judge it by; several may be of one column, also with different hierarchies.
    population
        For guarantees about a population: its people, generalized as the table is. They fit a
        class if they are equal to it in every quasi-identifier.

    Returns
    -------
    list
        One judgement for each guarantee, in their order.

    Raises
    ------
    DataError
        When it is no frame.
    ColumnNotFoundError
        When the table lacks a column.
    HierarchyError
        When a guarantee's hierarchy lacks a value that occurs.
    ParameterError
        When the table has no rows.

    See Also
    --------
    Classes : Counts a table once, for many questions.
    halfmask.protect : Finds classes that keep a guarantee.

    Notes
    -----
    **Guarantees.** Counts are exact, and so is every judgement as its guarantee states it.

    **Edge cases.** Missing is a value of its own. A sensitive column isn't used to group rows by:
    to protect several, so that knowing one doesn't reveal another, name the others as
    quasi-identifiers.

    Examples
    --------
    >>> import polars as pl
    >>> from halfmask.guarantees import DistinctLDiversity, KAnonymity
    >>> people = pl.DataFrame({"sex": ["f", "f", "m", "m"], "ill": ["flu", "cold", "flu", "flu"]})
    >>> for judgement in measure(
    ...     people,
    ...     quasi_identifiers=["sex"],
    ...     guarantees=[KAnonymity(k=2), DistinctLDiversity(l=2, column="ill")],
    ... ):
    ...     print(judgement.guarantee, judgement.achieved, judgement.holds)
    KAnonymity(k=2) 2.0 True
    DistinctLDiversity(l=2, column='ill') 1.0 False
    """
    quasi_identifiers = each_name(quasi_identifiers, owner="measure")
    list_of(
        "guarantees", lambda it: isinstance(it, Guarantee), owner="measure", guarantees=guarantees
    )
    orders = orders_of(frame)
    frame = frame if isinstance(frame, pl.DataFrame) else to_polars(frame)
    sensitive = [guarantee.column for guarantee in guarantees if guarantee.column is not None]
    check_columns(frame, [*quasi_identifiers, *sensitive])
    people, outside = None, 0
    needs_written = any(guarantee.needs_written for guarantee in guarantees)
    if population is None and not sensitive and not needs_written:
        only_sizes = Classes.of(frame, quasi_identifiers=quasi_identifiers)
        return [guarantee.judge(only_sizes) for guarantee in guarantees]
    of_row, n_classes = class_of_row(frame, quasi_identifiers=quasi_identifiers)
    sizes = np.bincount(of_row, minlength=n_classes).astype(np.int64)
    if population is not None:
        people, outside = _people(frame, population, quasi_identifiers, of_row)
    written = None
    if needs_written:
        written = class_codes(frame, of_row, n_classes, quasi_identifiers)
    counted: dict[tuple[str, tuple[str, ...] | None], Histogram] = {}
    judgements = []
    for guarantee in guarantees:
        histograms = {}
        name = guarantee.column
        if name is not None:
            guarantee = guarantee.ordered(frame[name], orders.get(name, ()))  # noqa: PLW2901
            order = guarantee.order
            key = (name, order)
            if key not in counted:
                codes, n_values = value_codes(frame[name], order=order)
                counted[key] = Histogram.count(
                    of_row, codes, n_classes=n_classes, n_values=n_values
                )
            histograms = {name: counted[key]}
        classes = Classes(sizes, histograms, people, outside=outside, written=written)
        judgements.append(guarantee.judge(classes))
    return judgements


def _people(
    frame: pl.DataFrame,
    population: object,
    names: Sequence[str],
    of_row: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], int]:
    """Return how many people equal each class, and how many equal none."""
    people = population if isinstance(population, pl.DataFrame) else to_polars(population)
    check_columns(people, names)
    both = pl.concat([frame.select(names), people.select(names)], how="vertical_relaxed")
    of_both, n_both = class_of_row(both, quasi_identifiers=names)
    there = np.bincount(of_both[frame.height :], minlength=n_both).astype(np.int64)
    number = np.empty(int(of_row.max(initial=-1)) + 1, dtype=np.int64)
    number[of_row] = of_both[: frame.height]
    return there[number], people.height - int(there[number].sum())


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
    """Return cells as integers, (rows, columns): 0 for missing, 1 and up for values."""
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
    """
    first = np.empty(n_classes, dtype=np.int64)
    first[class_of_row[::-1]] = np.arange(table.height - 1, -1, -1)
    return codes_of(table, columns)[first]


def agreeing_codes(asked: Ints, offered: Ints, sums: Sums) -> NDArray[np.float64]:
    """Add up the offered sums that agree with each combination that is asked.

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
