"""Text files as UTF-8 bytes, whatever their encoding and compression, checked on the way."""

from __future__ import annotations

import codecs
import io
from typing import TYPE_CHECKING, Any

from halfmask._errors import DataError
from halfmask.data.io.formats import compression_of_bytes
from halfmask.data.io.reading import reading

if TYPE_CHECKING:
    from halfmask.data.io.places import Place

# How much of a text file is looked at together: a row must be shorter than that.
# Pyarrow parses some dozens of them ahead, so that a block is a fortieth of the memory it takes.
BLOCK = 4 << 20
_CHUNK = 1 << 20
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)


def decompressed(place: Place) -> Any:  # noqa: ANN401 - a file of Python or of pyarrow
    """Open a place's bytes, decompressed if the whole file is compressed."""
    file = place.open()
    compression = compression_of_bytes(file.read(8))
    file.seek(0)
    if compression is None:
        return file
    import pyarrow as pa  # noqa: PLC0415 - only compressed files pay for it here

    return pa.CompressedInputStream(pa.PythonFile(file, mode="r"), compression)


def start_of(place: Place, size: int = 4096) -> bytes:
    """Return the first bytes of a place, decompressed."""
    with reading(place.what), decompressed(place) as file:
        return bytes(file.read(size))


class TextStream(io.RawIOBase):
    """A text file's characters as UTF-8 bytes without a byte-order mark."""

    def __init__(self, place: Place, *, encoding: str) -> None:
        super().__init__()
        self._what = place.what
        self._file = decompressed(place)
        first = bytes(self._file.read(_CHUNK))
        marked = next((name for mark, name in _MARKS if first.startswith(mark)), None)
        self._encoding = marked or codecs.lookup(encoding).name
        self._decoder = codecs.getincrementaldecoder(self._encoding)("strict")
        self._plain = self._encoding == "utf-8"
        self._bytes_in = 0
        self._held = bytearray(self._decoded(first, first=True))
        self._ended = not first

    def readable(self) -> bool:
        """Return whether this can be read: always."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Read up to ``size`` bytes of UTF-8; less only at the end."""
        while not self._ended and (size < 0 or len(self._held) < size):
            chunk = bytes(self._file.read(_CHUNK))
            self._ended = not chunk
            self._held += self._decoded(chunk)
        if size < 0:
            size = len(self._held)
        data = bytes(self._held[:size])
        del self._held[:size]
        return data

    def close(self) -> None:
        """Close the file below, too."""
        if not self.closed:
            self._file.close()
        super().close()

    def _decoded(self, chunk: bytes, *, first: bool = False) -> bytes:
        try:
            text = self._decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            near = self._bytes_in + error.start + 1
            raise DataError(
                f"{self._what} has bytes that are not {self._encoding}, near byte {near}.",
                hint="Say its encoding, such as latin-1 or utf-16: "
                "[[ReadOptions(encoding=...)|--encoding]], or encoding under [input] of a policy.",
            ) from None
        self._bytes_in += len(chunk)
        if first and not chunk.startswith(_MARKED) and "\x00" in text:
            raise DataError(
                f"{self._what} holds NUL characters: it is no text, or of another encoding.",
                hint="Try the encoding utf-16, or say its format: "
                "[[encoding= and format=|--encoding and --format]].",
            )
        # Plain ASCII goes on unchanged; elsewhere the decoder may have held back a cut character.
        as_it_is = self._plain and text.isascii() and len(text) == len(chunk)
        return chunk if as_it_is else text.encode("utf-8")


_MARKED = tuple(mark for mark, _ in _MARKS)
