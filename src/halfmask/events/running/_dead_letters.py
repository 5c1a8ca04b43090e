"""Dead letters: which lines were no events and why, in a file that only its owner may read."""

from __future__ import annotations

import base64
import json
import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from halfmask._errors import ReleaseError
from halfmask.events.block._bad_lines import Reason
from halfmask.events.streams._places import lock, not_ours, writing_out

if TYPE_CHECKING:
    from halfmask.events.block._block import Block
    from halfmask.events.streams import Chunk

_TOGETHER = 1024


class DeadLetters:
    """A file of JSON lines: one for each input line that isn't a valid event.

    Parameters
    ----------
    path
        The file, of mode 0600. It must not be released.
    with_content
        Whether the file also has the content of each line, as ``raw``, or as ``raw_base64`` if the
        line isn't UTF-8. The content of lines that are too long is never written.
    overwrite
        Whether an existing file may be replaced.

    Notes
    -----
    Each JSON line has ``file`` (the number of the file in a folder, or 1), ``line`` (the number of
    the input line) and ``reason``.
    """

    def __init__(
        self, path: str | Path, *, with_content: bool = False, overwrite: bool = False
    ) -> None:
        self._path = Path(path)
        self.with_content = with_content
        self._overwrite = overwrite
        self._file: BinaryIO | None = None
        self._length = 0

    def check(self) -> None:
        """Raise if something is there that may not be replaced.

        Raises
        ------
        ReleaseError
            If there is.
        """
        if os.path.lexists(self._path) and not self._overwrite:
            raise ReleaseError(
                "The file of dead letters exists.",
                hint="Choose another name, or allow it to be overwritten: "
                "[[overwrite=True|--overwrite]].",
            )

    def begin(self, length: int) -> None:
        """Make the file, or cut it back to a length.

        Parameters
        ----------
        length
            The length of the file in bytes at the checkpoint.

        Raises
        ------
        ReleaseError
            If others may read it, it is shorter, or can't be written.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        with writing_out():
            self._file = os.fdopen(os.open(self._path, flags, 0o600), "r+b", buffering=0)
            lock(self._file)
            found = os.fstat(self._file.fileno())
            if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO) or found.st_uid != os.geteuid():
                raise ReleaseError(
                    "The file of dead letters may be read by others, or isn't yours.",
                    hint="Remove it, or give it the mode 0600.",
                )
            if found.st_size < length:
                raise not_ours()
            self._file.truncate(length)
            self._file.seek(length)
            self._length = length

    def write(self, chunk: Chunk, block: Block | None) -> None:
        """Note the lines of a chunk that are no events.

        Parameters
        ----------
        chunk
            The lines that were read.
        block
            The same lines, scanned; ``None`` for a line that is too long.
        """
        letters = self._letters(chunk, block)
        while data := b"".join(
            json.dumps(each).encode() + b"\n" for each in islice(letters, _TOGETHER)
        ):
            self._put(data)

    def _letters(self, chunk: Chunk, block: Block | None) -> Iterator[dict[str, object]]:
        if block is None:
            yield {"file": chunk.file, "line": chunk.first_line, "reason": str(Reason.TOO_LONG)}
            return
        for bad in block.bad:
            letter: dict[str, object] = {
                "file": chunk.file,
                "line": bad.line,
                "reason": str(bad.reason),
            }
            if self.with_content and bad.reason != Reason.TOO_LONG:
                letter |= _content(bytes(chunk.view[bad.start : bad.stop]))
            yield letter

    def _put(self, data: bytes) -> None:
        if self._file is None:
            raise ReleaseError("The dead letters were closed.", hint="This is a fault of halfmask.")
        left = memoryview(data)
        with writing_out():
            while left:
                left = left[self._file.write(left) or 0 :]
        self._length += len(data)

    def sync(self) -> int:
        """Bring all to the disk; return how long the file is."""
        if self._file is not None:
            with writing_out():
                os.fsync(self._file.fileno())
        return self._length

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _content(line: bytes) -> dict[str, object]:
    try:
        return {"raw": line.decode()}
    except UnicodeDecodeError:
        return {"raw_base64": base64.b64encode(line).decode()}
