"""A folder of numbered parts that can be cut back to a checkpoint."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfmask._errors import ReleaseError
from halfmask.events.streams._file_sink import FileSink, check_tail
from halfmask.events.streams._files import FileSource
from halfmask.events.streams._places import (
    check_free,
    not_ours,
    partial_of,
    sync_folder,
    writing_out,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halfmask.events.streams._file_sink import Packing

_ENDINGS = {None: "", "gzip": ".gz", "zstd": ".zst"}
_PART_BYTES = 1 << 28


class FolderSink:
    """A folder of numbered parts: ``part-00001.jsonl``, and so on.

    Parameters
    ----------
    path
        The folder. Until all is written it is ``.partial`` behind its name.
    packing
        As of `FileSink`.
    part_bytes
        A part ends with the first line at or behind so many bytes of lines.
    appending, overwrite
        As of `FileSink`.
    """

    lasting = True

    def __init__(
        self,
        path: str | Path,
        *,
        packing: Packing | None = None,
        part_bytes: int = _PART_BYTES,
        appending: bool = False,
        overwrite: bool = False,
    ) -> None:
        self.target: Path = Path(path)
        self._packing = packing
        self._part_bytes = part_bytes
        self._overwrite = overwrite
        self._work = self.target if appending else partial_of(self.target)
        self._number = 1
        self._filled = 0
        self._sizes: list[int] = []
        self._part: FileSink | None = None

    def check(self) -> None:
        """Refuse to write over what is there."""
        with writing_out():
            check_free(self._work, overwrite=self._overwrite)
            check_free(self.target, overwrite=self._overwrite)

    def begin(self, state: Mapping[str, Any] | None, pending: bytes, *, again: bool) -> None:
        """Make the folder, or remove the parts behind the checkpoint."""
        with writing_out():
            if again and state is not None:
                if not self._work.exists() and self.target.exists():
                    self._check(self.target, state)
                    self.target.rename(self._work)
                self._check(self._work, state)
            if not again and self._work.is_dir():
                shutil.rmtree(self._work)
            self._work.mkdir(exist_ok=True)
            self._number = int(state["part"]) if state else 1
            self._filled = int(state["filled"]) if state else 0
            for path in self._work.iterdir():
                if path.name.startswith("part-") and path.name > self._name(self._number):
                    path.unlink()
            self._part = self._opened(None if state is None else state["file"], pending, again)

    def write(self, data: bytes | memoryview) -> None:
        """Write lines, to the next part where one is full."""
        while data:
            cut = len(data)
            if self._filled + len(data) >= self._part_bytes:
                first = max(self._part_bytes - self._filled - 1, 0)
                cut = first + bytes(data[first:]).index(b"\n") + 1
            self._current().write(data[:cut])
            self._filled += cut
            data = data[cut:]
            if self._filled >= self._part_bytes:
                self._current().finish()
                self._current().close(done=True)
                self._sizes.append((self._work / self._name(self._number)).stat().st_size)
                self._number, self._filled = self._number + 1, 0
                self._part = self._opened(None, b"", again=True)

    def sync(self) -> tuple[dict[str, Any], bytes]:
        """Bring what is written to the disk."""
        file, pending = self._current().sync()
        with writing_out():
            sync_folder(self._work)
        where = {"part": self._number, "filled": self._filled, "sizes": list(self._sizes)}
        return {**where, "file": file}, pending

    def lines(self) -> Iterator[bytes]:
        """Yield what was written so far, part by part."""
        for number in range(1, self._number):
            chunks = FileSource(self._work / self._name(number)).chunks(None, threading.Event())
            yield from (chunk.data for chunk in chunks)
        yield from self._current().lines()

    def finish(self) -> None:
        """Finish the last part; rename the folder."""
        self._current().finish()
        with writing_out():
            if not self._filled and self._number > 1:
                (self._work / self._name(self._number)).unlink()
            sync_folder(self._work)
            if self._work != self.target:
                if self._overwrite and self.target.is_dir():
                    shutil.rmtree(self.target)
                self._work.rename(self.target)
            sync_folder(self.target.parent)

    def close(self, *, done: bool) -> None:
        """Close the last part."""
        if self._part is not None:
            self._part.close(done=done)

    def _check(self, folder: Path, state: Mapping[str, Any]) -> None:
        """Check that the parts up to the checkpoint are there still."""
        sizes = list(state["sizes"])
        for number, size in enumerate(sizes, start=1):
            path = folder / self._name(number)
            if path.is_symlink() or not path.is_file() or path.stat().st_size != size:
                raise not_ours()
        if state["file"]["length"]:
            path = folder / self._name(len(sizes) + 1)
            if path.is_symlink() or not path.is_file():
                raise not_ours()
            with path.open("rb") as file:
                check_tail(file, state["file"])
        self._sizes = sizes

    def _name(self, number: int) -> str:
        return f"part-{number:05}.jsonl{_ENDINGS[self._packing]}"

    def _opened(self, state: Mapping[str, Any] | None, pending: bytes, again: bool) -> FileSink:  # noqa: FBT001 # as begin has it
        path = self._work / self._name(self._number)
        part = FileSink(path, packing=self._packing, appending=True, overwrite=self._overwrite)
        part.begin(state, pending, again=again)
        return part

    def _current(self) -> FileSink:
        if self._part is None:
            raise ReleaseError("The output was closed.", hint="This is a fault of halfmask.")
        return self._part
