"""Points in blocks of neighbours: the nearest and the farthest points, found exactly.

A block is left out of a search only where the box around its points shows that none of them can be
what is looked for. Rounding doesn't change that: subtracting, squaring and adding are monotone in
floating-point numbers too, and the bounds do the same steps in the same order as the distances.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from halfmask.kernels.compiling import njit_unchecked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.kernels.partition.criteria import Int

__all__ = ["LANES", "Blocks", "distance", "empty_blocks", "farthest", "fill", "nearest", "remove"]

#: Points of a block: few enough for a tight box, enough for vector instructions.
LANES = 64
#: More than rounding takes from a distance that is bounded by two others.
SLACK = 1.0 + 1e-9


class Blocks(NamedTuple):
    """Points in blocks, and room for a search.

    Attributes
    ----------
    capped
        How a column counts in a distance: its gap, at most 1 (Gower); otherwise its gap squared.
    values
        The points, NaN where there is none or it was removed, (blocks, columns, lanes).
    rows
        The number of each point, (blocks, lanes).
    place
        Where each point lies, as block * lanes + lane, (points,).
    low, high
        The box of each block when it was filled, (columns, blocks).
    reach
        The greatest distance of a block's points from `origin`, its root if squared, (blocks,).
    origin
        A point in the middle, (columns,).
    bounds, found
        Written by a search: of each block, and of each lane.
    """

    capped: bool
    values: NDArray[np.float64]
    rows: NDArray[np.int64]
    place: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    reach: NDArray[np.float64]
    origin: NDArray[np.float64]
    bounds: NDArray[np.float64]
    found: NDArray[np.float64]


def empty_blocks(
    n_points: int, n_held: int, origin: NDArray[np.float64], *, capped: bool
) -> Blocks:
    """Return room for points.

    Parameters
    ----------
    n_points
        One more than the greatest number of a point.
    n_held
        How many points there are room for.
    origin, capped
        As of `Blocks`.
    """
    n_columns, n_blocks = len(origin), -(-n_held // LANES)
    return Blocks(
        capped=capped,
        values=np.empty((n_blocks, n_columns, LANES)),
        rows=np.empty((n_blocks, LANES), dtype=np.int64),
        place=np.empty(n_points, dtype=np.int64),
        low=np.empty((n_columns, n_blocks)),
        high=np.empty((n_columns, n_blocks)),
        reach=np.empty(n_blocks),
        origin=origin,
        bounds=np.empty(n_blocks),
        found=np.empty(LANES),
    )


@njit_unchecked
def fill(blocks: Blocks, points: NDArray[np.float64], order: NDArray[np.int64]) -> None:
    """Put points into the blocks.

    Parameters
    ----------
    blocks
        Written.
    points
        All points, (points, columns).
    order
        The numbers of those that are put in; each 64 of them become a block.
    """
    n_columns = points.shape[1]
    for place in range(blocks.rows.shape[0] * LANES):
        block, lane = place // LANES, place % LANES
        if lane == 0:
            blocks.reach[block] = 0.0
            for j in range(n_columns):
                blocks.low[j, block], blocks.high[j, block] = np.inf, -np.inf
        if place >= order.shape[0]:
            blocks.rows[block, lane] = -1
            for j in range(n_columns):
                blocks.values[block, j, lane] = np.nan
            continue
        row = order[place]
        blocks.rows[block, lane], blocks.place[row] = row, place
        for j in range(n_columns):
            value = points[row, j]
            blocks.values[block, j, lane] = value
            blocks.low[j, block] = min(blocks.low[j, block], value)
            blocks.high[j, block] = max(blocks.high[j, block], value)
        apart = _length(blocks, distance(points[row], blocks.origin, blocks.capped))
        blocks.reach[block] = max(blocks.reach[block], apart)


@njit_unchecked
def remove(blocks: Blocks, row: Int) -> None:
    """Remove a point. NaN is neither near nor far."""
    place = blocks.place[row]
    for j in range(blocks.values.shape[1]):
        blocks.values[place // LANES, j, place % LANES] = np.nan


@njit_unchecked
def distance(a: NDArray[np.float64], b: NDArray[np.float64], capped: bool) -> float:  # noqa: FBT001 # kernels take no keywords
    """Return how far two points are apart: summed squares, or summed gaps of at most 1."""
    total = 0.0
    for j in range(a.shape[0]):
        gap = abs(a[j] - b[j])
        if capped:
            total += min(gap, 1.0)
        else:
            total += gap * gap
    return total


@njit_unchecked
def farthest(blocks: Blocks, query: NDArray[np.float64]) -> Int:
    """Return the number of the farthest point; of several the lowest; -1 if there is none."""
    bounds, found = blocks.bounds, blocks.found
    _bound_above(blocks, query)
    apart = _length(blocks, distance(query, blocks.origin, blocks.capped))
    first = 0
    for b in range(bounds.shape[0]):
        around = (apart + blocks.reach[b]) * SLACK
        if not blocks.capped:
            around = around * around * SLACK
        bounds[b] = min(bounds[b], around)
        if bounds[b] > bounds[first]:
            first = b
    best, row = -1.0, np.int64(-1)
    # The block with the greatest bound first: its points exclude most other blocks.
    for turn in range(-1, bounds.shape[0]):
        b = first if turn < 0 else turn
        if bounds[b] < best or turn == first:
            continue
        _measure(blocks, b, query)
        hits = 0
        for lane in range(LANES):
            hits += 1 if found[lane] >= best else 0
        if not hits:
            continue
        for lane in range(LANES):
            if found[lane] > best or (found[lane] == best and blocks.rows[b, lane] < row):
                best, row = found[lane], blocks.rows[b, lane]
    return row


@njit_unchecked
def nearest(
    blocks: Blocks, query: NDArray[np.float64], near: NDArray[np.float64], rows: NDArray[np.int64]
) -> None:
    """Write the nearest points, nearest first; of equally near ones the lowest number first.

    Parameters
    ----------
    blocks
        At least as many points as are asked for.
    query
        Where to look from, (columns,).
    near, rows
        Written: the distances and the numbers, (points that are asked for,).
    """
    bounds, found = blocks.bounds, blocks.found
    _bound_below(blocks, query)
    near[:], rows[:] = np.inf, np.iinfo(np.int64).max
    last, first = near.shape[0] - 1, 0
    for b in range(bounds.shape[0]):
        if bounds[b] < bounds[first]:
            first = b
    for turn in range(-1, bounds.shape[0]):
        b = first if turn < 0 else turn
        worst = near[last]
        if bounds[b] > worst or turn == first:
            continue
        _measure(blocks, b, query)
        hits = 0
        for lane in range(LANES):
            hits += 1 if found[lane] <= worst else 0
        if not hits:
            continue
        for lane in range(LANES):
            gap, row, place = found[lane], blocks.rows[b, lane], last
            if not _before(gap, row, near[last], rows[last]):
                continue
            while place > 0 and _before(gap, row, near[place - 1], rows[place - 1]):
                near[place], rows[place] = near[place - 1], rows[place - 1]
                place -= 1
            near[place], rows[place] = gap, row


@njit_unchecked
def _before(gap: float, row: Int, other_gap: float, other: Int) -> bool:
    return bool(gap < other_gap or (gap == other_gap and row < other))


@njit_unchecked
def _length(blocks: Blocks, apart: float) -> float:
    """Return the distance as one that keeps the triangle inequality."""
    return apart if blocks.capped else float(np.sqrt(apart))


@njit_unchecked
def _measure(blocks: Blocks, block: Int, query: NDArray[np.float64]) -> None:
    """Write the distances of a block's points."""
    found = blocks.found
    found[:] = 0.0
    for j in range(query.shape[0]):
        q = query[j]
        if blocks.capped:
            for lane in range(LANES):
                gap = abs(blocks.values[block, j, lane] - q)
                found[lane] += min(gap, 1.0)
        else:
            for lane in range(LANES):
                gap = blocks.values[block, j, lane] - q
                found[lane] += gap * gap


@njit_unchecked
def _bound_below(blocks: Blocks, query: NDArray[np.float64]) -> None:
    """Write for each block a distance that none of its points is below."""
    bounds = blocks.bounds
    bounds[:] = 0.0
    for j in range(query.shape[0]):
        q = query[j]
        for b in range(bounds.shape[0]):
            below, above = blocks.low[j, b] - q, q - blocks.high[j, b]
            gap = max(above, below)
            gap = max(gap, 0.0)
            if blocks.capped:
                bounds[b] += min(gap, 1.0)
            else:
                bounds[b] += gap * gap


@njit_unchecked
def _bound_above(blocks: Blocks, query: NDArray[np.float64]) -> None:
    """Write for each block a distance that none of its points is above."""
    bounds = blocks.bounds
    bounds[:] = 0.0
    for j in range(query.shape[0]):
        q = query[j]
        for b in range(bounds.shape[0]):
            below, above = q - blocks.low[j, b], blocks.high[j, b] - q
            gap = max(above, below)
            if blocks.capped:
                bounds[b] += min(gap, 1.0)
            else:
                bounds[b] += gap * gap
