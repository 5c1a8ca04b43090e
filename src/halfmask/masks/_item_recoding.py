"""Which items to suppress or generalize, everywhere, until each small set of them has k rows.

M. Terrovitis, N. Mamoulis, P. Kalnis, "Privacy-preserving anonymization of set-valued data" (VLDB
2008): their apriori algorithm, sets of one item first, then of two, ..., with suppression next to
each step up in the hierarchy.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import comb
from typing import TYPE_CHECKING, Final, Literal, Self, TypeAlias

import numpy as np
import polars as pl

from halfmask._errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.data import Hierarchy


_Way: TypeAlias = Literal["suppress", "generalize", "both"]
#: Sets that are held in memory at once; if more are rare, the search looks again.
_MOST_FOUND: Final = 2_000_000
#: Subsets that are counted: a minute or two.
_MOST_COUNTED: Final = 5_000_000_000
#: So that a step that loses nothing is taken first.
_LEAST_COST: Final = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class ItemNodes:
    """What can be written for each item: the nodes above it in a hierarchy."""

    nodes: NDArray[np.int64]
    labels: tuple[str, ...]
    losses: NDArray[np.float64]

    @classmethod
    def of(cls, items: Sequence[str], hierarchy: Hierarchy | None) -> Self:
        """Return the nodes above some items; without a hierarchy, there are none."""
        if hierarchy is None:
            count = len(items)
            return cls(np.arange(count)[None, :], tuple(items), np.zeros(count))
        leaf = {label: place for place, label in enumerate(hierarchy.leaves)}
        places = np.array([leaf[item] for item in items])
        numbers: dict[str, int] = {}
        below: dict[str, int] = {}
        levels = []
        for level in range(hierarchy.height):
            labels = np.array(hierarchy.labels(level), dtype=object)
            names, counts = np.unique(labels, return_counts=True)
            below |= dict(zip(names, counts.tolist(), strict=True))
            levels.append([numbers.setdefault(it, len(numbers)) for it in labels[places]])
        losses = np.array([below[it] if below[it] > 1 else 0 for it in numbers]) / len(hierarchy)
        return cls(np.array(levels), tuple(numbers), losses)

    def depths(self) -> NDArray[np.int64]:
        """Return the highest level at which each node stands."""
        found = np.zeros(len(self.labels), np.int64)
        for level, nodes in enumerate(self.nodes):
            found[nodes] = level
        return found

    def parents(self) -> NDArray[np.int64]:
        """Return the next node above each; -1 at the top."""
        found = np.full(len(self.labels), -1)
        for lower, upper in zip(self.nodes[-2::-1], self.nodes[:0:-1], strict=True):
            differ = lower != upper
            found[lower[differ]] = upper[differ]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class ItemRecoding:
    """What is written for each item, and what that loses."""

    written: NDArray[np.int64]
    suppressed: int
    generalized: int
    loss: float


def least_loss(
    sets: ItemSets, nodes: ItemNodes, *, k: int, m: int, column: str
) -> ItemRecoding | None:
    """Return the recoding with less loss: of suppression alone, and with generalization, too."""
    ways: list[_Way] = ["suppress", "both"] if len(nodes.nodes) > 1 else ["suppress"]
    best = min((_Search(sets, nodes, it).run(k, m, column) for it in ways), key=lambda it: it.loss)
    if best.loss == 1 and len(ways) > 1:
        best = _Search(sets, nodes, "generalize").run(k, m, column)
    return best if best.loss < 1 else None


class _Search:
    """The greedy search: what is written for each item now, and what each step would cost."""

    def __init__(self, sets: ItemSets, nodes: ItemNodes, way: _Way) -> None:
        self._sets, self._nodes, self._way = sets, nodes, way
        self._written = nodes.nodes[0].copy()
        self._depths, self._parents = nodes.depths(), nodes.parents()
        self._rows = np.bincount(sets.items, minlength=len(self._written)).astype(np.float64)

    def run(self, k: int, m: int, column: str) -> ItemRecoding:
        # Merged nodes have at least the rows of each, so smaller sets stay frequent.
        for size in range(1, m + 1):
            while len(rare := self._rare(size, k, column)):
                self._step(rare)
        is_kept = self._written >= 0
        losses = np.where(is_kept, self._nodes.losses[self._written], 1.0)
        moved = is_kept & (self._written != self._nodes.nodes[0])
        return ItemRecoding(
            written=self._written,
            suppressed=int(self._rows[~is_kept].sum()),
            generalized=int(self._rows[moved].sum()),
            loss=float(self._rows @ losses / self._rows.sum()),
        )

    def _rare(self, size: int, k: int, column: str) -> NDArray[np.int32]:
        """Return sets of so many nodes that some rows have, but fewer than k."""
        from halfmask.kernels.suppression.rare_sets import (  # noqa: PLC0415 # numba takes a second
            rare_sets,
        )

        n_nodes = len(self._nodes.labels)
        now = self._sets.recoded(self._written)
        if size == 1:
            rows = np.bincount(now.items, minlength=n_nodes)
            return np.flatnonzero((rows > 0) & (rows < k)).astype(np.int32)[:, None]
        count = now.n_subsets(size)
        if count > _MOST_COUNTED:
            raise DataError(
                f"Column {column!r} has {count:.0e} sets of {size} items, rows taken one by one; "
                f"at most {_MOST_COUNTED:.0e} are counted.",
                hint="Choose a smaller m, give a hierarchy of the items, or split long sets.",
            )
        return rare_sets(now.offsets, now.items, n_nodes, size, k, _MOST_FOUND)

    def _step(self, rare: NDArray[np.int32]) -> None:
        """Suppress or generalize a node of each rare set, greedily by the least loss."""
        from halfmask.kernels.suppression.rare_sets import hit_sets  # noqa: PLC0415 # as above

        n_nodes = len(self._nodes.labels)
        # Two choices for each node: its parent, and, after all nodes, to suppress it.
        choices = rare + np.int32(n_nodes)
        if self._way != "suppress":
            above = self._parents[rare].astype(np.int32)
            above = np.where(above < 0, choices, above)
            both = self._way == "both"
            choices = np.concatenate((above, choices), axis=1) if both else above
        costs = np.concatenate(self._costs())
        chosen = hit_sets(choices, np.maximum(costs, _LEAST_COST))
        before = self._written.copy()
        self._suppress(chosen[n_nodes:])
        self._generalize(chosen[:n_nodes])
        if (before == self._written).all():  # a label that stands in two branches
            self._suppress(np.isin(np.arange(n_nodes), rare))

    def _costs(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what is lost more: by writing each node for all items below, and without it."""
        losses, n_nodes = self._nodes.losses, len(self._nodes.labels)
        raised = np.zeros(n_nodes)
        for upper, is_below in self._steps():
            more = self._rows * (losses[upper] - losses[self._written])
            raised += np.bincount(upper[is_below], weights=more[is_below], minlength=n_nodes)
        kept = np.flatnonzero(self._written >= 0)
        now = self._written[kept]
        more = self._rows[kept] * (1 - losses[now])
        suppressed = np.zeros(n_nodes)
        suppressed += np.bincount(now, weights=more, minlength=n_nodes)
        return raised, suppressed

    def _steps(self) -> list[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
        """Return the nodes of each level, and the items that are written as a lower one."""
        levels = self._nodes.nodes
        below = (self._written >= 0, self._depths[self._written])
        return [
            (upper, below[0] & (self._depths[upper] > below[1]) & (upper != lower))
            for lower, upper in pairwise(levels)
        ]

    def _suppress(self, chosen: NDArray[np.bool_]) -> None:
        self._written[(self._written >= 0) & chosen[self._written]] = -1

    def _generalize(self, chosen: NDArray[np.bool_]) -> None:
        for upper, is_below in self._steps():
            moved = is_below & chosen[upper]
            self._written[moved] = upper[moved]


def split_items(cells: pl.Series, separator: str) -> pl.Series:
    """Return the items of each cell as a list: each once, in order, and none that is empty.

    Examples
    --------
    >>> split_items(pl.Series(["milk|bread|milk", "", None]), "|").to_list()
    [['bread', 'milk'], [], None]
    """
    items = pl.col("cells").str.split(separator)
    return (
        cells.to_frame("cells")
        .select(items.list.unique().list.sort().list.set_difference([""]).list.sort())
        .to_series()
    )


@dataclass(frozen=True, slots=True, eq=False)
class ItemSets:
    """The sets of a column as numbers: of each set ascending, and each item once."""

    offsets: NDArray[np.int64]
    items: NDArray[np.int32]
    labels: tuple[str, ...]

    @classmethod
    def of(cls, cells: pl.Series, separator: str) -> Self:
        """Return the sets of a column of texts."""
        lists = split_items(cells, separator)
        sizes = lists.list.len().fill_null(0).to_numpy().astype(np.int64)
        items = lists.filter(lists.list.len() > 0).explode(empty_as_null=False)
        labels = items.unique().sort()
        numbers = items.rank("dense").to_numpy().astype(np.int32) - np.int32(1)
        return cls(np.concatenate(([0], np.cumsum(sizes))), numbers, tuple(labels))

    def recoded(self, codes: NDArray[np.int64]) -> ItemSets:
        """Return the sets with other numbers; labels are those of the raw items."""
        rows = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        found = codes[self.items]
        kept = found >= 0
        width = int(codes.max(initial=0)) + 1
        pairs = np.sort(rows[kept] * width + found[kept])
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]
        offsets = np.searchsorted(pairs, np.arange(len(self.offsets)) * width)
        return ItemSets(offsets.astype(np.int64), (pairs % width).astype(np.int32), self.labels)

    def n_subsets(self, size: int) -> int:
        """Return how many sets of so many items there are, each counted in each row that has it."""
        lengths, rows = np.unique(np.diff(self.offsets), return_counts=True)
        both = zip(lengths.tolist(), rows.tolist(), strict=True)
        return sum(comb(length, size) * n for length, n in both)
