"""How far the distribution of a sensitive column in a class is from that in the whole table.

The earth mover's distance of N. Li, T. Li and S. Venkatasubramanian, "t-closeness: privacy beyond
k-anonymity and l-diversity", ICDE 2007, for its three ground distances. Each function returns a
numerator and a denominator per class, so that a threshold is compared exactly. Notation: a class
has ``c_i`` of its ``n`` rows at value ``i``, the table ``C_i`` of its ``N``; the difference of the
two shares, ``c_i / n - C_i / N``, is ``e_i / (n * N)`` with the integer ``e_i = c_i N - C_i n``.

All three are norms of that difference. So they are convex, and merging classes that are within
``t`` gives a class that is (the table, and with it ``C`` and ``N``, stays unchanged).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from halfmask._errors import HierarchyError
from halfmask.guarantees._exact import integers_up_to

if TYPE_CHECKING:
    from halfmask.data import Hierarchy
    from halfmask.guarantees._exact import Ints
    from halfmask.guarantees._histogram import Histogram

Fractions = tuple["Ints", "Ints"]


def equal_distance(histogram: Histogram, sizes: npt.NDArray[np.int64]) -> Fractions:
    """Return half of the sum of ``|c_i / n - C_i / N|``: every two values are at distance 1.

    As the differences add up to 0, that is the sum of the positive ones, and only values that
    occur in the class have a positive one. Source: ICDE 2007, section 4.2, equal distance.
    """
    total = int(histogram.totals.sum())
    n = integers_up_to(int(sizes.max()) * total, sizes)
    return _excess(histogram, n, total), n * total


def ordered_distance(histogram: Histogram, sizes: npt.NDArray[np.int64]) -> Fractions:
    """Return the sum of the ``m - 1`` cumulated ``|e_1 + ... + e_i| / (n N)``, over ``m - 1``.

    ``m`` is the number of values that occur in the table, so that a value that only a hierarchy
    knows doesn't make distances look smaller. Source: ICDE 2007, section 4.2, ordered distance.

    Between two values that occur in the class its cumulated count stays, ``a``, while the table's,
    ``A_i``, grows: ``|a N - A_i n|`` falls, then rises. The turn is found by bisection and both
    parts are added up with the cumulated ``A``, so that a class costs as much as it has values.
    """
    histogram = histogram.compact()
    m, total = histogram.n_values, int(histogram.totals.sum())
    if m == 1:
        return np.zeros_like(sizes), np.ones_like(sizes)
    n = integers_up_to(int(sizes.max()) * total * m, sizes)
    starts, of_entry = histogram.offsets[:-1], histogram.class_of_entry
    table = np.cumsum(histogram.totals)
    table_sums = np.concatenate([[0], np.cumsum(table)])

    counted = np.cumsum(histogram.counts)
    before = (counted - histogram.counts)[starts]
    a = (counted - before[of_entry]).astype(n.dtype)
    low = histogram.codes.astype(np.int64)
    high = np.append(low[1:], m)
    high[histogram.offsets[1:] - 1] = m
    inside = n[of_entry]
    turn = np.searchsorted(table, (a * total // inside).astype(np.int64), side="right")
    turn = np.clip(turn, low, high)
    falling = (turn - low) * a * total - inside * (table_sums[turn] - table_sums[low])
    rising = inside * (table_sums[high] - table_sums[turn]) - (high - turn) * a * total
    moved = np.add.reduceat(falling + rising, starts) + n * table_sums[low[starts]]
    return moved, n * total * (m - 1)


def hierarchical_distance(
    histogram: Histogram, sizes: npt.NDArray[np.int64], hierarchy: Hierarchy
) -> Fractions:
    """Return the distance where two values are as far as the level at which they meet.

    In a tree of height ``H`` two values whose lowest common ancestor is at level ``j`` are ``j /
    H`` apart. Source: ICDE 2007, section 4.2, hierarchical distance. The paper adds up, over the
    inner nodes, the mass that is moved between their children; as mass must leave a node exactly
    when the node as a whole has too much of it, the same sum is the mean, over the levels below
    the root, of the equal distance between the values generalized to that level.

    Notes
    -----
    **Edge cases.** Missing is a branch of its own under the root.
    """
    leaves = len(hierarchy.leaves)
    if histogram.n_values not in {leaves, leaves + 1}:
        raise HierarchyError(
            f"{histogram.n_values} values were counted, the hierarchy has {leaves} leaves.",
            hint="Count the column with orders={column: hierarchy.leaves}.",
        )
    total = int(histogram.totals.sum())
    height = _height(hierarchy, histogram.n_values)
    n = integers_up_to(int(sizes.max()) * total * max(height, 1), sizes)
    moved = np.zeros_like(n)
    for level in range(height):
        nodes = _nodes(hierarchy, level, histogram.n_values)
        moved = moved + _excess(histogram.generalized(nodes), n, total)
    return moved, n * total * max(height, 1)


def _excess(histogram: Histogram, n: Ints, total: int) -> Ints:
    """Add up the positive ``e_i`` of each class."""
    of_entry = histogram.class_of_entry
    counts = histogram.counts.astype(n.dtype)
    excess = counts * total - histogram.totals[histogram.codes] * n[of_entry]
    return np.asarray(np.add.reduceat(np.maximum(excess, 0), histogram.offsets[:-1]))


def _height(hierarchy: Hierarchy, n_values: int) -> int:
    """Return the level of the root; a single leaf that shares the table with missing has one."""
    return max(int(hierarchy.height) - 1, 1 if n_values > 1 else 0)


def _nodes(hierarchy: Hierarchy, level: int, n_values: int) -> npt.NDArray[np.int64]:
    """Return each value's node at a level; leaves are in tree order, so nodes are runs of them."""
    parted = np.asarray(hierarchy.boundaries, dtype=np.int64) > level
    nodes = np.zeros(n_values, dtype=np.int64)
    nodes[1 : len(parted) + 1] = np.cumsum(parted)
    if n_values > len(hierarchy.leaves):
        nodes[-1] = nodes[-2] + 1
    return nodes
