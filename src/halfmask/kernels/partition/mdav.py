"""Groups of k to 2k - 1 points that lie together: MDAV.

J. Domingo-Ferrer, J. M. Mateo-Sanz, "Practical data-oriented microaggregation for statistical
disclosure control", IEEE TKDE 14 (2002), in the form of J. Domingo-Ferrer, V. Torra, "Ordinal,
continuous and heterogeneous k-anonymity through microaggregation", Data Mining and Knowledge
Discovery 11 (2005), algorithm MDAV-generic. The groups are those of the paper, found without
looking at all points each time.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from halfmask._errors import ParameterError
from halfmask.kernels.compiling import njit, njit_unchecked
from halfmask.kernels.partition.blocks import (
    LANES,
    Blocks,
    empty_blocks,
    farthest,
    fill,
    nearest,
    remove,
)
from halfmask.kernels.partition.halving import halve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.kernels.partition.criteria import Int

__all__ = [
    "MEAN",
    "MEDIAN",
    "MISSING",
    "MODE",
    "PointColumns",
    "mdav_groups",
    "middles",
    "nearest_points",
]

#: How a column is averaged.
MEAN, MEDIAN, MODE = range(3)
#: Where a missing cell of a number or an ordinal stands: 1 or more from all values in [0, 1].
MISSING: Final = 2.0
#: The blocks are filled again when this share of their points is left.
REFILL_SHARE = 0.6
#: With fewer points it isn't worth it.
REFILL_POINTS = 64 * LANES


class PointColumns(NamedTuple):
    """How the columns of points are compared and averaged.

    Attributes
    ----------
    capped
        Whether a column counts in a distance with its gap, at most 1 (Gower); otherwise with its
        gap squared.
    averages
        ``MEAN``, ``MEDIAN`` or ``MODE`` of each column, (columns,).
    codes
        The code of each point's value where the column has a median or mode, (points, columns).
    levels
        The value of each code, one column after the other; none for means.
    offsets
        Where each column starts in ``levels``, (columns + 1,).
    """

    capped: bool
    averages: NDArray[np.int64]
    codes: NDArray[np.int32]
    levels: NDArray[np.float64]
    offsets: NDArray[np.int64]

    @classmethod
    def means(cls, n_columns: int) -> PointColumns:
        """Return columns of numbers, compared by squared differences."""
        return cls(
            capped=False,
            averages=np.full(n_columns, MEAN, dtype=np.int64),
            codes=np.zeros((0, n_columns), dtype=np.int32),
            levels=np.zeros(0),
            offsets=np.zeros(n_columns + 1, dtype=np.int64),
        )

    def of(self, rows: NDArray[np.int64]) -> PointColumns:
        """Return the columns of some of the points."""
        return self._replace(codes=self.codes[rows]) if len(self.codes) else self


class _Rest(NamedTuple):
    """What is known of the points without a group.

    Attributes
    ----------
    high, low
        The sum of each column in two parts, so that none of it is rounded away.
    present
        How many cells of each column aren't missing.
    counts
        How many points have each code.
    """

    high: NDArray[np.float64]
    low: NDArray[np.float64]
    present: NDArray[np.int64]
    counts: NDArray[np.int64]


def mdav_groups(
    points: NDArray[np.float64], columns: PointColumns, *, k: int, block_rows: int
) -> NDArray[np.int64]:
    """Return the group of each point: groups of k to 2k - 1 points that are near each other.

    Parameters
    ----------
    points
        (points, columns), at least k, all finite.
    columns
        How they are compared and averaged.
    k
        The least points of a group, at least 2.
    block_rows
        More points than this are halved first, at the median of the column that differs most, and
        again until no part has more. Each part is grouped by itself.

    Returns
    -------
    Numbers from 0, without gaps.

    Notes
    -----
    **Guarantees.** With at most ``block_rows`` points the groups are those of MDAV. Of equally far
    or near points the one that comes first is taken. The sums of centroids are exact to twice the
    digits of a float64, whatever was added and taken away before.

    Raises
    ------
    ParameterError
        If k is below 2, there are fewer points, or one isn't finite.
    """
    if k < 2 or len(points) < k or not np.isfinite(points).all():
        raise ParameterError(
            f"MDAV makes groups of at least k finite points, k at least 2. Got k={k} and "
            f"{len(points)} points."
        )
    n = len(points)
    order, most = np.arange(n), max(block_rows, 4 * k)
    if n <= most:
        return _grouped(points, columns, k)
    starts = halve(points, order, most, 1, columns.capped)
    group, n_groups = np.empty(n, dtype=np.int64), 0
    for first, stop in itertools.pairwise(starts):
        part = np.sort(order[first:stop])  # ties are decided by the order of the table
        group[part] = _grouped(points[part], columns.of(part), k) + n_groups
        n_groups = int(group[part].max()) + 1
    return group


def _grouped(points: NDArray[np.float64], columns: PointColumns, k: int) -> NDArray[np.int64]:
    n, n_columns = points.shape
    group, rows = np.full(n, -1, dtype=np.int64), np.arange(n)
    n_groups: Int = 0
    rest = _nothing(points, columns)
    _put_all(rest, columns, points)
    while len(rows) >= 2 * k:
        origin = np.empty(n_columns)
        _middle(rest, columns, len(rows), origin)
        blocks = empty_blocks(n, len(rows), origin, capped=columns.capped)
        halve(points, rows, LANES, LANES, columns.capped)
        fill(blocks, points, rows)
        stop = int(len(rows) * REFILL_SHARE) if len(rows) > REFILL_POINTS else 0
        n_groups = take_groups(blocks, points, columns, rest, len(rows), stop, k, group, n_groups)
        rows = np.flatnonzero(group < 0)
    group[rows] = n_groups
    return group


def nearest_points(
    points: NDArray[np.float64], queries: NDArray[np.float64], *, capped: bool
) -> NDArray[np.int64]:
    """Return for each query the number of the nearest point; of several the lowest.

    Parameters
    ----------
    points, queries
        (points, columns) and (queries, columns).
    capped
        As of `PointColumns`.
    """
    order = np.arange(len(points))
    halve(points, order, LANES, LANES, capped)
    blocks = empty_blocks(len(points), len(points), points.mean(axis=0), capped=capped)
    fill(blocks, points, order)
    found = np.empty(len(queries), dtype=np.int64)
    _nearest_each(blocks, queries, found)
    return found


@njit()
def _nearest_each(blocks: Blocks, queries: NDArray[np.float64], found: NDArray[np.int64]) -> None:
    near, rows = np.empty(1), np.empty(1, dtype=np.int64)
    for i in range(queries.shape[0]):
        nearest(blocks, queries[i], near, rows)
        found[i] = rows[0]


def middles(
    points: NDArray[np.float64], columns: PointColumns, group: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the mean, median or mode of each group's points, (groups, columns).

    Parameters
    ----------
    points, columns
        As of `mdav_groups`.
    group
        The group of each point, from 0 without gaps.
    """
    sizes = np.bincount(group)
    found = np.empty((len(sizes), points.shape[1]))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    rest = _nothing(points, columns)
    _middle_each(rest, columns, points, np.argsort(group, kind="stable"), starts, found)
    return found


