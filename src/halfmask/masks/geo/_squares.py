"""Squares of a grid over a plane or the earth, and the middle of each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from halfmask.geo import Points

#: From pole to pole over the ground, in metres.
POLE_TO_POLE: Final = 20_003_931.0


def middles(points: Points, width: float) -> Points:
    """Return the middle of the square of each point; `width` is in metres.

    In a plane, sides are multiples of the width. On the earth, squares lie in rows between
    parallels. Each row has as many as are about as wide as high, and none is much smaller.
    """
    if not points.on_earth:
        x, y = (np.floor(points.in_space() / width) + 0.5).T * width
        return replace(points, x=0 * x, y=0 * y).moved(x, y)
    rows = max(1, int(POLE_TO_POLE / width))
    row = np.clip(np.floor((points.y + 90) / 180 * rows), 0, rows - 1)
    lat = (row + 0.5) / rows * 180 - 90
    columns = np.maximum(1, np.floor(2 * rows * np.cos(np.radians(lat))))
    column = np.floor((points.x + 180) / 360 * columns) % columns
    return replace(points, x=(column + 0.5) / columns * 360 - 180, y=lat)
