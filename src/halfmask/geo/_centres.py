"""Areas that are known by their centres."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import Delaunay, QhullError, cKDTree

from halfmask._errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.geo.points import Points


class CentreIndex:
    """Finds areas by the nearest of their centres; of those at one place, the lowest number."""

    def __init__(self, centres: Points) -> None:
        self._places, self._first, self._which = np.unique(
            centres.in_space(), axis=0, return_index=True, return_inverse=True
        )
        self._tree = cKDTree(self._places)

    def locate(self, points: Points) -> NDArray[np.int64]:
        """Return the number of the nearest centre of each point; -1 for missing ones."""
        found = np.full(len(points), -1, dtype=np.int64)
        there = points.present
        found[there] = self._first[self._tree.query(points.take(there).in_space(), workers=-1)[1]]
        return found

    def square_kilometres(self) -> NDArray[np.float64]:
        """Raise: centres have no size."""
        raise DataError("This needs a map that has the polygons of its areas.")

    def neighbours(self) -> NDArray[np.int64]:
        """Return pairs of Delaunay's triangles; centres at one place touch, too."""
        flat = self._places
        if flat.shape[1] == 3:  # circles stay circles in the stereographic projection
            unit = flat / np.linalg.norm(flat, axis=1, keepdims=True)
            middle = unit.mean(axis=0)
            middle /= np.linalg.norm(middle) or 1.0
            sides = np.linalg.svd(middle[None])[2][1:]
            flat = (unit @ sides.T) / np.maximum(1 + unit @ middle, 1e-9)[:, None]
        try:
            corners = Delaunay(flat - flat.mean(axis=0)).simplices
            pairs = np.vstack((corners[:, :2], corners[:, 1:], corners[:, ::2]))
        except (QhullError, ValueError):  # too few, or all on a line: one after the other
            order = np.lexsort(flat.T)
            pairs = np.column_stack((order[:-1], order[1:]))
        same = np.column_stack((self._first[self._which], np.arange(len(self._which))))
        return each_pair_once(np.vstack((self._first[pairs], same)))


def each_pair_once(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return pairs of different numbers, each once and the lower first."""
    low_first = np.sort(pairs, axis=1)
    return np.unique(low_first[low_first[:, 0] < low_first[:, 1]], axis=0)
