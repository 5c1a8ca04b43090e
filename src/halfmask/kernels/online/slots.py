"""Read and write back the slots that rows name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.kernels.compiling import njit_unchecked
from halfmask.kernels.online.lookahead import fetch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["gather", "scatter"]


@njit_unchecked
def gather(
    model: NDArray[np.float32], indices: NDArray[np.uint32], out: NDArray[np.float32]
) -> None:
    """Write each index's slot of (slots, width) numbers to (indices, width)."""
    for k in range(len(indices)):
        fetch(model, model.shape[1], indices, k, k + 1)
        for c in range(model.shape[1]):
            out[k, c] = model[indices[k], c]


@njit_unchecked
def scatter(
    model: NDArray[np.float32], indices: NDArray[np.uint32], kept: NDArray[np.float32]
) -> None:
    """Write back what `gather` read; an index that is there twice was read the same twice."""
    for k in range(len(indices)):
        for c in range(model.shape[1]):
            model[indices[k], c] = kept[k, c]
