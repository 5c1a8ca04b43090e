"""Weights of columns: how much the detail of each matters to the owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


def relative_weights(weights: Iterable[float]) -> NDArray[np.float64]:
    """Return weights scaled so that their mean is 1.

    Notes
    -----
    **Guarantees.** Equal weights are exactly 1 each, whatever they are.

    Examples
    --------
    >>> relative_weights([3, 1]), relative_weights([0.1, 0.1, 0.1])
    (array([1.5, 0.5]), array([1., 1., 1.]))
    """
    given = np.array(list(weights), dtype=np.float64)
    if (given == given[:1]).all():
        return np.ones_like(given)
    given /= given.max()  # so that no sum of large weights overflows
    relative: NDArray[np.float64] = given * (len(given) / given.sum())
    return relative
