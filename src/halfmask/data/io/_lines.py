"""Lines of a CSV file that hold no row: the first ones, comments, and Excel's ``sep=;``."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask.data.io.text import TextStream

_CHUNK = 1 << 20
_SEPARATOR = re.compile(r'"?sep=([^\r\n"])"?[ ,;|\t]*(?:[\r\n]|$)', re.IGNORECASE)


def excel_delimiter(sample: str) -> str | None:
    r"""Return the delimiter that the first line declares, as Excel writes it.

    Examples
    --------
    >>> excel_delimiter("sep=;\nage;sex\n"), excel_delimiter("age;sex\n")
    (';', None)
    """
    found = _SEPARATOR.match(sample)
    return found[1] if found else None


class RowLines(io.RawIOBase):
    """A text stream without the lines that hold no row."""

    def __init__(  # each is one fact of a file
        self,
        stream: TextStream,
        *,
        skip: int,
        comment: str | None,
        drop: bool,
        quote: str,
        delimiters: str,
    ) -> None:
        super().__init__()
        self._stream = stream
        self._skip = skip
        self._comment = None if comment is None else comment.encode()
        self._drop = drop
        self._quote = quote.encode()
        between, quoted = re.escape(delimiters).encode(), re.escape(quote).encode()
        self._cell = re.compile(
            rb"(?:^|[%b])(?:(%b)(?:[^%b]|%b%b)*+(%b)?)?[^%b]*"
            % (between, quoted, quoted, quoted, quoted, quoted, between)
        )
        self._open = False
        self._held = bytearray()
        self._rest = b""
        self._ended = False

    def readable(self) -> bool:
        """Return whether this can be read: always."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Read up to ``size`` bytes; less only at the end."""
        while not self._ended and (size < 0 or len(self._held) < size):
            self._fill()
        if size < 0:
            size = len(self._held)
        data = bytes(self._held[:size])
        del self._held[:size]
        return data

    def close(self) -> None:
        """Close the stream below, too."""
        self._stream.close()
        super().close()

    def _fill(self) -> None:
        data = self._stream.read(_CHUNK)
        self._ended = not data
        if not (self._skip or self._drop or self._comment or self._rest):
            self._held += data
            return
        lines = (self._rest + data).splitlines(keepends=True)
        # The last line may go on, and a "\r" at its end may be the first half of "\r\n".
        self._rest = lines.pop() if lines and not self._ended else b""
        for line in lines:
            if self._is_kept(line):
                self._held += line

    def _is_kept(self, line: bytes) -> bool:
        if self._skip:
            self._skip -= 1
            return False
        if self._comment and not self._open and line.startswith(self._comment):
            return False
        if self._drop and line.strip(b"\r\n"):
            self._drop = False
            return False
        if self._comment and (self._open or self._quote in line):
            self._open = self._is_open_after(line)
        return True

    def _is_open_after(self, line: bytes) -> bool:
        """Return whether a quoted cell goes on behind the line."""
        cells = list(self._cell.finditer(self._quote + line if self._open else line))
        return cells[-1][1] is not None and cells[-1][2] is None
