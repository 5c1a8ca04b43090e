"""Classes counted otherwise: missing cells as wildcards, and over each set of some columns."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from halfmask.verifier.tables._counting import KEY_LIMIT, ClassCells, Counted, sum_cells
from halfmask.verifier.tables._rules import Unjudgeable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


Ints: TypeAlias = NDArray[np.int64]

#: Classes that are judged at once; their compatible rows are held as counts meanwhile.
BLOCK: Final = 50_000


def compatible_cells(counted: Counted, column: str | None) -> Iterator[ClassCells]:
    """Yield, for each class with its own missing cells, the counts of all compatible rows.

    Two rows are compatible when they agree in every quasi-identifier that neither of them misses.

    Notes
    -----
    Classes are taken by pattern, the set of columns that aren't missing. For one pattern, all
    other patterns with the same columns to compare are joined to it at once on these.
    """
    cells = counted.row_cells if column is None else counted.cells[column]
    n_values = int(cells.values.max()) + 1
    patterns, pattern_of = _patterns(counted)
    for own, pattern in enumerate(patterns):
        mine = np.flatnonzero(pattern_of == own)
        shared, shared_of = np.unique(patterns & pattern, axis=0, return_inverse=True)
        reach = shared_of.reshape(-1)[pattern_of]
        joins = [
            _join(counted.codes[:, columns], mine, np.flatnonzero(reach == i), cells, n_values)
            for i, columns in enumerate(shared)
        ]
        for begin in range(0, len(mine), BLOCK):
            yield _gather(joins, begin, min(begin + BLOCK, len(mine)), n_values)


def compatible_rows(counted: Counted) -> Ints:
    """Return for each class how many rows are compatible with its own, in the order of classes."""
    sizes = np.concatenate([block.sizes for block in compatible_cells(counted, None)])
    return in_class_order(counted, sizes)


def in_class_order(counted: Counted, found: Ints) -> Ints:
    """Return one number for each class, in the order of classes."""
    _, pattern_of = _patterns(counted)
    ordered = np.empty(len(counted.sizes), dtype=np.int64)
    ordered[np.argsort(pattern_of, kind="stable")] = found
    return ordered


def _patterns(counted: Counted) -> tuple[NDArray[np.bool_], Ints]:
    """Return the sets of columns that aren't missing, and the number of each class's."""
    present = counted.codes > 0
    _, sample, pattern_of = np.unique(row_ids(present), return_index=True, return_inverse=True)
    return present[sample], pattern_of


@dataclass(frozen=True, slots=True)
class _Join:
    """The summed cells of the groups of some classes, and the group of each class that asks.

    ``group_of`` is -1 where a class is compatible with none of them.
    """

    group_of: Ints
    groups: ClassCells


def _join(codes: Ints, mine: Ints, others: Ints, cells: ClassCells, n_values: int) -> _Join:
    """Group other classes by the given columns, and find the group of each of mine."""
    ids = row_ids(codes[np.concatenate((mine, others))])
    asked, offered = ids[: len(mine)], ids[len(mine) :]
    known, group = np.unique(offered, return_inverse=True)
    place = np.minimum(np.searchsorted(known, asked), len(known) - 1)
    group_of = np.where(known[place] == asked, place, -1)
    lengths = cells.starts[others + 1] - cells.starts[others]
    taken = _ranges(cells.starts[others], lengths)
    owners = np.repeat(group, lengths)
    return _Join(group_of, sum_cells(owners, cells.values[taken], cells.counts[taken], n_values))


def _gather(joins: list[_Join], begin: int, end: int, n_values: int) -> ClassCells:
    owners, values, counts = [], [], []
    for join in joins:
        group_of = join.group_of[begin:end]
        has = np.flatnonzero(group_of >= 0)
        starts = join.groups.starts[group_of[has]]
        lengths = join.groups.starts[group_of[has] + 1] - starts
        taken = _ranges(starts, lengths)
        owners.append(np.repeat(has, lengths))
        values.append(join.groups.values[taken])
        counts.append(join.groups.counts[taken])
    return sum_cells(
        np.concatenate(owners), np.concatenate(values), np.concatenate(counts), n_values
    )


def _ranges(starts: Ints, lengths: Ints) -> Ints:
    """Return starts[0], starts[0] + 1, ... for each start as many as its length, joined."""
    ends = np.cumsum(lengths)
    steps = np.arange(int(ends[-1]) if len(ends) else 0, dtype=np.int64)
    return np.asarray(steps + np.repeat(starts - (ends - lengths), lengths), dtype=np.int64)


def row_ids(codes: Ints | NDArray[np.bool_]) -> Ints:
    """Give equal rows of a matrix of codes the same number; without columns all are equal."""
    ids = np.zeros(len(codes), dtype=np.int64)
    span = 1
    for column in codes.T.astype(np.int64):
        width = int(column.max(initial=0)) + 1
        if span > KEY_LIMIT // width:
            distinct, ids = np.unique(ids, return_inverse=True)
            span = len(distinct)
        ids = ids * width + column
        span *= width
    return ids


#: More sets than these take hours.
MOST_SETS: Final = 100_000


def worst_of_subsets(
    counted: Counted,
    column: str | None,
    size: int,
    level: Callable[[ClassCells], float],
    worst: Callable[[float, float], float],
) -> tuple[float, float]:
    """Return the worst level over all sets of columns: missing as a value, and as a wildcard."""
    n_columns = counted.codes.shape[1]
    if not 1 <= size <= n_columns or comb(n_columns, size) > MOST_SETS:
        raise Unjudgeable("it is about more quasi-identifiers than there are, or too many sets")
    value, wildcard = [], []
    for columns in combinations(range(n_columns), size):
        projected = _projected(counted, column, list(columns))
        value.append(level(projected.row_cells if column is None else projected.cells[column]))
        wildcard += _wildcard_levels(projected, column, level) or value[-1:]
    return functools.reduce(worst, value), functools.reduce(worst, wildcard)


def _wildcard_levels(
    counted: Counted, column: str | None, level: Callable[[ClassCells], float]
) -> list[float]:
    if counted.codes.all():
        return []
    return [level(block) for block in compatible_cells(counted, column)]


def _projected(counted: Counted, column: str | None, columns: list[int]) -> Counted:
    """Merge the classes that agree in some columns."""
    codes = counted.codes[:, columns]
    _, first, into = np.unique(row_ids(codes), return_index=True, return_inverse=True)
    sizes = np.bincount(into, weights=counted.sizes).astype(np.int64)
    cells = {}
    if column is not None:
        own = counted.cells[column]
        n_values = int(own.values.max()) + 1
        cells[column] = sum_cells(into[own.owners], own.values, own.counts, n_values)
    return Counted(sizes, cells, codes[first])
