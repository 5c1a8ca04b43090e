"""Buffers: memory that block after block uses again, and run after run.

The system makes the pages of fresh memory one by one when they are first touched; for blocks of
some megabytes that took as long as the work on them.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Kind = TypeVar("_Kind", bound=np.generic)
#: What is smaller costs no new pages; what is larger isn't held on to.
_LEAST, _MOST = 1 << 16, 1 << 26
#: How many bytes are held on to that nobody uses.
_MOST_IDLE = 1 << 27


class Buffers:
    """Memory that was given back, by its size. Threads may share it.

    It needs no lock, which a process that forks could inherit closed: a list gives each of its
    elements once.
    """

    def __init__(self) -> None:
        self._free: dict[int, list[NDArray[np.uint8]]] = {}

    def take(self, size: int) -> NDArray[np.uint8]:
        """Return so many bytes; what is in them is left over from something else."""
        with suppress(KeyError, IndexError):
            return self._free[size].pop()
        return np.empty(size, np.uint8)

    def give(self, array: NDArray[np.uint8]) -> None:
        """Take bytes back that `take` returned; nobody may look at them any more."""
        if len(array) > _MOST:
            return
        if self.idle + len(array) > _MOST_IDLE:
            self._free.clear()  # of sizes that nobody asks for any more, it may be
        self._free.setdefault(len(array), []).append(array)

    @property
    def idle(self) -> int:
        """How many bytes are held on to that nobody uses."""
        return sum(size * len(free) for size, free in list(self._free.items()))

    def lease(self) -> ArrayLease:
        """Return what arrays are taken by that are given back together."""
        return ArrayLease(self)


#: Those of all runs: what one has used, the next one uses again.
BUFFERS = Buffers()


class ArrayLease:
    """Arrays that are used together, and given back when all is done with them.

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
        taken = self._buffers.take(1 << max(size - 1, 0).bit_length())
        self._taken.append(taken)
        return taken[:size].view(kind)

    def another(self) -> ArrayLease:
        """Return one that takes from the same buffers, and is released by itself."""
        return ArrayLease(self._buffers)

    def release(self) -> None:
        """Give all arrays back. No view of them may be looked at after that."""
        taken, self._taken = self._taken, []
        for array in taken:
            if self._buffers is not None:
                self._buffers.give(array)
