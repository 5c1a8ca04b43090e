"""One thread for each matrix product, as long as anybody in the process needs it."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_lock = threading.Lock()
_users: list[None] = []
_limits: list[Any] = []


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS take one thread until the last of all blocks of this process has ended.

    Threads of BLAS would wait for each other more than they work on narrow matrices, and would
    round differently on machines with other numbers of processors. The limit is one of the whole
    process: each block with a limit of its own would end that of another thread.
    """
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 # only matrices need it

    with _lock:
        if not _users:
            _limits.append(threadpool_limits(1, user_api="blas"))
        _users.append(None)
    try:
        yield
    finally:
        with _lock:
            _users.pop()
            if not _users:
                _limits.pop().restore_original_limits()
