"""Places in a plane of metres, in which patterns are measured and maps are fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from halfmask._errors import DataError
from halfmask.geo.points import arc_of

if TYPE_CHECKING:
    from halfmask.assess._arrays import Floats, Ints
    from halfmask.geo import Points

#: The square of the polar radius over that of the equator (WGS84).
_FLATTER: Final = 0.99330562


def paired(original: Points, masked: Points) -> tuple[Points, Points]:
    """Return the points that are there before and after masking."""
    if len(original) != len(masked):
        raise DataError(
            f"There are {len(original):,} points before and {len(masked):,} after masking."
        )
    there = original.present & masked.present
    if not there.any():
        raise DataError("No row has a point before and after masking.")
    return original.take(there), masked.take(there)


def middle_of(space: Floats) -> Floats:
    """Return the one of some points that is nearest to their mean; of none the origin."""
    if not len(space):
        return np.zeros(space.shape[1])
    off = np.linalg.norm(space - space.mean(axis=0), axis=1)
    found: Floats = space[int(off.argmin())]
    return found


def plane_about(centre: Floats, space: Floats) -> Floats:
    """Return points as metres east and north of a centre, each at its true distance from it."""
    off = space - centre
    if space.shape[1] == 2:
        return off
    up = centre / (1.0, 1.0, _FLATTER)
    up /= max(1.0, float(np.linalg.norm(up)))
    east = np.cross((0.0, 0.0, 1.0), up)
    east = east / np.linalg.norm(east) if np.any(east) else np.array((0.0, 1.0, 0.0))
    flat = off @ np.column_stack((east, np.cross(up, east)))
    reach = np.hypot(flat[:, 0], flat[:, 1])
    stretch = np.ones_like(reach)
    np.divide(arc_of(np.linalg.norm(off, axis=1)), reach, out=stretch, where=reach > 0)
    return np.asarray(flat * stretch[:, None])


def cells_in(plane: Floats, width: float) -> Ints:
    """Return a number for the square cell of each point, alike in the same cell."""
    cell = np.floor(plane / width).astype(np.int64)
    return np.unique(cell, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
