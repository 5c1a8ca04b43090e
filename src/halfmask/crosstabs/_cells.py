"""The cells of all tables of one measure as one system: values, contributors and equations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halfmask.crosstabs._arrays import Bools, Codes, Floats, Ints
    from halfmask.crosstabs._dimension import Dimension

#: How many of the largest contributions of a cell are kept, with their owners.
LARGEST: Final = 5
#: Numbers of rows stay below it.
_MOST: Final = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Contributors:
    """Who contributes to each of n cells."""

    #: Rows of microdata in the cell, not weighted; -1 where a ready table doesn't say; shape (n,).
    rows: Ints
    #: Contributors: distinct owners where an owner column is named, rows otherwise; shape (n,).
    count: Floats
    #: The contributions of the largest by their size, in descending order, 0 where there are fewer;
    #: one owner's rows are one contribution; shape (n, LARGEST). A ready table may know fewer of
    #: them: the others are NaN.
    largest: Floats
    #: A number for the owner of each of `largest`; the same number is the same owner in all cells.
    #: -1 where there is none or nobody knows; shape (n, LARGEST).
    owners: Ints
    #: The sum of the contributions' absolute values, weighted; shape (n,).
    absolute: Floats
    #: The sampling weight of each of `largest`, which are not weighted: of several rows, their
    #: weighted sum by their sum; ``None`` where there are no weights; shape (n, LARGEST).
    weights: Floats | None = None


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
    codes: Codes
    #: The count or sum of each cell, weighted; shape (n,).
    value: Floats
    #: Who contributes; ``None`` if a ready table doesn't say.
    contributors: Contributors | None
    #: One row for each equation, ``equations @ value == 0``: -1 for the total and 1 for each part.
    equations: csr_array
    #: The cells of each table in the order in which it shows them, by its name.
    tables: Mapping[str, Ints] = field(default_factory=dict)
    #: The sum of the keys of the records in each cell, modulo 1; shape (n,).
    record_keys: Floats | None = None
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

    def labels(self, cells: Ints, names: Sequence[str]) -> pl.DataFrame:
        """Return the codes of some cells as texts, a column for each named dimension."""
        known = {each.name: number for number, each in enumerate(self.dimensions)}
        columns = {}
        for name in names:
            codes = np.array(self.dimensions[known[name]].codes, dtype=object)
            columns[name] = pl.Series(codes[self.codes[cells, known[name]]], dtype=pl.String)
        return pl.DataFrame(columns)


def row_keys(codes: Codes, sizes: Sequence[int]) -> Ints:
    """Return a number for each row of codes in their order; as they occur where 63 bits lack."""
    keys = np.zeros(len(codes), dtype=np.int64)
    bound = 1
    for at, size in enumerate(sizes):
        if bound * size >= _MOST:
            keys = np.unique(keys, return_inverse=True)[1]
            bound = int(keys.max(initial=0)) + 1
        keys = keys * size + codes[:, at]
        bound *= size
    return keys


def build_equations(codes: Codes, dimensions: Sequence[Dimension]) -> csr_array:
    """Return the equations between cells that are sums along one dimension, by their totals.

    Each sum of a dimension gives one for each combination of the other codes that has the total.
    Parts that have no cell are 0, and an equation of such parts alone is left out.
    """
    sizes = [len(each.codes) for each in dimensions]
    totals, parts, lengths = ([np.empty(0, dtype=np.int64)] for _ in range(3))
    for at, dimension in enumerate(dimensions):
        others = [other for other in range(len(sizes)) if other != at]
        rest = row_keys(codes[:, others], [sizes[other] for other in others])
        rest = np.unique(rest, return_inverse=True)[1] * sizes[at]
        keys = rest + codes[:, at]
        order = np.argsort(keys, kind="stable")
        for each in dimension.sums:
            cells = np.flatnonzero(codes[:, at] == dimension.position[each.total])
            below = np.array([dimension.position[part] for part in each.parts], dtype=np.int64)
            wanted = rest[cells][:, None] + below
            where = np.searchsorted(keys, wanted, sorter=order)
            rows = order[np.minimum(where, len(keys) - 1)]
            there = keys[rows] == wanted
            has = there.any(axis=1)
            totals.append(cells[has])
            parts.append(rows[there])
            lengths.append(there.sum(axis=1)[has])
    total, part, length = map(np.concatenate, (totals, parts, lengths))
    every = np.arange(len(total))
    entries = np.repeat([-1.0, 1.0], [len(total), len(part)])
    places = np.append(every, np.repeat(every, length)), np.append(total, part)
    made = csr_array((entries, places), shape=(len(total), len(codes)))
    first = np.minimum.reduceat(part, np.cumsum(length) - length)
    return distinct(made[np.lexsort((length, first, total))])


def distinct(equations: csr_array) -> csr_array:
    """Return equations that have an entry, each once whatever its sign, in their order."""
    equations.sort_indices()
    rows = np.flatnonzero(np.diff(equations.indptr))
    starts = equations.indptr
    data = equations.data * np.repeat(np.sign(equations.data[starts[rows]]), np.diff(starts)[rows])
    # Equal equations have equal sums of cubes: only of these the entries are compared.
    cubes = (equations.indices.astype(np.int64) + 1) ** 3
    hashed = np.add.reduceat(data.astype(np.int64) * cubes, starts[rows])
    _, alike, n_alike = np.unique(hashed, return_inverse=True, return_counts=True)
    kept = np.ones(len(rows), dtype=bool)
    seen: set[bytes] = set()
    for at in np.flatnonzero(n_alike[alike] > 1).tolist():
        own = slice(starts[rows[at]], starts[rows[at] + 1])
        text = equations.indices[own].tobytes() + data[own].tobytes()
        kept[at] = text not in seen
        seen.add(text)
    return equations[rows[kept]]


def link(equations: csr_array, kept: Bools | None = None) -> Ints:
    """Return a number for each cell: the same where entries of equations, or kept ones, link."""
    m, n = equations.shape
    rows, columns = equations.tocoo().coords
    if kept is not None:
        rows, columns = rows[kept], columns[kept]
    edges = (np.ones(len(rows)), (columns, n + rows))
    _, part = connected_components(coo_array(edges, shape=(n + m, n + m)), directed=False)
    return np.asarray(part[:n], dtype=np.int64)


def places_of(numbers: Ints) -> dict[int, Ints]:
    """Return the positions of each number, in ascending order."""
    order = np.argsort(numbers, kind="stable")
    found, starts = np.unique(numbers[order], return_index=True)
    return dict(zip(found.tolist(), np.split(order, starts[1:]), strict=True)) if len(order) else {}


def ranges_of(first: Ints, lengths: Ints) -> tuple[Ints, Ints]:
    """Return the numbers of ranges, one after the other, after the position of each one's range."""
    at = np.repeat(np.arange(len(lengths)), lengths)
    return at, np.arange(len(at)) + np.repeat(first - np.cumsum(lengths) + lengths, lengths)
