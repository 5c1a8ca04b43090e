"""Normalized updates: what is learnt doesn't depend on the units that values are in.

Each slot has a scale, the largest magnitude it has had so far. Where a row raises it, the slot's
weight shrinks so that its predictions of earlier rows stay, and rates count in units of the scale.

Ross, Mineiro and Langford, "Normalized online learning" (UAI 2013).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.kernels.compiling import njit_unchecked

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["norm_of", "raise_scales"]


@njit_unchecked
def raise_scales(
    row: NDArray[np.uint32],
    value: NDArray[np.float32],
    scales: NDArray[np.float32],
    heads: NDArray[np.float32],
    squared: bool,  # noqa: FBT001 # by place: numba knows no keywords
) -> None:
    """Raise the scales of a row's slots to its values, and shrink their weights.

    Parameters
    ----------
    row, value
        The slots of the row and their values.
    scales
        (slots,), changed.
    heads
        (slots + 1, lanes * classes): the weights are the first ``classes``, changed.
    squared
        Whether weights shrink by the square of the ratio, as without AdaGrad (algorithm 2).
    """
    for k in range(len(row)):
        slot, size = row[k], abs(value[k])
        if size > scales[slot]:
            shrink = scales[slot] / size
            if squared:
                shrink *= shrink
            for c in range(heads.shape[1]):
                heads[slot, c] *= shrink
            scales[slot] = size


@njit_unchecked
def norm_of(
    row: NDArray[np.uint32], value: NDArray[np.float32], scales: NDArray[np.float32]
) -> float:
    """Return the squared norm of a row in units of the scales."""
    norm = 0.0
    for k in range(len(row)):
        if value[k] != 0.0:
            ratio = float(value[k]) / scales[row[k]]
            norm += ratio * ratio
    return norm
