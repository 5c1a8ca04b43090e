"""Foreseen: how many events of each window are still to come, of an input that has an end."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import DataError
from halfmask.events.block._block import scan_block
from halfmask.events.block._path_tree import PathTree
from halfmask.events.block._paths import Path
from halfmask.events.block._zones import EARLIEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from halfmask.events.block._block import Block
    from halfmask.events.block._limits import Limits
    from halfmask.events.streams import Chunk


class Foreseen:
    """Counts events down by window, so that each window closes with its last event.

    Notes
    -----
    **Guarantees.** Windows close in their order, and what is in them is what it would be if the
    events were sorted by time first. Memory is taken by as many events as are out of order.

    **Edge cases.** A window that gets fewer events than were counted closes at the end of the
    input, as do those behind it. One that gets more closes again, as a part of its own.
    """

    def __init__(self, left: Iterable[tuple[int, int]]) -> None:
        self._left = dict(left)

    @classmethod
    def of(
        cls,
        chunks: Iterable[Chunk],
        path: str,
        windows: Callable[[Block], NDArray[np.int64]],
        *,
        limits: Limits | None,
    ) -> Foreseen:
        """Return the counts of an input."""
        left: Counter[int] = Counter()
        tree = PathTree([Path.parse(path)])
        try:
            for chunk in chunks:
                if not chunk.oversized:
                    found, counts = np.unique(
                        windows(scan_block(chunk.view, tree, limits)), return_counts=True
                    )
                    left.update(dict(zip(found.tolist(), counts.tolist(), strict=True)))
                chunk.release()
        except DataError:
            left[EARLIEST - 1] = 1  # nothing is of that window: it never closes
        return cls(sorted(left.items()))

    def over(self, windows: NDArray[np.int64], events: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Count the next events; return windows that are whole, and with which event they are."""
        found, first, counts = np.unique(windows[::-1], return_index=True, return_counts=True)
        last = dict(zip(found.tolist(), events[::-1][first].tolist(), strict=True))
        for window, count in zip(found.tolist(), counts.tolist(), strict=True):
            self._left[window] = self._left.get(window, 0) - count
        whole: list[tuple[int, int]] = []
        at = 0
        for window, count in self._left.items():
            if count > 0:
                break
            at = max(at, last.get(window, 0))
            whole.append((window, at))
        for window, _ in whole:
            del self._left[window]
        return whole

    def state(self) -> list[tuple[int, int]]:
        """Return what is left, as JSON can hold it."""
        return list(self._left.items())
