"""Working ahead of the one who writes: blocks in threads of their own, what is ordered in order.

This isn't :meth:`halfmask.engines.Engine.map`, whose functions never look at another batch. The
``take`` step of a block carries windows, counts and draws on from the block before it, a stream is
read in a thread that can wait for input, and a stop keeps what was taken so far. As a map and a
fold, each block would have to go through three threads instead of one.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from halfmask.events.streams import Chunk, Position, Source

_Read = TypeVar("_Read")
_Taken = TypeVar("_Taken")
_POLL_SECONDS = 0.1
#: Chunks that wait, worked on or not, besides one for each thread. With more of them memory is
#: rarely what was just used.
_AHEAD = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps(Generic[_Read, _Taken]):
    """What is done to each chunk, one step after the other."""

    scan: Callable[[Chunk], _Read]
    take: Callable[[Chunk, _Read], _Taken]
    finish: Callable[[_Taken], None]


class WorkingAhead(Generic[_Read, _Taken]):
    """Reads chunks of a source and works on them, before somebody asks for what becomes of them.

    All steps of a chunk are done by one thread: processors hand memory to each other more slowly
    than they work on it.
    """

    def __init__(
        self,
        source: Source,
        position: Position | None,
        steps: Steps[_Read, _Taken],
        *,
        threads: int,
    ) -> None:
        self._source = source
        self._position = position
        self._steps = steps
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="events-work")
        self._queue: queue.Queue[Future[_Taken] | BaseException | None] = queue.Queue(
            threads + _AHEAD
        )
        self._halt = threading.Event()
        self._turns = _Turns()
        self._thread = threading.Thread(target=self._fill, name="events-read", daemon=True)

    def start(self) -> None:
        """Begin; `close` must be called then."""
        self._thread.start()

    def close(self) -> None:
        """Stop reading and working, and forget what was ahead."""
        self._halt.set()
        self._turns.end()
        self._pool.shutdown(wait=True, cancel_futures=True)
        if self._thread.is_alive():
            self._thread.join()

    def items(self, stop: threading.Event) -> Iterator[_Taken]:
        """Yield what chunks became, in order, until the source ends or somebody stops it.

        All that was taken is yielded, also after a stop.
        """
        yielded, most = 0, None
        while True:
            if most is None and stop.is_set():
                most = self._turns.end()
            if yielded == most:
                return
            try:
                found = self._queue.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
            if found is None:
                return
            if isinstance(found, BaseException):
                raise found
            yield found.result()
            yielded += 1

    def _fill(self) -> None:
        last: BaseException | None = None
        try:
            for number, chunk in enumerate(self._source.chunks(self._position, self._halt)):
                self._put(self._pool.submit(self._work, number, chunk))
                if self._halt.is_set():
                    return
        except BaseException as error:  # noqa: BLE001 # it is raised where the blocks are taken
            last = error
        self._put(last)

    def _work(self, number: int, chunk: Chunk) -> _Taken:
        read = self._steps.scan(chunk)
        with self._turns.of(number):
            taken = self._steps.take(chunk, read)
        self._steps.finish(taken)
        return taken

    def _put(self, item: Future[_Taken] | BaseException | None) -> None:
        while not self._halt.is_set():
            with suppress(queue.Full):
                self._queue.put(item, timeout=_POLL_SECONDS)
                return


class _Turns:
    """Lets threads that have numbers, from 0 on, do something one after the other."""

    def __init__(self) -> None:
        self._begun = 0
        self._done = 0
        self._ended = False
        self._changed = threading.Condition()

    @contextmanager
    def of(self, number: int) -> Iterator[None]:
        """Wait for a number's turn; where that raises, or doesn't come, no later one begins."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._done == number)
            if self._ended:
                raise InterruptedError
            self._begun = number + 1
        yield
        with self._changed:
            self._done = number + 1
            self._changed.notify_all()

    def end(self) -> int:
        """Let nobody begin any more; return how many had their turn, or have it now."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
            return self._begun