@njit()
def _middle_each(
    rest: _Rest,
    columns: PointColumns,
    points: NDArray[np.float64],
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    found: NDArray[np.float64],
) -> None:
    for g in range(found.shape[0]):
        rest.high[:], rest.low[:] = 0.0, 0.0
        for i in range(starts[g], starts[g + 1]):
            _put(rest, columns, points, rows[i], 1)
        _middle(rest, columns, starts[g + 1] - starts[g], found[g])
        for i in range(starts[g], starts[g + 1]):
            _put(rest, columns, points, rows[i], -1)


def _nothing(points: NDArray[np.float64], columns: PointColumns) -> _Rest:
    n_columns = points.shape[1]
    return _Rest(
        np.zeros(n_columns),
        np.zeros(n_columns),
        np.zeros(n_columns, dtype=np.int64),
        np.zeros(len(columns.levels), dtype=np.int64),
    )


@njit()
def take_groups(
    blocks: Blocks,
    points: NDArray[np.float64],
    columns: PointColumns,
    rest: _Rest,
    n_rest: Int,
    stop: Int,
    k: Int,
    group: NDArray[np.int64],
    n_groups: Int,
) -> Int:
    """Take groups from the points, two at a time, until there are too few or as few as asked.

    Parameters
    ----------
    blocks, rest
        The points without a group; those that get one are removed.
    points, columns
        All points.
    n_rest
        How many are without a group, at least 2k.
    stop
        How few may be left before this ends.
    k
        The points of a group.
    group
        Written for the points of new groups.
    n_groups
        The number of the first new group.

    Returns
    -------
    How many groups there are now.
    """
    middle = np.empty(points.shape[1])
    near, rows = np.empty(k - 1), np.empty(k - 1, dtype=np.int64)
    while n_rest >= 2 * k and n_rest > stop:
        _middle(rest, columns, n_rest, middle)
        row = farthest(blocks, middle)
        # With fewer than 3k points the rest around the other end is the last group.
        for turn in range(2 if n_rest >= 3 * k else 1):
            if turn == 1:
                row = farthest(blocks, points[row])
            remove(blocks, row)
            nearest(blocks, points[row], near, rows)
            _put(rest, columns, points, row, -1)
            group[row] = n_groups
            for other in rows:
                remove(blocks, other)
                _put(rest, columns, points, other, -1)
                group[other] = n_groups
            n_groups += 1
            n_rest -= k
    return n_groups


