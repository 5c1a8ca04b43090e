"""Coarser: classes written alike where the guide sees no difference, and what tells the others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from halfmask.anonymize._partition import Partition
from halfmask.training._points import medians, where_cut

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.training._points import ClassRows

__all__ = ["Coarser", "coarse_boxes", "coarser", "scattered"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Coarser:
    """Classes taken together, and the quasi-identifiers that tell them apart.

    Parameters
    ----------
    group
        The group of each class, from 0, (classes,).
    cut
        Which quasi-identifiers were cut on the way to each group, (groups, quasi-identifiers).
    """

    group: NDArray[np.int64]
    cut: NDArray[np.bool_]

    def __repr__(self) -> str:
        return f"Coarser({len(self.cut)} groups of {len(self.group)} classes)"


def coarser(
    partition: object, classes: NDArray[np.int64], guide: NDArray[np.float64], *, price: float
) -> Coarser | None:
    """Take back the cuts of a partition by which the guide parts too little.

    Parameters
    ----------
    partition
        The tree of cuts; ``None`` is returned of a partition of another kind.
    classes
        The class of each row, (rows,).
    guide
        What led, (rows, outputs).
    price
        What each group must take away of the guide's spread in the table, as a share.

    Notes
    -----
    Pruning by cost and complexity (Breiman et al., "Classification and regression trees", 1984,
    section 3.3): of all trees that are left if cuts are taken back, the one with the least sum of
    squared deviations within groups plus a price for each group.
    """
    if type(partition) is not Partition:  # a curve is one too, but not by cuts of columns
        return None
    spread = _spreads(partition, classes, guide)
    ends = _ends(partition, spread, price * spread[0])
    group = np.zeros(partition.n_cells, dtype=np.int64)
    cuts: list[NDArray[np.bool_]] = []
    todo = [(0, -1, np.zeros(partition.low.shape[1], dtype=np.bool_))]
    while todo:
        node, within, cut = todo.pop()
        if within < 0 and ends[node]:
            within = len(cuts)
            cuts.append(cut)
        if partition.feature[node] < 0:
            if partition.left[node] >= 0:
                group[partition.left[node]] = within
            continue
        below = cut.copy()
        below[partition.feature[node]] = True
        todo += [(child[node], within, below) for child in (partition.left, partition.right)]
    used, group = np.unique(group, return_inverse=True)  # a cell without rows has no group
    return Coarser(group=group.astype(np.int64), cut=np.stack(cuts)[used])


def _spreads(
    partition: Partition, classes: NDArray[np.int64], guide: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return each node's sum of squared deviations of the guide, (nodes,)."""
    sums = np.zeros((len(partition.feature), 2 + guide.shape[1]))
    of_rows = np.column_stack([np.ones(len(guide)), (guide**2).sum(axis=1), guide])
    of_cells = np.zeros((partition.n_cells, sums.shape[1]))
    np.add.at(of_cells, classes, of_rows)
    for node in range(len(sums) - 1, -1, -1):  # children have higher numbers
        left, right = partition.left[node], partition.right[node]
        if partition.feature[node] >= 0:
            sums[node] = sums[left] + sums[right]
        elif left >= 0:
            sums[node] = of_cells[left]
    spread: NDArray[np.float64] = sums[:, 1] - (sums[:, 2:] ** 2).sum(axis=1) / np.maximum(
        sums[:, 0], 1.0
    )
    return spread


def _ends(partition: Partition, spread: NDArray[np.float64], price: float) -> NDArray[np.bool_]:
    """Return the nodes under which no cut is worth its price."""
    cost = spread + price
    ends = np.ones(len(cost), dtype=np.bool_)
    for node in range(len(cost) - 1, -1, -1):
        if partition.feature[node] >= 0:
            below = cost[partition.left[node]] + cost[partition.right[node]]
            ends[node] = cost[node] <= below
            cost[node] = min(cost[node], below)
    return ends


def coarse_boxes(rows: ClassRows, coarse: Coarser) -> NDArray[np.float64]:
    """Return each group's median where it was cut from others, the table's everywhere else.

    Classes of one group get one point.
    """
    grouped = replace(rows, classes=coarse.group[rows.classes], cut=coarse.cut)
    return where_cut(rows, medians(grouped)[coarse.group], _cut_columns(rows, coarse))


def scattered(
    rows: ClassRows, coarse: Coarser, points: NDArray[np.float64], *, lots: int, seed: int
) -> NDArray[np.float64]:
    """Return points whose columns that tell no group apart are drawn at random for each lot.

    Parameters
    ----------
    rows, coarse
        As for :func:`coarse_boxes`.
    points
        What classes are written as where their group was cut from others, (classes, columns).
    lots
        Into how many lots classes are drawn; those of one lot get the same values.
    seed
        What is drawn from.

    Notes
    -----
    Where other columns reach the model, it knows its rows by them. Here it also splits by columns
    that say nothing, and rows as they are, those that it learned like all others, go astray there.
    Each quasi-identifier by itself takes the value of a row that is drawn of the table: values are
    somebody's one by one, their combination is nobody's but by chance.
    """
    rng = np.random.default_rng([seed, lots])
    lots = min(lots, len(points))
    lot = rng.permutation(len(points)) % lots
    drawn = points.copy()
    for columns in rows.parts:
        values = rows.encoded[rng.integers(len(rows.encoded), size=lots)]
        drawn[:, columns] = values[:, columns][lot]
    return np.where(_cut_columns(rows, coarse), points, drawn)


def _cut_columns(rows: ClassRows, coarse: Coarser) -> NDArray[np.bool_]:
    """Return for each class which columns of the model belong to what it was cut by."""
    cut = np.zeros((len(coarse.group), rows.encoded.shape[1]), dtype=np.bool_)
    for place, columns in enumerate(rows.parts):
        cut[:, columns] = coarse.cut[coarse.group, place][:, None]
    return cut
