"""Reading and scanning ahead of the rules, in threads of their own, in order."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask.events._block import Block
    from halfmask.events._transforming import Transform
    from halfmask.events.streams import Chunk, Position, Source

__all__ = ["ScanningAhead"]

_POLL_SECONDS = 0.1
#: Chunks that wait, scanned or not. With more of them memory is seldom what was just used.
_AHEAD = 2


class ScanningAhead:
    """Reads chunks of a source, and scans each into a block, before somebody asks for them.

    Parameters
    ----------
    source
        Is read in a thread.
    transform
        Scans in others; its state isn't touched.
    position
        Where to begin.
    threads
        How many blocks are scanned at once.
    in_place
        Whether lines may be written over while they are scanned: nobody wants them as they were.
    """

    def __init__(
        self,
        source: Source,
        transform: Transform,
        position: Position | None,
        *,
        threads: int,
        in_place: bool,
    ) -> None:
        self._source = source
        self._transform = transform
        self._position = position
        self._in_place = in_place
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="events-scan")
        self._queue: queue.Queue[tuple[Chunk, Future[Block]] | BaseException | None] = queue.Queue(
            _AHEAD
        )
        self._halt = threading.Event()
        self._thread = threading.Thread(target=self._fill, name="events-read", daemon=True)

    def start(self) -> None:
        """Begin; `close` must be called then."""
        self._thread.start()

    def close(self) -> None:
        """Stop reading and scanning, and forget what was ahead."""
        self._halt.set()
        self._pool.shutdown(wait=True, cancel_futures=True)
        if self._thread.is_alive():
            self._thread.join()

    def items(self, stop: threading.Event) -> Iterator[tuple[Chunk, Block]]:
        """Yield chunks and blocks, in order, until the source ends or somebody stops it.

        Raises
        ------
        DataError
            What the source raises, once all blocks before have been yielded.
        """
        while not stop.is_set():
            try:
                found = self._queue.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
            if found is None:
                return
            if isinstance(found, BaseException):
                raise found
            chunk, future = found
            yield chunk, future.result()

    def _fill(self) -> None:
        last: BaseException | None = None
        try:
            for chunk in self._source.chunks(self._position, self._halt):
                future = self._pool.submit(
                    self._transform.scan,
                    chunk.view,
                    first_line=chunk.first_line,
                    own=chunk.buffer if self._in_place else None,
                )
                self._put((chunk, future))
                if self._halt.is_set():
                    return
        except BaseException as error:  # noqa: BLE001 # it is raised where the blocks are taken
            last = error
        self._put(last)

    def _put(self, item: tuple[Chunk, Future[Block]] | BaseException | None) -> None:
        while not self._halt.is_set():
            with suppress(queue.Full):
                self._queue.put(item, timeout=_POLL_SECONDS)
                return
