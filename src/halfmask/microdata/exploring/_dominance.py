"""Which points are on the frontier: no other has less risk and less loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def undominated(risk: Sequence[float], lost: Sequence[float]) -> NDArray[np.bool_]:
    """Return which points no other dominates.

    A point dominates another if it is no worse in both, and better in one. Equal points don't
    dominate each other.

    Examples
    --------
    >>> undominated([0.5, 0.2, 0.2, 0.1], [0.1, 0.1, 0.3, 0.4]).tolist()
    [False, True, False, True]
    """
    across, down = np.asarray(risk, dtype=np.float64), np.asarray(lost, dtype=np.float64)
    best = np.zeros(len(across), dtype=np.bool_)
    least = np.inf
    for level in np.unique(across):
        same = np.flatnonzero(across == level)
        lowest = down[same].min()
        if lowest < least:
            best[same[down[same] == lowest]] = True
            least = lowest
    return best
