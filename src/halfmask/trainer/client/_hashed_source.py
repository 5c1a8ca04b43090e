"""Hashed rows from a file, or from a stream that is being written by another process."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from halfmask._errors import DataError
from halfmask.hashing import HashedRows

if TYPE_CHECKING:
    from collections.abc import Generator

#: What a stream of Arrow ends with; without it, one that was cut between two batches looks whole.
_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"


class HashedSource:
    """Hashed rows of a file of the wire format (a stream of Arrow), batch by batch.

    Parameters
    ----------
    where
        A file, or ``"-"`` for standard input, which can be read once.

    Raises
    ------
    DataError
        If the file isn't there, or doesn't end where its stream does; while it is read, if it
        isn't of the wire format, or was cut.

    Notes
    -----
    **Guarantees.** The file is mapped, not read into memory. Rows that come from it are valid.
    """

    def __init__(self, where: str | Path) -> None:
        self._where = where
        self._rows = None if str(where) == "-" else self._counted()

    @property
    def rows(self) -> int | None:
        """How many rows there are; None of standard input."""
        return self._rows

    def __iter__(self) -> Generator[HashedRows]:
        for batch in self._batches():
            yield HashedRows.from_batch(batch)

    def _counted(self) -> int:
        return sum(batch.num_rows for batch in self._batches())

    def _batches(self) -> Generator[Any]:
        import pyarrow as pa  # noqa: PLC0415 # it takes 0.2 s

        standard = str(self._where) == "-"
        try:
            if standard:
                tail = _Tail(sys.stdin.buffer)
                with pa.ipc.open_stream(pa.PythonFile(tail, mode="r")) as reader:
                    yield from reader
                whole = tail.last == _END
            else:
                with pa.memory_map(str(self._where)) as file, pa.ipc.open_stream(file) as reader:
                    yield from reader
                    file.seek(max(0, file.size() - len(_END)))
                    whole = file.read() == _END
        except FileNotFoundError:
            raise DataError("The file of hashed rows is not there.") from None
        except (pa.ArrowException, OSError, EOFError):
            raise DataError(
                "The hashed rows are damaged, or aren't a stream of Arrow.",
                hint="halfmask hash makes them from a table.",
            ) from None
        if not whole:
            raise DataError(
                "The hashed rows end too early: what wrote them was stopped.",
                hint="Hash the table again; what was pushed already isn't learned twice.",
            )


class _Tail:
    """A stream that remembers the last bytes that were read from it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.last = b""
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        found = self._file.read(size)
        self.last = (self.last + found[-len(_END) :])[-len(_END) :]
        return found

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True
