"""The finest cells of a table as an array with an axis for each dimension of its system.

An axis that the table lacks has length 1. A set of axes stands for the sums by these dimensions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.sparse import csr_array

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from halfmask.crosstabs._dimension import Dimension

Floats: TypeAlias = "NDArray[np.float64]"
Ints: TypeAlias = "NDArray[np.int64]"
Bools: TypeAlias = "NDArray[np.bool_]"
#: Positions of codes in their dimensions.
Codes: TypeAlias = "NDArray[np.int32]"
Axes: TypeAlias = frozenset[int]


def largest_sets(crossed: Iterable[Axes]) -> list[Axes]:
    """Return the sets of axes that lie in no other."""
    sets = dict.fromkeys(crossed)
    return [it for it in sets if not any(it < other for other in sets)]


def covers_of(dimensions: Sequence[Dimension], axes: Axes) -> list[csr_array]:
    """Return for each dimension which leaves each code covers; nothing where a table lacks it."""
    made = []
    for axis, each in enumerate(dimensions):
        place = {leaf: at for at, leaf in enumerate(each.leaves)}
        codes = each.codes if axis in axes else ()
        covered = [[place[leaf] for leaf in each.covers[code]] for code in codes] or [[0]]
        starts = np.cumsum([0, *map(len, covered)])
        columns = np.array([leaf for each in covered for leaf in each], dtype=np.int64)
        shape = len(covered), len(place) if axis in axes else 1
        made.append(csr_array((np.ones(len(columns)), columns, starts), shape=shape))
    return made


def along(matrices: Sequence[csr_array], counts: Floats) -> Floats:
    """Return an array times a matrix along each axis; an axis of length 1 stays as it is."""
    for axis, matrix in enumerate(matrices):
        first = np.moveaxis(counts, axis, 0)
        made = matrix @ first.reshape(len(first), -1)
        counts = np.moveaxis(made.reshape(-1, *first.shape[1:]), 0, axis)
    return counts


def inner_places(
    dimensions: Sequence[Dimension], codes: Codes, axes: Axes
) -> tuple[tuple[int, ...], Bools, tuple[Ints, ...]]:
    """Return the shape of a table's array, which cells are in it, and the places of these."""
    shape, places = [], []
    for axis, each in enumerate(dimensions):
        bottom = each.leaves if axis in axes else (each.total,)
        place = {code: at for at, code in enumerate(bottom)}
        shape.append(len(bottom))
        places.append(np.array([place.get(it, -1) for it in each.codes])[codes[:, axis]])
    inside = np.asarray((np.array(places) >= 0).all(axis=0))
    return tuple(shape), inside, tuple(each[inside] for each in places)
