"""Hidden cells that can only move together, as one: what is left of a system of equations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from halfmask.crosstabs._cells import distinct, link
from halfmask.crosstabs._program import Slack

if TYPE_CHECKING:
    from halfmask.crosstabs._arrays import Bools, Floats, Ints

_PAIR: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """Hidden cells by groups that move together, each the same way or the opposite one."""

    #: The group of each cell; -1 where it can't move; shape (n,).
    group: Ints
    #: Whether a cell moves as its group does (1) or the opposite way (-1); shape (n,).
    sign: Floats
    #: The equations between groups.
    equations: csr_array
    #: How far each group may move.
    room: Slack

    def spread(self, moved: Floats) -> Floats:
        """Return how far each cell moves with its group."""
        cells: Floats = np.append(moved, 0.0)[self.group]  # -1 is the last
        return self.sign * cells

    def spread_ends(self, down: Floats, up: Floats) -> tuple[Floats, Floats]:
        """Return the least and the greatest deviation of each cell, of those of its group."""
        least, greatest = np.append(down, 0.0)[self.group], np.append(up, 0.0)[self.group]
        turned = self.sign < 0
        return np.where(turned, -greatest, least), np.where(turned, -least, greatest)


def merge_equal(equations: csr_array) -> tuple[csr_array, Ints]:
    """Merge cells that equal each other, as a total of one part, and drop repeated equations."""
    label = np.arange(equations.shape[1])
    while True:
        lengths, n = np.diff(equations.indptr), equations.shape[1]
        is_pair = lengths == 2
        first = equations.indptr[:-1][is_pair]
        is_pair[is_pair] = equations.data[first] * equations.data[first + 1] < 0
        merged = link(equations, np.repeat(is_pair, lengths))
        shape = (n, merged.max(initial=-1) + 1)
        equations = equations @ csr_array((np.ones(n), (np.arange(n), merged)), shape=shape)
        equations.eliminate_zeros()
        equations, label = distinct(equations), merged[label]
        if equations.shape[1] == n:
            return equations, label


def merge(equations: csr_array, room: Slack, hidden: Bools) -> Merged:
    """Merge hidden cells until each equation has three groups: two can only move together."""
    group = np.where(hidden, np.cumsum(hidden) - 1, -1)
    sign = np.ones(len(hidden))
    while True:
        part = _between(equations, group, sign)
        still, pairs = _settling(part)
        if not len(still) and not len(pairs):
            break
        label, turned = _joined(part, still, pairs)
        own = np.maximum(group, 0)
        sign = np.where(turned[own], -sign, sign)
        group = np.where(group >= 0, label[own], -1)
    groups = part.shape[1]
    up = np.where(sign > 0, room.above, room.below)
    down = np.where(sign > 0, room.below, room.above)
    ends = np.full((2, groups), np.inf)
    moving = group >= 0
    np.minimum.at(ends[0], group[moving], down[moving])
    np.minimum.at(ends[1], group[moving], up[moving])
    return Merged(group=group, sign=sign, equations=part, room=Slack(below=ends[0], above=ends[1]))


def _between(equations: csr_array, group: Ints, sign: Floats) -> csr_array:
    """Return the equations between groups, each that has any once."""
    cells = np.flatnonzero(group >= 0)
    shape = (len(group), int(group.max(initial=-1)) + 1)
    part = csr_array(equations @ csr_array((sign[cells], (cells, group[cells])), shape=shape))
    part.eliminate_zeros()
    return distinct(part)


def _settling(part: csr_array) -> tuple[Ints, Ints]:
    """Return groups that can't move, and where entries of equations of two equal groups start."""
    first, sizes = part.indptr[:-1], np.diff(part.indptr)
    pairs = first[sizes == _PAIR]
    equal = np.abs(part.data[pairs]) == np.abs(part.data[pairs + 1])
    return part.indices[first[sizes == 1]], pairs[equal]


def _joined(part: csr_array, still: Ints, pairs: Ints) -> tuple[Ints, Bools]:
    """Return the new group of each group, -1 if it can't move, and whether it moves as this does.

    Each has a node for either direction; a group that is linked to its own opposite can't move.
    """
    n = part.shape[1]
    one, other = part.indices[pairs], part.indices[pairs + 1]
    opposite = part.data[pairs] == part.data[pairs + 1]
    near, far = np.where(opposite, other + n, other), np.where(opposite, other, other + n)
    rows = np.concatenate([one, one + n, still])
    columns = np.concatenate([near, far, still + n])
    graph = coo_array((np.ones(len(rows)), (rows, columns)), shape=(2 * n, 2 * n))
    _, label = connected_components(graph, directed=False)
    forward, back = label[:n], label[n:]
    moving = forward != back
    found = np.full(n, -1)
    found[moving] = np.unique(np.minimum(forward, back)[moving], return_inverse=True)[1]
    return found, back < forward