@njit_unchecked
def _put_all(rest: _Rest, columns: PointColumns, points: NDArray[np.float64]) -> None:
    for row in range(points.shape[0]):
        _put(rest, columns, points, row, 1)


@njit_unchecked
def _put(
    rest: _Rest, columns: PointColumns, points: NDArray[np.float64], row: Int, sign: Int
) -> None:
    """Count a point in, or out."""
    for j in range(points.shape[1]):
        if columns.averages[j] != MEAN:
            rest.counts[columns.offsets[j] + columns.codes[row, j]] += sign
            continue
        if columns.capped and points[row, j] == MISSING:
            continue
        rest.present[j] += sign
        # What rounding takes from a sum is the second part (Knuth's TwoSum).
        value = sign * points[row, j]
        total = rest.high[j] + value
        back = total - rest.high[j]
        rest.low[j] += (rest.high[j] - (total - back)) + (value - back)
        rest.high[j] = total


@njit_unchecked
def _middle(rest: _Rest, columns: PointColumns, n_rest: Int, middle: NDArray[np.float64]) -> None:
    """Write the mean, median or mode of each column; of codes as frequent the lowest."""
    for j in range(middle.shape[0]):
        first, stop = columns.offsets[j], columns.offsets[j + 1]
        if columns.averages[j] == MEAN:
            n = rest.present[j]
            middle[j] = (rest.high[j] + rest.low[j]) / n if n else MISSING
            continue
        best = first
        if columns.averages[j] == MODE:
            for code in range(first, stop):
                if rest.counts[code] > rest.counts[best]:
                    best = code
        else:
            n, reached = n_rest, np.int64(0)
            if columns.levels[stop - 1] == MISSING:
                n -= rest.counts[stop - 1]
            best = stop - 1
            for code in range(first, stop):
                reached += rest.counts[code]
                if 2 * reached >= n > 0:
                    best = code
                    break
        middle[j] = columns.levels[best]
