"""How many people live near points, by addresses or by areas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from halfmask._errors import DataError
from halfmask._foreign import need
from halfmask.engines import map_in_order
from halfmask.geo.points import arc_of, straight_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.geo.maps import PointMap
    from halfmask.geo.points import Points

_LEAF: Final = 8  # addresses, about
_BLOCK: Final = 1 << 15  # points that are asked about at once
_CLOSE: Final = 1 + 1e-12  # distances that differ by rounding only are equal


class Neighbours:
    """The addresses near points, and the people there.

    Parameters
    ----------
    addresses
        Points and the number of people at each.

    Raises
    ------
    DataError
        If nobody lives at any address; later, if points have another unit or system.

    Notes
    -----
    Distances are ways on the ground, in metres. Missing points have the result NaN.

    Examples
    --------
    >>> from halfmask.geo import PointMap, Points
    >>> def at(*x: float) -> Points:
    ...     return Points(x=np.array(x), y=np.zeros(len(x)), unit="metres")
    >>> near = Neighbours(PointMap(points=at(0, 1, 2, 3, 4, 5, 7), people=np.ones(7)))
    >>> near.actual_k(homes=at(0, 0, 0), masked=at(1, 2, 3)).tolist()
    [3.0, 5.0, 6.0]
    """

    def __init__(self, addresses: PointMap) -> None:
        need("numba")
        from halfmask.kernels.geo.tree import grow  # noqa: PLC0415 # numba takes a second

        self.points = addresses.points
        self._numbers = np.flatnonzero(self.points.present & (addresses.people > 0))
        if not len(self._numbers):
            raise DataError("The map of addresses has no people.")
        self._space = _in_three(self.points.take(self._numbers))
        self._people = addresses.people[self._numbers].astype(float)
        n_leaves = 1 << (len(self._numbers) // _LEAF).bit_length()
        self._boxes, self._sums = np.empty((2 * n_leaves, 6)), np.zeros(2 * n_leaves)
        grow(self._space, self._people, self._numbers, self._boxes, self._sums)

    def __repr__(self) -> str:
        return f"<Neighbours among {len(self._numbers)} addresses>"

    def radius_to(self, points: Points, k: float) -> NDArray[np.float64]:
        """Return the distance within which `k` people live, for each point.

        Parameters
        ----------
        points
            From where. People at the point itself count.
        k
            Above 0.

        Raises
        ------
        DataError
            If the map has fewer people.
        """
        from halfmask.kernels.geo.tree import distances_to  # noqa: PLC0415 # as above

        if self._sums[1] < k:
            raise DataError(
                f"The map of addresses has {self._sums[1]:,.6g} people, and k is {k:g}.",
                hint="Take a smaller k, or a map of all addresses.",
            )
        there, asked = self._asked(points)
        found = np.full(len(points), np.nan)
        tree = (self._space, self._people, self._boxes, self._sums)
        parts = map_in_order(_blocks(asked), lambda it: distances_to(it, float(k), *tree))
        squares = np.concatenate([np.empty(0), *parts])
        found[there] = np.sqrt(squares) if not points.on_earth else arc_of(np.sqrt(squares))
        return found

    def count_within(
        self, points: Points, metres: NDArray[np.float64] | float
    ) -> NDArray[np.float64]:
        """Return how many people live within a distance of each point.

        Parameters
        ----------
        points
            From where.
        metres
            One distance, or one for each point. People at exactly this distance count.
        """
        return self.between(points, -1.0, metres)[0]

    def actual_k(self, homes: Points, masked: Points) -> NDArray[np.float64]:
        """Return how many people live at most as far from masked points as their homes are.

        Parameters
        ----------
        homes, masked
            The points before and after. A home counts if the map has it.
        """
        return self.count_within(masked, masked.metres_to(homes))

    def between(
        self,
        points: Points,
        above: NDArray[np.float64] | float,
        metres: NDArray[np.float64] | float,
        drawn: NDArray[np.float64] | float = np.inf,
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return how many people live between two distances, and the address of one of them.

        Parameters
        ----------
        points
            From where.
        above, metres
            The distances: further than the first, at most the second.
        drawn
            Numbers from 0 to below 1, which choose the person: the chances of all are the same.

        Returns
        -------
        tuple
            The people, and the number of the address, -1 where nobody is chosen.
        """
        from halfmask.kernels.geo.tree import sums_between  # noqa: PLC0415 # as above

        there, asked = self._asked(points)
        low, high, share = (
            np.broadcast_to(np.asarray(it, dtype=float), len(points))[there]
            for it in (above, metres, drawn)
        )
        if points.on_earth:
            low, high = straight_of(low), straight_of(high)
        limits = (np.where(low < 0, -1.0, (low * _CLOSE) ** 2), (high * _CLOSE) ** 2)
        tree = (self._space, self._people, self._boxes, self._sums)

        def passed(wanted: NDArray[np.float64]) -> list[NDArray[np.generic]]:
            parts = map_in_order(
                zip(*(_blocks(it) for it in (asked, *limits, wanted)), strict=True),
                lambda part: sums_between(*part, *tree),
            )
            return [np.concatenate(it) for it in zip(*parts, strict=True)]

        totals, numbers = np.full(len(points), np.nan), np.full(len(points), -1)
        if len(there):
            totals[there] = passed(np.full(len(there), np.inf))[0]
            if np.isfinite(share).all():
                places = passed(share * totals[there])[1].astype(np.int64)
                numbers[there] = np.where(places < 0, -1, self._numbers[places])
        return totals, numbers

    def _asked(self, points: Points) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return which points aren't missing, in an order in which near ones follow each other."""
        mine = self.points
        if mine.on_earth != points.on_earth or (mine.crs and points.crs and mine.crs != points.crs):
            raise DataError("Points and the map of addresses have different units or systems.")
        there = np.flatnonzero(points.present)
        space = _in_three(points.take(there))
        near = np.argsort(_shuffled(space), kind="stable")
        return there[near], space[near]


def _in_three(points: Points) -> NDArray[np.float64]:
    """Return points in space; those of a plane have the height 0."""
    space = points.in_space()
    return np.column_stack((space, np.zeros((len(space), 3 - space.shape[1]))))


def _blocks(values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    return [values[i : i + _BLOCK] for i in range(0, len(values), _BLOCK)]


def _shuffled(space: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return numbers, 10 bits of each coordinate by turns, by which near points are near."""
    low, high = space.min(axis=0, initial=np.inf), space.max(axis=0, initial=-np.inf)
    cells = ((space - low) / np.maximum(high - low, 1e-9) * 1023).astype(np.int64)
    found = np.zeros(len(space), np.int64)
    for bit in range(10):
        for axis in range(3):
            found |= (cells[:, axis] >> bit & 1) << (3 * bit + axis)
    return found
