"""The cells of all tables of one measure as one system: values, contributors and equations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
from scipy.sparse import csr_array

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from halfmask.crosstabs._dimension import Dimension

#: How many of the largest contributions of a cell are kept, with their owners.
LARGEST: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Contributors:
    """Who contributes to each of n cells.

    Attributes
    ----------
    rows
        Rows of microdata in the cell, not weighted; shape (n,).
    count
        Contributors: distinct owners where an owner column is named, rows otherwise; shape (n,).
    largest
        The contributions of the largest by their size, in descending order, 0 where there are
        fewer; one owner's rows are one contribution; shape (n, LARGEST). A ready table may know
        fewer of them: the others are NaN.
    owners
        A number for the owner of each of `largest`; the same number is the same owner in all
        cells. -1 where there is none or nobody knows; shape (n, LARGEST).
    absolute
        The sum of the contributions' absolute values, weighted; shape (n,).
    weights
        The sampling weight of each of `largest`, which are not weighted: of several rows, their
        weighted sum by their sum; ``None`` where there are no weights; shape (n, LARGEST).
    """

    rows: NDArray[np.int64]
    count: NDArray[np.float64]
    largest: NDArray[np.float64]
    owners: NDArray[np.int64]
    absolute: NDArray[np.float64]
    weights: NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """All cells of one measure, in all tables of a policy: a sparse system of equations.

    A cell that stands in several tables is one cell. A combination of codes that nobody is in has
    no cell unless zeros may be hidden: it is published as 0.

    Attributes
    ----------
    measure
        The column that is summed; ``None`` where rows are counted.
    dimensions
        The dimensions of all tables.
    codes
        For each cell the position of its code in each dimension; in a dimension that its table
        lacks, that of the total; shape (n, number of dimensions).
    value
        The count or sum of each cell, weighted; shape (n,).
    contributors
        Who contributes; ``None`` if a ready table doesn't say.
    equations
        One row for each equation, ``equations @ value == 0``: -1 for the total and 1 for each
        part.
    tables
        The cells of each table in the order in which it shows them, by its name.
    record_keys
        The sum of the keys of the records in each cell, modulo 2**64; ``None`` unless cell keys
        protect the counts; shape (n,).
    """

    measure: str | None
    dimensions: tuple[Dimension, ...]
    codes: NDArray[np.int32]
    value: NDArray[np.float64]
    contributors: Contributors | None
    equations: csr_array
    tables: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    record_keys: NDArray[np.uint64] | None = None

    @property
    def n(self) -> int:
        """The number of cells."""
        return len(self.value)

    @property
    def is_count(self) -> bool:
        """Whether the cells are counts."""
        return self.measure is None

    def with_value(self, value: NDArray[np.float64]) -> Cells:
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


def build_equations(codes: NDArray[np.int32], dimensions: Sequence[Dimension]) -> csr_array:
    """Return the equations between cells that are sums along one dimension.

    Each sum of a dimension gives an equation for each combination of the other codes that has the
    total. Parts that have no cell are 0. An equation whose parts are all without a cell is left
    out. Equations are sorted and given once.
    """
    keys = _keys(codes, dimensions)
    order = np.argsort(keys, kind="stable")
    found = list(_equations(codes, dimensions, keys[order], order))
    totals = [total for total, _ in found]
    lengths = [1 + len(parts) for _, parts in found]
    columns = [np.concatenate([[total], parts]) for total, parts in found]
    n_equations = len(totals)
    data = np.ones(sum(lengths))
    starts = np.cumsum([0, *lengths])
    data[starts[:-1]] = -1.0
    indices = np.concatenate(columns) if columns else np.empty(0, dtype=np.int64)
    return csr_array((data, indices, starts), shape=(n_equations, len(codes)))


def _keys(codes: NDArray[np.int32], dimensions: Sequence[Dimension]) -> NDArray[np.int64]:
    """Return one number for each combination of codes."""
    sizes = [len(each.codes) for each in dimensions]
    steps = [reduce(lambda a, b: a * b, sizes[at + 1 :], 1) for at in range(len(sizes))]
    return codes.astype(np.int64) @ np.array(steps, dtype=np.int64)


def _equations(
    codes: NDArray[np.int32],
    dimensions: Sequence[Dimension],
    keys: NDArray[np.int64],
    order: NDArray[np.int64],
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield the total and the parts of each equation."""
    own = np.empty(len(order), dtype=np.int64)
    own[order] = keys
    sizes = [len(each.codes) for each in dimensions]
    for at, dimension in enumerate(dimensions):
        step = reduce(lambda a, b: a * b, sizes[at + 1 :], 1)
        for each in dimension.sums:
            total = dimension.position[each.total]
            parts = np.array([dimension.position[part] for part in each.parts], dtype=np.int64)
            cells = np.flatnonzero(codes[:, at] == total)
            wanted = own[cells][:, None] + (parts - total)[None, :] * step
            where = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            there = keys[where] == wanted
            for cell, row, has in zip(cells, order[where], there, strict=True):
                if has.any():
                    yield int(cell), row[has]
