"""Buffers: memory that block after block uses again.

The system makes the pages of fresh memory one by one when they are first touched; for blocks of
some megabytes that took as long as the work on them.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Buffers", "Lease"]

_Kind = TypeVar("_Kind", bound=np.generic)
#: What is smaller costs no new pages; what is larger isn't held on to.
_LEAST, _MOST = 1 << 16, 1 << 26
#: How many of a size are held on to.
_MOST_OF_A_SIZE = 64


class Buffers:
    """Memory that was given back, by its size: powers of two. Threads may share it."""

    def __init__(self) -> None:
        self._free: dict[int, list[NDArray[np.uint8]]] = {}
        self._lock = threading.Lock()

    def take(self, size: int) -> NDArray[np.uint8]:
        """Return at least so many bytes; what is in them is left over from something else."""
        size = 1 << max(size - 1, 0).bit_length()
        with self._lock:
            free = self._free.get(size)
            if free:
                return free.pop()
        return np.empty(size, np.uint8)

    def give(self, array: NDArray[np.uint8]) -> None:
        """Take bytes back that `take` returned; nobody may look at them any more."""
        if len(array) > _MOST:
            return
        with self._lock:
            free = self._free.setdefault(len(array), [])
            if len(free) < _MOST_OF_A_SIZE:
                free.append(array)

    def lease(self) -> Lease:
        """Return what arrays are taken by that are given back together."""
        return Lease(self)


class Lease:
    """Arrays that are used together, and given back when all is done with them.

    Parameters
    ----------
    buffers
        Where they come from; None makes new ones, which are never given back.

    Examples
    --------
    >>> import numpy as np
    >>> lease = Buffers().lease()
    >>> lease.array(3, np.int64).dtype
    dtype('int64')
    >>> lease.release()
    """

    __slots__ = ("_buffers", "_taken")

    def __init__(self, buffers: Buffers | None = None) -> None:
        self._buffers = buffers
        self._taken: list[NDArray[np.uint8]] = []

    def array(self, count: int, kind: type[_Kind]) -> NDArray[_Kind]:
        """Return an array of one dimension; what is in it is left over from something else."""
        size = count * np.dtype(kind).itemsize
        if self._buffers is None or size < _LEAST:
            return np.empty(count, kind)
        taken = self._buffers.take(size)
        self._taken.append(taken)
        return taken[:size].view(kind)

    def another(self) -> Lease:
        """Return one that takes from the same buffers, and is released by itself."""
        return Lease(self._buffers)

    def release(self) -> None:
        """Give all arrays back. No view of them may be looked at after that."""
        taken, self._taken = self._taken, []
        for array in taken:
            if self._buffers is not None:
                self._buffers.give(array)
