"""The level of each class by each model, from the counts of its values.

Definitions: Machanavajjhala et al. 2007, "l-Diversity: Privacy Beyond k-Anonymity", section 4
(distinct, entropy, recursive); Li et al. 2007, "t-Closeness", section 4 (the distances); Wong et
al. 2006, "(alpha, k)-anonymity"; Brickell and Shmatikov 2008, "The cost of privacy"; Cao and
Karras 2012, "Publishing microdata with a robust privacy guarantee".
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from halfmask.verifier.tables._counting import Cells, sum_cells

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


def distinct_values(cells: Cells) -> Floats:
    """Return how many different values each class has."""
    return np.diff(cells.starts).astype(np.float64)


def entropy_values(cells: Cells) -> Floats:
    """Return the exponential of the entropy of each class: as many equally frequent values."""
    shares = cells.counts / cells.sizes[cells.owners]
    return np.exp(-np.add.reduceat(shares * np.log(shares), cells.starts[:-1]))


def recursive_ratios(cells: Cells, l: int) -> Floats:
    """Return r_1 / (r_l + ... + r_m) of each class, r falling; infinite with fewer values than l.

    A class is recursively (c,l)-diverse where this is below c.
    """
    owners = cells.owners
    falling = cells.counts[np.lexsort((-cells.counts, owners))]
    first = cells.starts[:-1]
    rank = np.arange(len(falling)) - first[owners]
    tails = np.add.reduceat(np.where(rank >= l - 1, falling, 0), first)
    ratios = np.full(len(first), np.inf)
    np.divide(falling[first], tails, out=ratios, where=tails > 0)
    return ratios


def largest_shares(cells: Cells, k: int) -> Floats:
    """Return the share of each class's most frequent value; infinite with fewer rows than k."""
    sizes = cells.sizes
    shares = np.maximum.reduceat(cells.counts, cells.starts[:-1]) / sizes
    return np.where(sizes < k, np.inf, shares)


def largest_log_ratios(cells: Cells, totals: Ints) -> Floats:
    """Return the largest abs(log p - log q) over all values, p of the class and q of the table.

    Infinite where a class lacks a value of the table.
    """
    p = cells.counts / cells.sizes[cells.owners]
    q = totals[cells.values] / totals.sum()
    ratios = np.maximum.reduceat(np.maximum(p / q, q / p), cells.starts[:-1])
    lacking = np.diff(cells.starts) < np.count_nonzero(totals)
    return np.where(lacking, np.inf, np.log(ratios))


def largest_gains(cells: Cells, totals: Ints, *, slack: float | None) -> Floats:
    """Return the largest (p - q) / q over all values, p of the class and q of the table.

    Infinite where one exceeds -log(q) by more than ``slack``, unless that is ``None``.
    """
    p = cells.counts / cells.sizes[cells.owners]
    q = totals[cells.values] / totals.sum()
    gains = p / q - 1.0
    if slack is not None:
        gains = np.where(gains > slack - np.log(q), np.inf, gains)
    return np.maximum.reduceat(gains, cells.starts[:-1])


def equal_distances(cells: Cells, totals: Ints) -> Floats:
    """Return half the sum of |p - q| over all values, p of the class and q of the table."""
    rows = int(totals.sum())
    p = cells.counts / cells.sizes[cells.owners]
    q = totals[cells.values] / rows
    # Values that the class lacks add their q; all q add up to 1.
    return (np.add.reduceat(np.abs(p - q) - q, cells.starts[:-1]) + 1.0) / 2.0


def ordered_distances(cells: Cells, totals: Ints) -> Floats:
    """Return the mean of |P_i - Q_i| over the m - 1 steps between values, P and Q cumulated.

    The cells of a class are in the order of the values. Between two values that the class has, P
    stands still and Q grows, so each such stretch is summed at once.
    """
    m = len(totals)
    if m < 2:
        return np.zeros(len(cells.starts) - 1)
    q = np.cumsum(totals) / totals.sum()
    sums = np.concatenate(([0.0], np.cumsum(q)))
    first, last = cells.starts[:-1], cells.starts[1:] - 1
    running = np.cumsum(cells.counts)
    before = running[first] - cells.counts[first]
    sizes = cells.sizes
    p = (running - before[cells.owners]) / sizes[cells.owners]
    ends = np.append(cells.values[1:], 0)
    ends[last] = m - 1  # the last step is from the last value but one to the last
    stretch = _stretches(p, cells.values, ends, q, sums)
    # Ahead of its first value P is 0, and the sum that of Q.
    total = np.add.reduceat(stretch, first) + sums[cells.values[first]]
    return total / (m - 1)


def _stretches(p: Floats, begins: Ints, ends: Ints, q: Floats, sums: Floats) -> Floats:
    """Return the sum of |p - q_i| over begins <= i < ends for each p; q rises."""
    ends = np.maximum(ends, begins)
    cross = np.clip(np.searchsorted(q, p, side="right"), begins, ends)
    below = p * (cross - begins) - (sums[cross] - sums[begins])
    above = (sums[ends] - sums[cross]) - p * (ends - cross)
    return below + above


def hierarchical_distances(cells: Cells, totals: Ints, parents: list[Ints]) -> Floats:
    """Return what must move in the tree of values, weighted by how high it must climb.

    Notes
    -----
    At each node the smaller of what its children have too much and too little of is moved
    between them, at the cost of the node's height over the height of the tree (Li et al. 2007,
    section 4.2). A node that a class has no value of moves nothing.
    """
    height = len(parents)
    sizes = cells.sizes
    rows = int(totals.sum())
    cost = np.zeros(len(sizes))
    for level, parent_of in enumerate(parents, start=1):
        p = cells.counts / sizes[cells.owners]
        extra = p - totals[cells.values] / rows
        above = np.zeros(int(parent_of.max()) + 1, dtype=np.int64)
        np.add.at(above, parent_of, totals)
        merged = sum_cells(cells.owners, parent_of[cells.values], cells.counts, len(above))
        surplus = np.zeros(len(merged.counts))
        place = np.searchsorted(
            merged.owners * len(above) + merged.values,
            cells.owners * len(above) + parent_of[cells.values],
        )
        np.add.at(surplus, place, np.maximum(extra, 0.0))
        # What all children together have too much of is surplus minus shortage.
        whole = merged.counts / sizes[merged.owners] - above[merged.values] / rows
        moved = np.minimum(surplus, surplus - whole)
        cost += level / height * np.add.reduceat(moved, merged.starts[:-1])
        cells, totals = merged, above
    return cost
