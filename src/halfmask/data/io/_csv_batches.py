"""Batches that Arrow parses from a Python stream, without threads that outlive the process."""

from __future__ import annotations

import atexit
import io
import queue
import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Self

# Arrow lets go within microseconds of its last read; a slow disk may hold that read for longer.
_PATIENCE_S = 30.0
_COPIED = 4096
_OPEN: weakref.WeakSet[CsvBatches] = weakref.WeakSet()


class CsvBatches(Iterator[Any]):
    """The record batches of a CSV stream, in order.

    Arrow reads ahead in a thread of its own. That thread also drops the last references to Python's
    objects, for which it needs the interpreter. A thread that asks for the interpreter while the
    process ends is killed inside C++ code, and the process aborts. So Arrow copies the bytes that
    it reads, errors of reads are kept from it, and `close` waits until it has let go of the stream
    and of the handler of rows. It runs at exit at the latest.
    """

    def __init__(
        self,
        stream: io.RawIOBase,
        read: Any,  # noqa: ANN401 - pyarrow has no types
        parse: Any,  # noqa: ANN401 - the same
        convert: Any,  # noqa: ANN401 - the same
        ragged: list[Any],
    ) -> None:
        import pyarrow as pa  # noqa: PLC0415 - heavy, and only files of this format need it
        import pyarrow.csv as arrow_csv  # noqa: PLC0415 - the same

        self._bytes = _Until(stream)
        self._released: queue.SimpleQueue[object] = queue.SimpleQueue()
        handle, note = _Handle(self._bytes.read), _Noting(ragged)
        # The callback is code of C: it can't yield the interpreter between the signal and the end
        # of Arrow's destructor.
        self._watches = [weakref.ref(held, self._released.put) for held in (handle, note)]
        _OPEN.add(self)
        self._reader = None
        parse.invalid_row_handler = note
        try:
            # Without the copies of a buffered stream, futures hold the bytes of each read.
            copied = pa.BufferedInputStream(pa.PythonFile(handle, mode="r"), _COPIED)
            self._reader = arrow_csv.open_csv(copied, read, parse, convert)
        except BaseException:
            copied = None
            parse.invalid_row_handler = None
            del handle, note
            self.close()
            self._bytes.check()
            raise
        parse.invalid_row_handler = None

    def __next__(self) -> Any:  # noqa: ANN401 - pyarrow has no types
        """Return the next batch."""
        if self._reader is None:
            raise StopIteration
        try:
            return self._reader.read_next_batch()
        finally:
            self._bytes.check()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop reading, and wait until no thread of Arrow's holds the stream."""
        if self not in _OPEN:
            return
        _OPEN.discard(self)
        self._bytes.stopped = True
        self._reader = None
        # A disk that doesn't answer must not keep the process for ever.
        with suppress(queue.Empty):
            for _ in self._watches:
                self._released.get(timeout=_PATIENCE_S)


class _Until:
    """The stream's bytes until reading is stopped, or fails."""

    def __init__(self, stream: io.RawIOBase) -> None:
        self._stream = stream
        self._error: BaseException | None = None
        self.stopped = False

    def read(self, size: int = -1) -> bytes:
        if self.stopped or self._error is not None:
            return b""
        try:
            return self._stream.read(size) or b""
        except BaseException as error:  # noqa: BLE001 - `check` raises it where it is asked for
            self._error = error
            return b""

    def check(self) -> None:
        """Raise what a read raised."""
        if self._error is not None:
            raise self._error from None


class _Noting:
    """What Arrow calls for a row that has more or fewer cells than there are columns."""

    def __init__(self, ragged: list[Any]) -> None:
        self._ragged = ragged

    def __call__(self, row: Any) -> str:  # noqa: ANN401 - pyarrow has no types
        self._ragged.append(row)
        return "error"


class _Handle:
    """What Arrow holds. No frame of a traceback refers to it, so that its end can be awaited."""

    def __init__(self, read: Any) -> None:  # noqa: ANN401 - a bound method
        self.read = read
        self.closed = False

    def close(self) -> None:
        self.closed = True


@atexit.register
def _close_all() -> None:
    for batches in list(_OPEN):
        batches.close()
