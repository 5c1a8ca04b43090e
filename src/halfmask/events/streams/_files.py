"""Files of JSON lines: one, or all of a folder; plain, or compressed by gzip or zstd."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from halfmask._errors import DataError
from halfmask.events.block._bad_lines import Limits
from halfmask.events.streams._chunk import Cutter, Source, begin_at
from halfmask.events.streams._columnar import ColumnarFile
from halfmask.events.streams._readers import Descriptor, reader_of

if TYPE_CHECKING:
    import threading

    from halfmask.events.streams._chunk import Chunk, Position

BLOCK_BYTES = 1 << 22
LINES = (".jsonl", ".ndjson", ".json", ".log")
COLUMNAR = (".parquet", ".arrow", ".arrows", ".feather")
_PACKED = (".gz", ".zst", ".zstd")


@contextmanager
def open_input(path: Path) -> Iterator[int]:
    """Open a file for reading; errors name no path."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise DataError(
            f"The input can't be opened: {error.strerror or 'the system refused'}."
        ) from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


class FileSource(Source):
    """One file of JSON lines; plain, gzip or zstd by what it begins with.

    Notes
    -----
    **Guarantees.** A run that is begun again with the file goes on at the line where it was, and
    only if the lines before are the same.

    **Edge cases.** Compressed input is unpacked from its beginning to get there. Members of gzip
    and frames of zstd may follow each other. A torn archive is an error once all whole lines before
    have been yielded.
    """

    def __init__(
        self, path: str | Path, *, limits: Limits | None = None, block_bytes: int = BLOCK_BYTES
    ) -> None:
        self._path = Path(path)
        self._limits = limits or Limits()
        self._block_bytes = block_bytes
        self._compressed = False
        self._size = 0

    def chunks(
        self, position: Position | None, stop: threading.Event, *, file: int = 1
    ) -> Iterator[Chunk]:
        """Yield the file's lines from a position on."""
        with open_input(self._path) as descriptor:
            self._size = os.fstat(descriptor).st_size
            is_file, read = stat.S_ISREG(os.fstat(descriptor).st_mode), 0

            def rewound() -> Descriptor:
                os.lseek(descriptor, 0, os.SEEK_SET)
                return Descriptor(descriptor)

            reader, self._compressed = reader_of(
                Descriptor(descriptor), rewound=rewound if is_file else None
            )
            if position and not self._compressed and is_file:
                # What was read to find that out is in front of the reader: start again behind it.
                read = max(int(position["offset"]) - int(position["tail"][0]), 0)
                os.lseek(descriptor, read, os.SEEK_SET)
                reader = Descriptor(descriptor)
            begin_at(reader, position, read=read)
            cutter = Cutter(
                block_bytes=self._block_bytes,
                line_bytes=self._limits.line_bytes,
                position=position,
                file=file,
            )
            for chunk in cutter.of(reader):
                if stop.is_set():
                    return
                yield chunk

    def reread(self) -> Self | None:
        """Return the file itself; None if it is a pipe."""
        return self if self._path.is_file() else None

    def share(self, position: Position) -> float | None:
        """Return which share of a plain file is before a position."""
        if self._compressed or not self._size:
            return None
        return min(int(position["offset"]) / self._size, 1.0)


class FolderSource(Source):
    """All files of a folder, in the order of their names."""

    def __init__(
        self,
        path: str | Path,
        *,
        limits: Limits | None = None,
        block_bytes: int = BLOCK_BYTES,
        roots: frozenset[str] | None = None,
    ) -> None:
        try:
            found = sorted(each for each in Path(path).iterdir() if not each.name.startswith("."))
        except OSError as error:
            raise DataError(
                f"The folder can't be read: {error.strerror or 'the system refused'}."
            ) from None
        self._files: list[tuple[str, FileSource | ColumnarFile]] = []
        for number, each in enumerate(found, start=1):
            ending = each.with_suffix("").suffix if each.suffix in _PACKED else each.suffix
            if not each.is_file() or ending not in {*LINES, *COLUMNAR}:
                raise DataError(
                    f"File {number} of the folder, by name, isn't JSON lines, Parquet or Arrow.",
                    hint="Names end in .jsonl, .ndjson, .json, .log (and .gz, .zst), .parquet or "
                    ".arrow; those that begin with a dot are left alone.",
                )
            one: FileSource | ColumnarFile = (
                ColumnarFile(each, roots=roots)
                if ending in COLUMNAR
                else FileSource(each, limits=limits, block_bytes=block_bytes)
            )
            self._files.append((each.name, one))

    def chunks(self, position: Position | None, stop: threading.Event) -> Iterator[Chunk]:
        """Yield the lines of each file from a position on."""
        first = self._first(position)
        for number, (_, source) in enumerate(self._files[first:], start=first + 1):
            within = position["within"] if position and number == first + 1 else None
            names = [name for name, _ in self._files[:number]]
            try:
                for chunk in source.chunks(within, stop, file=number):
                    position = {"names": names, "within": chunk.position}
                    yield replace(chunk, position=position)
            except DataError as error:
                raise DataError(
                    f"File {number} of the folder: {error.what.written}", hint=error.hint
                ) from None
            if stop.is_set():
                return

    def _first(self, position: Position | None) -> int:
        """Return which file a position is in."""
        if position is None:
            return 0
        names = list(position["names"])
        if [name for name, _ in self._files[: len(names)]] != names:
            raise DataError(
                "The folder's files, up to the one that was worked on, aren't those that the run "
                "was begun with.",
                hint="Later files may come, but not before that one in the order of names.",
            )
        return len(names) - 1

    def reread(self) -> Self:
        """Return the folder itself."""
        return self

    def share(self, position: Position) -> float | None:
        """Return which share of the files is before a position."""
        return (len(position["names"]) - 1) / max(len(self._files), 1)

    def counts(self) -> dict[str, int]:
        """Return how many files there are."""
        return {"files": len(self._files)}


class PipeSource(Source):
    """Lines that come through a pipe, such as standard input; plain, gzip or zstd.

    Notes
    -----
    **Edge cases.** A pipe can't be wound back: to go on after a break, give the same stream from
    its beginning. What was worked on already is read again, checked to be the same, and skipped.
    """

    def __init__(
        self, descriptor: int, *, limits: Limits | None = None, block_bytes: int = BLOCK_BYTES
    ) -> None:
        self._descriptor = descriptor
        self._limits = limits or Limits()
        self._block_bytes = block_bytes

    def chunks(self, position: Position | None, stop: threading.Event) -> Iterator[Chunk]:
        """Yield the lines behind a position."""
        reader, _ = reader_of(Descriptor(self._descriptor, stop))
        begin_at(reader, position)
        cutter = Cutter(
            block_bytes=self._block_bytes, line_bytes=self._limits.line_bytes, position=position
        )
        yield from cutter.whole(reader)
        if not stop.is_set():  # else the rest of the last line may yet come
            yield from cutter.end()
