"""Map a function over batches in threads, in order and with few batches in memory."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from halfmask._validation import integer_at_least

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["map_in_order", "worker_count"]

Batch = TypeVar("Batch")
Result = TypeVar("Result")


def worker_count() -> int:
    """Return how many processors this process may use."""
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)


def map_in_order(
    batches: Iterable[Batch], function: Callable[[Batch], Result], *, workers: int | None = None
) -> Iterator[Result]:
    """Yield the function of each batch, in the order of the batches.

    Parameters
    ----------
    batches
        Read one by one, no further ahead than there are workers.
    function
        Runs in a thread; what it spends its time in must release the interpreter's lock, as polars
        and the kernels do.
    workers
        How many threads, at least 1; by default one for each processor.

    Raises
    ------
    Exception
        Whatever the function raises, where the caller asks for that batch's result.

    Guarantees
    ----------
    No more than ``workers`` batches and results are held at once, besides the one that the caller
    has.

    Examples
    --------
    >>> list(map_in_order([3, 1, 2], lambda n: n * n, workers=2))
    [9, 1, 4]
    """
    workers = worker_count() if workers is None else workers
    integer_at_least(1, owner="map_in_order", workers=workers)
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(max_workers=workers) as pool:
        try:
            for batch in batches:
                waiting.append(pool.submit(function, batch))
                if len(waiting) >= workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
