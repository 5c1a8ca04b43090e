"""Areas merged with their neighbours until enough people live in each region."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


class Merging:
    """Regions of areas that grow, each within something such as its state; greedy.

    Pairs of areas touch each other; middles are a point of each area in space.
    """

    def __init__(
        self, start: Ints, *, within: Ints, people: Floats, pairs: Ints, middles: Floats
    ) -> None:
        self._region, self._within, self._middles = start.copy(), within, middles
        n = int(start.max()) + 1
        self._people = np.bincount(start, people, n).tolist()
        order = np.argsort(start, kind="stable")
        self._areas = np.split(order, np.searchsorted(start[order], np.arange(1, n)))
        self._near: list[set[int]] = [set() for _ in range(n)]
        inside = pairs[within[pairs[:, 0]] == within[pairs[:, 1]]]
        for one, other in start[inside].tolist():
            self._touch(one, other)

    def until(self, least: int) -> Ints:
        """Return the regions of the areas when each has at least so many people.

        The smallest region joins the smallest that it touches, or the nearest if it touches none.
        One that is alone within its state stays.
        """
        queue = [self._key(number) for number in range(len(self._areas))]
        heapq.heapify(queue)
        while queue:
            key = heapq.heappop(queue)
            number = key[-1]
            if not len(self._areas[number]) or key != self._key(number):
                continue  # it has grown since, or is part of another
            if key[0] >= least:
                break
            near = self._near[number] or self._nearest(number)
            if near:
                other = min(near, key=self._key)
                self._join(number, other)
                heapq.heappush(queue, self._key(other))
        return np.unique(self._region, return_inverse=True)[1]

    def _key(self, number: int) -> tuple[float, int, int]:
        areas = self._areas[number]
        return self._people[number], int(areas[0]) if len(areas) else -1, number

    def _touch(self, one: int, other: int) -> None:
        if one != other:
            self._near[one].add(other)
            self._near[other].add(one)

    def _nearest(self, number: int) -> set[int]:
        """Return the region nearest to one that touches none, by a point of each area."""
        own = self._areas[number]
        others = np.flatnonzero((self._within == self._within[own[0]]) & (self._region != number))
        if not len(others):
            return set()
        far = [np.linalg.norm(self._middles[others] - it, axis=1) for it in self._middles[own]]
        return {int(self._region[others[np.min(far, axis=0).argmin()]])}

    def _join(self, number: int, other: int) -> None:
        self._region[self._areas[number]] = other
        self._areas[other] = np.sort(np.append(self._areas[other], self._areas[number]))
        self._areas[number] = self._areas[number][:0]
        self._people[other] += self._people[number]
        for near in self._near[number]:
            self._near[near].discard(number)
            self._touch(near, other)
        self._near[number] = set()
