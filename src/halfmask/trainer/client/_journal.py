"""A file that remembers which batches were acknowledged, so that work goes on after a kill.

It begins with one line of JSON: the format, what work it is of, how many rows a batch has, and when
the model was made. A record for each acknowledged batch follows: its number, its rows, its key, the
bytes that were answered for it, and a checksum. Records are only appended. What is torn at the end
is no record: that batch is sent once more, and the service knows it by its key.
"""

from __future__ import annotations

import fcntl
import json
import os
import struct
import threading
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self

from halfmask._errors import DataError, ReleaseError
from halfmask.data import atomic_file
from halfmask.trainer.client.content_key import KEY_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

_FORMAT = "halfmask.journal/1"
_MAX_HEADER = 4096
_RECORD = struct.Struct(f"<QII{KEY_BYTES}s")
_CHECK = struct.Struct("<I")
#: What predictions of one batch may take; a longer record is a torn one.
_MAX_BYTES = 1 << 31


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRecord:
    """One batch that was acknowledged."""

    rows: int
    key: bytes
    start: int
    length: int


class Journal:
    """What was acknowledged of one piece of work; for threads, not processes.

    Parameters
    ----------
    where
        The file; it is made if it isn't there.
    work
        A word for what it is of: journals of other work are refused.
    batch_rows
        How many rows a batch has: with another number, batches would be others.
    made
        When the model was made, where that is known: another one of its name has learned nothing.

    Raises
    ------
    DataError
        If the file isn't a journal, is of other work, or another process writes it.
    ReleaseError
        If it can't be read or written.

    Notes
    -----
    **Guarantees.** After a death of the process at any point, the file holds every record whose
    `add` returned, whole, and nothing else counts. After a loss of power the last ones may be
    missing. It holds no row, name, token or address; for predictions, it holds those.
    """

    def __init__(
        self, where: str | Path, *, work: str, batch_rows: int, made: float | None = None
    ) -> None:
        self._header = {"format": _FORMAT, "work": work, "batch_rows": batch_rows, "made": made}
        self._lock = threading.Lock()
        self._records: dict[int, JournalRecord] = {}
        try:
            self._file = self._opened(Path(where))
        except OSError as error:
            raise _unwritable(error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __contains__(self, number: int) -> bool:
        return number in self._records

    def __len__(self) -> int:
        return len(self._records)

    @property
    def rows(self) -> int:
        """How many rows were acknowledged."""
        return sum(each.rows for each in self._records.values())

    def check(self, number: int, key: bytes) -> None:
        """Raise if a batch that was acknowledged isn't the one that stands there now.

        Parameters
        ----------
        number
            The number of the batch.
        key
            The idempotency key of the rows that stand there now.
        """
        if self._records[number].key != key:
            raise DataError(
                "The rows aren't those that the journal remembers.",
                hint="Put them back as they were, or give new rows a journal of their own.",
            )

    def answer(self, number: int) -> bytes:
        """Return what was answered for a batch.

        Parameters
        ----------
        number
            The number of the batch.
        """
        record = self._records[number]
        try:
            found = os.pread(self._file.fileno(), record.length, record.start)
        except OSError as error:
            raise _unwritable(error) from None
        if len(found) != record.length:
            raise DataError("The journal was cut while it was read.")
        return found

    def add(self, number: int, key: bytes, *, rows: int, answer: bytes = b"") -> None:
        """Remember that a batch was acknowledged.

        Parameters
        ----------
        number
            The number of the batch.
        key
            Its idempotency key.
        rows
            The number of its rows.
        answer
            The body of the answer.
        """
        head = _RECORD.pack(number, rows, len(answer), key)
        check = _CHECK.pack(zlib.crc32(answer, zlib.crc32(head)))
        with self._lock:
            try:
                start = self._file.seek(0, os.SEEK_END)
                self._file.write(head + check + answer)
                self._file.flush()
            except OSError as error:
                raise _unwritable(error) from None
            self._records[number] = JournalRecord(
                rows=rows, key=key, start=start + len(head) + len(check), length=len(answer)
            )

    def close(self) -> None:
        """Write it to the disk and close it."""
        with suppress(OSError, ValueError):
            os.fsync(self._file.fileno())
        self._file.close()

    def _opened(self, path: Path) -> BinaryIO:
        if not path.exists():
            with atomic_file(path) as new:
                os.fchmod(new.fileno(), 0o600)  # predictions aren't for everybody
                new.write(json.dumps(self._header).encode() + b"\n")
        file = path.open("r+b")
        try:
            try:
                fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DataError("Another process writes this journal.") from None
            self._check_header(file.readline(_MAX_HEADER))
            end = file.tell()
            for number, record in _records(file):
                self._records[number] = record
                end = record.start + record.length
            file.truncate(end)
        except BaseException:
            file.close()
            raise
        return file

    def _check_header(self, line: bytes) -> None:
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict) or found.get("format") != _FORMAT:
            raise DataError("The file given as a journal is none.", hint="Give another name.")
        if found.get("work") != self._header["work"]:
            raise DataError(
                "The journal is of another service, model or stream.",
                hint="Give the journal of this one, or another name.",
            )
        if None not in (made := [found.get("made"), self._header["made"]]) and made[0] != made[1]:
            raise DataError(
                "The journal is of a model that was deleted; this one has its name.",
                hint="Give another name: this model has learned nothing of it.",
            )
        if found.get("batch_rows") != self._header["batch_rows"]:
            raise DataError(
                "The journal was begun with another number of rows in a batch.",
                hint="Go on with that number: by another, rows would be learned twice.",
            )


def _records(file: BinaryIO) -> Iterator[tuple[int, JournalRecord]]:
    """Yield the records up to the first that isn't whole."""
    while True:
        head = file.read(_RECORD.size + _CHECK.size)
        if len(head) < _RECORD.size + _CHECK.size:
            return
        number, rows, length, key = _RECORD.unpack_from(head)
        (check,) = _CHECK.unpack_from(head, _RECORD.size)
        start = file.tell()
        answer = file.read(length) if length < _MAX_BYTES else b""
        if len(answer) != length or zlib.crc32(answer, zlib.crc32(head[: _RECORD.size])) != check:
            return
        yield number, JournalRecord(rows=rows, key=key, start=start, length=length)


def _unwritable(error: OSError) -> ReleaseError:
    reason = os.strerror(error.errno) if error.errno else "the system refused"
    return ReleaseError(
        f"The journal can't be read or written ({reason}).",
        hint="Check its folder; what was acknowledged stays learned.",
    )
