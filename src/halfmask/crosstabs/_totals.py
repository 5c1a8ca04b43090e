"""Totals of inner cells: every sum along every dimension, with their contributors.

Inner cells are spread along one dimension after the other, by sparse matrices. An owner who is in
several is one contributor of a total: such owners are added to all cells one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from scipy.sparse import csr_array, eye_array

from halfmask._errors import PolicyError
from halfmask.crosstabs._arrays import covers_of
from halfmask.crosstabs._cells import LARGEST, ranges_of, row_keys
from halfmask.kernels.tabulation.largest import Lists, OwnerRoom, add_owners, keep_largest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.crosstabs._arrays import Codes, Floats, Ints
    from halfmask.crosstabs._dimension import Dimension

#: The most cells that one measure may have.
MOST_CELLS: Final = 5_000_000


class Owners(NamedTuple):
    """Owners by number, and their parts in inner cells; ``starts`` has the first part of each."""

    numbers: Ints
    starts: Ints
    cells: Ints
    plain: Floats
    weighted: Floats
    heavy: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSums:
    """Sums of n cells: rows, value, absolute value, contributors; and of record keys, modulo 1."""

    codes: Codes
    sums: Floats
    keys: Floats
    lists: Lists

    def take(self, cells: Ints) -> CellSums:
        """Return some of the cells."""
        return CellSums(
            codes=self.codes[cells],
            sums=self.sums[cells],
            keys=self.keys[cells],
            lists=_taken(self.lists, cells),
        )


def empty_lists(n: int) -> Lists:
    """Return lists of the largest of n cells that have no contributor yet."""
    return Lists(
        np.zeros((n, LARGEST)), np.zeros((n, LARGEST)), np.full((n, LARGEST), -1, dtype=np.int64)
    )


def joined_lists(lists: Lists, into: Ints, n: int) -> Lists:
    """Return lists of n cells that hold the largest of others; no owner is in two of these."""
    made = empty_lists(n)
    cells = np.repeat(into, LARGEST)
    keep_largest(cells, lists.sizes.ravel(), lists.weights.ravel(), lists.owners.ravel(), made)
    return made


def concatenated(lists: Sequence[Lists]) -> Lists:
    """Return the lists of all cells, one after the other."""
    sizes, weights, owners = (np.concatenate(each) for each in zip(*lists, strict=True))
    return Lists(sizes, weights, owners)


def _taken(lists: Lists, cells: Ints) -> Lists:
    return Lists(lists.sizes[cells], lists.weights[cells], lists.owners[cells])


def group_codes(codes: Codes, sizes: Sequence[int]) -> tuple[Ints, Ints]:
    """Return the first row of each combination of codes, in order, and each row's combination."""
    _, first, inverse = np.unique(row_keys(codes, sizes), return_index=True, return_inverse=True)
    return first, inverse.reshape(-1)


def group_cells(tally: CellSums, sizes: Sequence[int]) -> tuple[CellSums, Ints]:
    """Return cells of the same codes as one, in order, and which one each has become."""
    first, inverse = group_codes(tally.codes, sizes)
    step = _step(inverse, np.arange(len(inverse)), (len(first), len(inverse)))
    return _stepped(tally, step, tally.codes[first]), inverse


def add_totals(
    inner: CellSums, dimensions: Sequence[Dimension], owners: Owners | None, *, what: str
) -> CellSums:
    """Return inner cells and all their totals, by their codes; ``owners`` are in several cells."""
    covers = None if owners is None else csr_array(eye_array(len(inner.codes)))
    sizes = [len(each.codes) for each in dimensions]
    found = inner
    for at, dimension in enumerate(dimensions):
        codes, source = _spread(found.codes, at, dimension, what)
        first, inverse = group_codes(codes, sizes)
        if len(first) > MOST_CELLS:
            raise report_size(what, len(first))
        step = _step(inverse, source, (len(first), len(found.codes)))
        found = _stepped(found, step, codes[first])
        if covers is not None:
            covers = step @ covers
    if owners is not None and covers is not None:
        _add(found, csr_array(covers.T), owners)
    return found


def report_size(what: str, n: int) -> PolicyError:
    """Return the error of too many cells."""
    return PolicyError(
        f"{what} would have {n:,} cells or more; {MOST_CELLS:,} can be protected together.",
        hint="Cross fewer dimensions in one table, or declare coarser codes.",
    )


def _spread(codes: Codes, at: int, dimension: Dimension, what: str) -> tuple[Codes, Ints]:
    """Return each cell once for every code that covers it along one dimension, and its source."""
    above = csr_array(covers_of([dimension], frozenset([0]))[0].T)  # of each leaf
    leaf = np.searchsorted([dimension.position[each] for each in dimension.leaves], codes[:, at])
    lengths = np.diff(above.indptr)[leaf]
    if (n := int(lengths.sum())) > 8 * MOST_CELLS:
        raise report_size(what, n)
    source, place = ranges_of(above.indptr[leaf], lengths)
    made = codes[source]
    made[:, at] = above.indices[place]
    return made, source


def _step(inverse: Ints, source: Ints, shape: tuple[int, int]) -> csr_array:
    """Return the matrix that adds cells up."""
    step = csr_array((np.ones(len(source)), (inverse, source)), shape=shape)
    step.sort_indices()
    return step


def _stepped(tally: CellSums, step: csr_array, codes: Codes) -> CellSums:
    cells = np.repeat(np.arange(step.shape[0]), np.diff(step.indptr))
    lists = _taken(tally.lists, step.indices)
    return CellSums(
        codes=codes,
        sums=step @ tally.sums,
        keys=(step @ tally.keys) % 1.0,
        lists=joined_lists(lists, cells, step.shape[0]),
    )


def _add(found: CellSums, covers: csr_array, owners: Owners) -> None:
    """Add owners who are in several inner cells to the cells that cover them."""
    n = len(found.codes)
    room = OwnerRoom(
        last=np.full(n, -1, dtype=np.int64),
        slot=np.zeros(n, dtype=np.int64),
        cell=np.zeros(n, dtype=np.int64),
        plain=np.zeros(n),
        weighted=np.zeros(n),
        heavy=np.zeros(n),
    )
    count, absolute = np.zeros(n), np.zeros(n)
    add_owners(
        owners.starts,
        owners.numbers,
        (owners.cells, owners.plain, owners.weighted, owners.heavy),
        (covers.indptr.astype(np.int64), covers.indices.astype(np.int64)),
        room,
        (count, absolute, found.lists),
    )
    found.sums[:, 2] += absolute
    found.sums[:, 3] += count
