"""Rows whose norm is bounded, whatever they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Against rounding of norms: rows end strictly within their bound.
_INSIDE = 1 - 1e-9


def within_norm(rows: NDArray[np.float64], norm: float) -> NDArray[np.float64]:
    """Return rows, those whose L2 norm is above a bound scaled down to it."""
    largest = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
    largest[largest == 0] = 1.0
    lengths = largest * np.linalg.norm(rows / largest, axis=1, keepdims=True)
    lengths[lengths == 0] = 1.0
    shorter: NDArray[np.float64] = rows * np.minimum(1.0, norm * _INSIDE / lengths)
    return shorter


def with_constant(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows with a column of ones in front, for the intercept."""
    return np.column_stack([np.ones(len(rows)), rows])


def scaled(
    rows: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return rows clipped to bounds a column, which become -1 and 1."""
    clipped = np.clip(rows, low, high)
    within: NDArray[np.float64] = np.clip((clipped - low) / (high - low) * 2 - 1, -1.0, 1.0)
    return within
