"""The engine of one machine: batches in threads, in order and with few of them in memory."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask._validation import integer_at_least
from halfmask.engines._merging import merged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from halfmask.engines.engine import Batch, Part


def worker_count() -> int:
    """Return how many processors this process may use."""
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Runs functions in threads; see :class:`Engine`.

    Parameters
    ----------
    workers
        How many threads, at least 1; by default one for each processor.

    Examples
    --------
    >>> import operator
    >>> LocalEngine().fold(["red", "green"], len, operator.add)
    8
    """

    workers: int | None = None

    def __post_init__(self) -> None:
        if self.workers is not None:
            integer_at_least(1, owner="LocalEngine", workers=self.workers)

    @property
    def is_confidential(self) -> bool:
        """Nothing leaves this process."""
        return True

    def map(self, batches: Iterable[Batch], apply: Callable[[Batch], Part], /) -> Iterator[Part]:
        """Yield the function of each batch; see `Engine.map` and `map_in_order`."""
        return map_in_order(batches, apply, workers=self.workers)

    def fold(
        self,
        batches: Iterable[Batch],
        summarize: Callable[[Batch], Part],
        merge: Callable[[Part, Part], Part],
        /,
    ) -> Part:
        """Return the merged summaries of all batches; see :meth:`Engine.fold`.

        Summaries are merged in the caller's thread.
        """
        return merged(self.map(batches, summarize), merge)


def map_in_order(
    batches: Iterable[Batch], function: Callable[[Batch], Part], *, workers: int | None = None
) -> Iterator[Part]:
    """Yield the function of each batch, in the order of the batches.

    What the function spends its time in must release the interpreter's lock, as polars does.

    Guarantees
    ----------
    No more than ``workers`` batches and results are held at once, besides the one that the caller
    has. One worker is the caller's own thread.

    Examples
    --------
    >>> list(map_in_order([3, 1, 2], lambda n: n * n, workers=2))
    [9, 1, 4]
    """
    workers = worker_count() if workers is None else workers
    integer_at_least(1, owner="map_in_order", workers=workers)
    if workers == 1:
        for batch in batches:
            part = function(batch)
            del batch  # before the next one is read
            yield part
            del part
        return
    waiting: deque[Future[Part]] = deque()
    with ThreadPoolExecutor(max_workers=workers) as pool:
        try:
            for batch in batches:
                waiting.append(pool.submit(function, batch))
                del batch
                if len(waiting) >= workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
