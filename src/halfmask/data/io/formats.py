"""The formats of tables in files, known by their first bytes and by the end of a name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal, TypeAlias, get_args

from halfmask._errors import DataError, ParameterError
from halfmask._validation import one_of

#: The formats of tables in files.
Format: TypeAlias = Literal["csv", "tsv", "parquet", "arrow", "arrows", "jsonl"]
Compression: TypeAlias = Literal["gzip", "zstd"]

FORMATS: tuple[Format, ...] = get_args(Format)
TEXT_FORMATS: frozenset[Format] = frozenset({"csv", "tsv", "jsonl"})

_SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
    ".arrows": "arrows",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
_COMPRESSED: dict[str, Compression] = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
_MAGIC: tuple[tuple[bytes, Format], ...] = (
    (b"PAR1", "parquet"),
    (b"ARROW1", "arrow"),
    (b"\xff\xff\xff\xff", "arrows"),
)
_COMPRESSED_MAGIC: tuple[tuple[bytes, Compression], ...] = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
)


@dataclass(frozen=True, slots=True)
class FileForm:
    """How a table lies in a file: its format, and how the file is compressed as a whole."""

    format: Format
    compression: Compression | None = None

    def __post_init__(self) -> None:
        one_of(FORMATS, owner="a table's file", format=self.format)
        if self.compression is not None and self.format not in TEXT_FORMATS:
            raise ParameterError(
                f"Files of format {self.format!r} can't be compressed as a whole: they are "
                "compressed inside.",
                hint="Leave the .gz or .zst away.",
            )


def form_of_name(name: str) -> FileForm | None:
    """Return what the end of a file's name says of its form, or ``None`` if nothing.

    Examples
    --------
    >>> form_of_name("people.csv.gz")
    FileForm(format='csv', compression='gzip')
    >>> form_of_name("people") is None
    True
    """
    suffixes = [suffix.lower() for suffix in PurePath(name).suffixes]
    compression = _COMPRESSED.get(suffixes[-1]) if suffixes else None
    if compression:
        suffixes.pop()
    format_ = _SUFFIXES.get(suffixes[-1]) if suffixes else None
    return FileForm(format_, compression) if format_ else None


def compression_of_bytes(start: bytes) -> Compression | None:
    """Return how a file that starts so is compressed as a whole, or ``None`` if it isn't."""
    return next((name for magic, name in _COMPRESSED_MAGIC if start.startswith(magic)), None)


def format_of_bytes(start: bytes, *, declared: Format | None, sure: bool, what: str) -> Format:
    """Return the format of a file by its first bytes and its declaration."""
    seen = next((name for magic, name in _MAGIC if start.startswith(magic)), None)
    if seen == "arrows" and declared == "arrow":
        return "arrows"  # Feather's ending is used for files and for streams
    if declared is None or seen == declared:
        return seen or ("jsonl" if start.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" else "csv")
    if seen is not None or declared not in TEXT_FORMATS:
        raise DataError(
            f"{what} is {'declared' if sure else 'named'} to be {declared}, but its first bytes "
            f"are {'not of that format' if seen is None else f'of {seen}'}.",
            hint="Say its format with [[format=|--format]]."
            if not sure
            else "Leave [[format=|--format]] away.",
        )
    return declared
