"""The cells of all tables of one measure as one system: values, contributors and equations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
from scipy.sparse import csr_array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from halfmask.crosstabs._dimension import Dimension

#: How many of the largest contributions of a cell are kept, with their owners.
LARGEST: Final = 5
#: Numbers of rows stay below it.
_MOST: Final = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Contributors:
    """Who contributes to each of n cells."""

    #: Rows of microdata in the cell, not weighted; -1 where a ready table doesn't say; shape (n,).
    rows: NDArray[np.int64]
    #: Contributors: distinct owners where an owner column is named, rows otherwise; shape (n,).
    count: NDArray[np.float64]
    #: The contributions of the largest by their size, in descending order, 0 where there are fewer;
    #: one owner's rows are one contribution; shape (n, LARGEST). A ready table may know fewer of
    #: them: the others are NaN.
    largest: NDArray[np.float64]
    #: A number for the owner of each of `largest`; the same number is the same owner in all cells.
    #: -1 where there is none or nobody knows; shape (n, LARGEST).
    owners: NDArray[np.int64]
    #: The sum of the contributions' absolute values, weighted; shape (n,).
    absolute: NDArray[np.float64]
    #: The sampling weight of each of `largest`, which are not weighted: of several rows, their
    #: weighted sum by their sum; ``None`` where there are no weights; shape (n, LARGEST).
    weights: NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellSystem:
    """All cells of one measure, in all tables of a policy: a sparse system of equations.

    A cell that stands in several tables is one cell. A combination of codes that nobody is in has
    no cell unless zeros may be hidden: it is published as 0.
    """

    #: The column that is summed; ``None`` where rows are counted.
    measure: str | None
    #: The dimensions of all tables.
    dimensions: tuple[Dimension, ...]
    #: For each cell the position of its code in each dimension; in a dimension that its table
    #: lacks, that of the total; shape (n, number of dimensions).
    codes: NDArray[np.int32]
    #: The count or sum of each cell, weighted; shape (n,).
    value: NDArray[np.float64]
    #: Who contributes; ``None`` if a ready table doesn't say.
    contributors: Contributors | None
    #: One row for each equation, ``equations @ value == 0``: -1 for the total and 1 for each part.
    equations: csr_array
    #: The cells of each table in the order in which it shows them, by its name.
    tables: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    #: The sum of the keys of the records in each cell, modulo 1; shape (n,).
    record_keys: NDArray[np.float64] | None = None
    #: Of ready tables: cells that no table had, added as sums of their parts.
    added: int = 0
    #: Of ready tables: how far each value may be from the exact one. Equations hold within it.
    rounding: float = 0.0

    @property
    def n(self) -> int:
        """The number of cells."""
        return len(self.value)

    @property
    def is_count(self) -> bool:
        """Whether the cells are counts."""
        return self.measure is None

    def crossed(self, table: str) -> tuple[str, ...]:
        """Return the dimensions of a table: those in which it has more than the total."""
        codes = self.codes[self.tables[table]]
        return tuple(
            each.name
            for at, each in enumerate(self.dimensions)
            if (codes[:, at] != each.position[each.total]).any()
        )

    def with_value(self, value: NDArray[np.float64]) -> CellSystem:
        """Return the same cells with other values, such as rounded ones."""
        return replace(self, value=value)

    def labels(self, cells: NDArray[np.int64], names: Sequence[str]) -> pl.DataFrame:
        """Return the codes of some cells as texts, a column for each named dimension."""
        known = {each.name: number for number, each in enumerate(self.dimensions)}
        columns = {}
        for name in names:
            codes = np.array(self.dimensions[known[name]].codes, dtype=object)
            columns[name] = pl.Series(codes[self.codes[cells, known[name]]], dtype=pl.String)
        return pl.DataFrame(columns)


def row_keys(codes: NDArray[np.int32], sizes: Sequence[int]) -> NDArray[np.int64]:
    """Return one number for each row of codes: rows are in order as their numbers are.

    Many dimensions have more combinations than 63 bits: rows are then numbered as they occur.
    """
    keys = np.zeros(len(codes), dtype=np.int64)
    bound = 1
    for at, size in enumerate(sizes):
        if bound * size >= _MOST:
            keys = np.unique(keys, return_inverse=True)[1]
            bound = int(keys.max(initial=0)) + 1
        keys = keys * size + codes[:, at]
        bound *= size
    return keys


def build_equations(codes: NDArray[np.int32], dimensions: Sequence[Dimension]) -> csr_array:
    """Return the equations between cells that are sums along one dimension.

    Each sum of a dimension gives an equation for each combination of the other codes that has the
    total. Parts that have no cell are 0. An equation whose parts are all without a cell is left
    out. Equations are sorted by their totals, then by their parts, and given once.
    """
    sizes = [len(each.codes) for each in dimensions]
    found: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for at, dimension in enumerate(dimensions):
        others = [other for other in range(len(sizes)) if other != at]
        rest = row_keys(codes[:, others], [sizes[other] for other in others])
        rest = np.unique(rest, return_inverse=True)[1] * sizes[at]
        keys = rest + codes[:, at]
        order = np.argsort(keys, kind="stable")
        for each in dimension.sums:
            total = dimension.position[each.total]
            parts = np.array([dimension.position[part] for part in each.parts], dtype=np.int64)
            cells = np.flatnonzero(codes[:, at] == total)
            wanted = rest[cells][:, None] + np.sort(parts)[None, :]
            where = np.searchsorted(keys, wanted, sorter=order)
            rows = order[np.minimum(where, len(keys) - 1)]
            rows[keys[rows] != wanted] = -1
            has = (rows >= 0).any(axis=1)
            found.append((cells[has], np.sort(rows[has], axis=1)))
    return _assembled(found, len(codes))


def _assembled(
    found: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]], n_cells: int
) -> csr_array:
    """Return equations of totals and their parts, where -1 is no cell."""
    totals = np.concatenate([np.empty(0, dtype=np.int64), *(each for each, _ in found)])
    counts = np.concatenate(
        [np.empty(0, dtype=np.int64), *((each >= 0).sum(axis=1) for _, each in found)]
    )
    parts = np.concatenate([np.empty(0, dtype=np.int64), *(each[each >= 0] for _, each in found)])
    starts = np.cumsum([0, *counts])
    first = parts[starts[:-1]] if len(counts) else totals
    order = np.lexsort((counts, first, totals))
    kept = order[_is_new(order, totals, starts, parts)]
    lengths = counts[kept] + 1
    rows = np.repeat(np.arange(len(kept)), counts[kept])
    of_parts = np.repeat(starts[kept] - np.cumsum([0, *counts[kept]])[:-1], counts[kept])
    columns = parts[of_parts + np.arange(len(rows))]
    made = csr_array(
        (
            np.concatenate([np.full(len(kept), -1.0), np.ones(len(rows))]),
            (
                np.concatenate([np.arange(len(kept)), rows]),
                np.concatenate([totals[kept], columns]),
            ),
        ),
        shape=(len(lengths), n_cells),
    )
    made.sort_indices()
    return made


def _is_new(
    order: NDArray[np.int64],
    totals: NDArray[np.int64],
    starts: NDArray[np.int64],
    parts: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return which equations, in an order by totals and parts, aren't the same as an earlier one.

    Only two sums of one code can give the same equation, since parts have another code there.
    """
    is_new = np.ones(len(order), dtype=bool)
    seen: dict[tuple[int, int, int], list[int]] = {}
    counts = np.diff(starts)
    firsts = parts[starts[:-1]] if len(counts) else totals
    same = np.zeros(len(order), dtype=bool)
    alike = (
        (totals[order][1:] == totals[order][:-1])
        & (firsts[order][1:] == firsts[order][:-1])
        & (counts[order][1:] == counts[order][:-1])
    )
    same[1:] |= alike
    same[:-1] |= alike
    for at in np.flatnonzero(same):
        number = int(order[at])
        earlier = seen.setdefault((totals[number], firsts[number], counts[number]), [])
        own = parts[starts[number] : starts[number + 1]]
        is_new[at] = not any(
            np.array_equal(own, parts[starts[other] : starts[other + 1]]) for other in earlier
        )
        earlier.append(number)
    return is_new
