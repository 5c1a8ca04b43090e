"""Concatenated ragged ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_MAX_AT_ONCE = 4_000_000


def laid_out(
    starts: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which range each number is of, and the numbers of all ranges, one after the other.

    Examples
    --------
    >>> laid_out(np.array([5, 0, 9]), np.array([2, 0, 1]))
    (array([0, 0, 2]), array([5, 6, 9]))
    """
    which = np.repeat(np.arange(len(counts)), counts)
    inner = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    return which, starts[which] + inner


def blocks_of(counts: NDArray[np.int64]) -> Iterator[slice]:
    """Cut ranges into blocks of a few million numbers in all; a longer range is alone."""
    start, total = 0, 0
    for place, count in enumerate(counts.tolist()):
        if total and total + count > _MAX_AT_ONCE:
            yield slice(start, place)
            start, total = place, 0
        total += count
    if start < len(counts):
        yield slice(start, len(counts))
