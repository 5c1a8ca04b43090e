"""Batches that Arrow parses from a Python stream, without threads that outlive the process."""

from __future__ import annotations

import atexit
import io
import queue
import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Self

__all__ = ["CsvBatches"]

# Arrow lets go within microseconds of its last read; a slow disk may hold that read for longer.
_PATIENCE_S = 30.0
_OPEN: weakref.WeakSet[CsvBatches] = weakref.WeakSet()


class CsvBatches(Iterator[Any]):
    """The record batches of a CSV stream, in order.

    Arrow reads ahead in a thread of its own. That thread also drops the last reference to the
    stream, for which it needs the interpreter. A thread that asks for the interpreter while the
    process ends is killed inside C++ code, and the process aborts. So `close` waits until Arrow
    has let go of the stream. It runs at exit at the latest.

    Parameters
    ----------
    stream
        The bytes of the file. It stays open: who opened it closes it, after `close`.
    read, parse, convert
        The options of ``pyarrow.csv.open_csv``.

    Raises
    ------
    pyarrow.ArrowInvalid
        While iterating: if the text isn't a table.
    """

    def __init__(
        self,
        stream: io.RawIOBase,
        read: Any,  # noqa: ANN401 - pyarrow has no types
        parse: Any,  # noqa: ANN401 - the same
        convert: Any,  # noqa: ANN401 - the same
    ) -> None:
        import pyarrow as pa  # noqa: PLC0415 - heavy, and only files of this format need it
        import pyarrow.csv as arrow_csv  # noqa: PLC0415 - the same

        self._released: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._stop = _Stop()
        handle = _Handle(_Until(stream, self._stop).read)
        # The callback is code of C: it can't yield the interpreter between the signal and the end
        # of Arrow's destructor.
        self._watch = weakref.ref(handle, self._released.put)
        _OPEN.add(self)
        try:
            self._reader = arrow_csv.open_csv(pa.PythonFile(handle, mode="r"), read, parse, convert)
        except BaseException:
            self._reader = None
            del handle
            self.close()
            raise

    def __next__(self) -> Any:  # noqa: ANN401 - pyarrow has no types
        """Return the next batch."""
        if self._reader is None:
            raise StopIteration
        return self._reader.read_next_batch()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop reading, and wait until no thread of Arrow's holds the stream."""
        if self not in _OPEN:
            return
        _OPEN.discard(self)
        self._stop.asked = True
        self._reader = None
        # A disk that doesn't answer must not keep the process for ever.
        with suppress(queue.Empty):
            self._released.get(timeout=_PATIENCE_S)


class _Stop:
    """Whether reading should end early."""

    asked = False


class _Until:
    """The stream's bytes until it is asked to stop."""

    def __init__(self, stream: io.RawIOBase, stop: _Stop) -> None:
        self._stream = stream
        self._stop = stop

    def read(self, size: int = -1) -> bytes:
        return b"" if self._stop.asked else self._stream.read(size) or b""


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
