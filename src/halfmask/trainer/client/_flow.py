"""Work on batches in threads while the next ones are made: few at once, none after a failure."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

Item = TypeVar("Item")
Result = TypeVar("Result")


def flow(
    items: Iterable[Item], work: Callable[[Item, threading.Event], Result], *, at_once: int
) -> Generator[Result]:
    """Yield what is made of each item, in the order of the items.

    Notes
    -----
    **Guarantees.** After the first that raises, none is begun. When this ends, in whatever way,
    none is being worked on. No more than ``at_once + 1`` items are held.
    """
    stopped = threading.Event()

    def guarded(item: Item) -> Result | None:
        if stopped.is_set():
            return None
        try:
            return work(item, stopped)
        except BaseException:
            stopped.set()
            raise

    waiting: deque[Future[Result | None]] = deque()
    pool = ThreadPoolExecutor(max_workers=at_once)
    try:
        for item in items:
            waiting.append(pool.submit(guarded, item))
            while len(waiting) > at_once or (waiting and waiting[0].done()):
                yield _found(waiting)
        while waiting:
            yield _found(waiting)
    finally:
        stopped.set()
        pool.shutdown(cancel_futures=True)


def _found(waiting: deque[Future[Result | None]]) -> Result:
    result = waiting.popleft().result()
    if result is None:  # a later one failed first, and its error comes with it
        for other in waiting:
            other.result()
        raise RuntimeError
    return result
