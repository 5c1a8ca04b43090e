"""Points before and after masking, and one in their middle."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import DataError

if TYPE_CHECKING:
    from halfmask.geo import Points


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


def middle_of(points: Points) -> Points:
    """Return the one of some points that is nearest to their mean; of none the origin."""
    if not len(points):
        return replace(points, x=np.zeros(1), y=np.zeros(1))
    space = points.in_space()
    return points.take(np.linalg.norm(space - space.mean(axis=0), axis=1).argmin(keepdims=True))
