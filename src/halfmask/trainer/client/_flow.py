"""Batches on their way: their bodies, cuts and places, sent in threads, none after a failure."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np

from halfmask.hashing import HashedRows
from halfmask.trainer.client.content_key import content_key

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator


ARROW_STREAM = "application/vnd.apache.arrow.stream"
Compression: TypeAlias = Literal["none", "lz4", "zstd"]
#: The client library copies what a socket didn't take yet: of a large piece, again and again.
_PIECE = 1 << 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """The body of a request, its kind and its length; it can be sent again."""

    buffer: Any
    kind: str

    def __len__(self) -> int:
        return len(self.buffer)

    def pieces(self) -> Iterator[memoryview]:
        """Yield the body."""
        view = memoryview(self.buffer)
        for start in range(0, len(view), _PIECE):
            yield view[start : start + _PIECE]


def arrow_body(rows: HashedRows, compression: Compression = "none") -> Body:
    """Return rows as a stream of Arrow of one record batch."""
    import pyarrow as pa  # noqa: PLC0415 # it takes 0.2 s

    batch = rows.to_batch()
    options = pa.ipc.IpcWriteOptions(compression=None if compression == "none" else compression)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return Body(buffer=sink.getvalue(), kind=ARROW_STREAM)


#: Of one batch; a service takes twice as much.
MAX_BYTES = 1 << 23
#: What a row takes besides its features: an offset, a label, a weight.
_BESIDE = 16


def rebatch(
    batches: Iterable[HashedRows], n_rows: int, *, max_bytes: int = MAX_BYTES
) -> Iterator[HashedRows]:
    """Yield the same rows in batches of ``n_rows``, or of fewer that take ``max_bytes``.

    Where a batch ends follows from the rows, and not from how they came.

    Examples
    --------
    >>> parts = [HashedRows(indices=np.ones((n, 3), np.uint32), bits=3) for n in (5, 1, 4)]
    >>> [len(each) for each in rebatch(parts, 4)]
    [4, 4, 2]
    """
    held: list[HashedRows] = []
    rows, size = 0, 0
    for batch in batches:
        sizes = np.cumsum(_sizes(batch))
        start, before = 0, 0
        while start < len(batch):
            room = int(np.searchsorted(sizes, before + max_bytes - size, side="right"))
            stop = min(start + n_rows - rows, max(room, start if held else start + 1))
            if stop >= len(batch) and rows + len(batch) - start < n_rows:
                stop = len(batch)
                held.append(_part(batch, start, stop))
                rows, size = rows + stop - start, size + int(sizes[-1]) - before
            else:
                yield _join([*held, *([_part(batch, start, stop)] if stop > start else [])])
                held, rows, size = [], 0, 0
                before = int(sizes[stop - 1]) if stop else 0
            start = stop
    if held:
        yield _join(held)


def _sizes(rows: HashedRows) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return how many bytes each row takes."""
    each = 4 if rows.values is None else 8
    if rows.indptr is None:
        return np.full(len(rows), each * rows.indices.shape[1] + _BESIDE, np.int64)
    return np.diff(rows.indptr) * each + _BESIDE


def _part(rows: HashedRows, start: int, stop: int) -> HashedRows:
    return rows if (start, stop) == (0, len(rows)) else rows.slice(start, stop)


def _join(parts: list[HashedRows]) -> HashedRows:
    return parts[0] if len(parts) == 1 else HashedRows.concat(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlace:
    """Where a batch goes, and where it stands in its stream."""

    model: str
    stream: str
    number: int
    first_row: int

    def key(self, rows: HashedRows) -> bytes:
        """Return the batch's key."""
        return content_key(rows, stream=self.stream, model=self.model, first_row=self.first_row)


def place_batches(
    batches: Iterable[HashedRows], *, model: str, stream: str, n_rows: int
) -> Iterator[tuple[BatchPlace, HashedRows]]:
    """Yield batches of one size, each with its place."""
    first_row = 0
    for number, rows in enumerate(rebatch(batches, n_rows)):
        yield BatchPlace(model=model, stream=stream, number=number, first_row=first_row), rows
        first_row += len(rows)


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
                yield _next_result(waiting)
        while waiting:
            yield _next_result(waiting)
    finally:
        stopped.set()
        pool.shutdown(cancel_futures=True)


def _next_result(waiting: deque[Future[Result | None]]) -> Result:
    result = waiting.popleft().result()
    if result is None:  # a later one failed first, and its error comes with it
        for other in waiting:
            other.result()
        raise RuntimeError
    return result
