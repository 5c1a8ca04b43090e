"""One thread for each product of matrices, whoever asks for it, and in however many threads."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["one_thread"]


class _Limit:
    """How many ask for it now; BLAS gets its threads back when the last one is done."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._limits: Any = None

    def enter(self) -> None:
        from threadpoolctl import threadpool_limits  # noqa: PLC0415 # only matrices need it

        with self._lock:
            if not self._users:
                self._limits = threadpool_limits(1, user_api="blas")
            self._users += 1

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._limits.restore_original_limits()


_LIMIT = _Limit()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS use one thread inside of the block.

    Threads of BLAS would wait for each other more than they work on matrices this narrow, and would
    round differently on machines with other numbers of processors.

    Guarantees
    ----------
    Blocks may overlap in any number of threads: the limit of the process is set by the first and
    undone by the last.
    """
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()
