"""What a table lies in, known by its name and first bytes: formats, other programs, addresses."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final, Literal, TypeAlias, get_args

from halfmask._errors import DataError, ParameterError, ReleaseError
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
_OBJECT: Final = re.compile(r"(?i:s3|gs|az)://")
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


def is_object_address(where: object) -> bool:
    """Return whether a text is the address of objects, and no path of a file.

    Examples
    --------
    >>> is_object_address("s3://bucket/people"), is_object_address("people")
    (True, False)
    """
    return isinstance(where, str) and _OBJECT.match(where) is not None


def refuse_object_address(where: object) -> None:
    """Raise if an output is the address of objects, where only a path will do."""
    if is_object_address(where):
        raise ReleaseError(
            "This output can't be written to an object store.",
            hint="Write to a local path, and copy it there, as with aws s3 cp --recursive.",
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


#: The formats of other programs that are read. `export_release` writes some of them.
ForeignFormat: TypeAlias = Literal["excel", "spss", "stata", "sas", "sqlite", "duckdb"]
FOREIGN_FORMATS: Final[tuple[ForeignFormat, ...]] = get_args(ForeignFormat)

_WORD = "Save the table as CSV."
_READ = "Read it by pandas.{} and give the DataFrame, or write it as Parquet."
_KINDS: dict[str, tuple[str, str]] = {
    "ods": ("an OpenDocument spreadsheet", "Save the sheet as CSV or as xlsx."),
    "por": ("a portable SPSS file", "Save it as .sav, or read it by pyreadstat.read_por."),
    "r": ("an R data file", "Write the table in R by write.csv(table, file, row.names=FALSE)."),
    "hdf": ("an HDF5 file", _READ.format("read_hdf")),
    "orc": ("an ORC file", _READ.format("read_orc")),
    "avro": ("an Avro file", "Write it as Parquet."),
    "pickle": ("a pickle of Python", "Load it only if you trust it, and give the DataFrame."),
    "numpy": ("an array of NumPy", "Load it, and give a DataFrame with named columns."),
    "pdf": ("a PDF document", _WORD),
    "html": ("a web page", _WORD),
    "xml": ("an XML document", _READ.format("read_xml")),
    "shapes": (
        "a file of shapes",
        "In QGIS, export points as CSV with GEOMETRY = AS_XY. Areas go into [maps] of a policy.",
    ),
    "zip": ("a ZIP archive", "Unpack it, and give the file or the folder."),
    "archive": (
        "an archive",
        "Unpack it, and give the file. gzip and zstd are read.",
    ),
}
# By the first bytes. A ZIP archive may be a workbook: then the name says which.
_STARTS: tuple[tuple[bytes, str], ...] = (
    (rb"PK\x03\x04.{26}(?:\[Content_Types\]|_rels/|docProps/|xl/)", "excel"),
    (rb"PK\x03\x04.{26}mimetypeapplication/vnd\.oasis", "ods"),
    (rb"PK(?:\x03\x04|\x05\x06)", "zip"),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "excel"),
    (rb"\$FL[23]", "spss"),
    (rb"<stata_dta>|[\x69-\x73][\x01\x02]\x01\x00", "stata"),
    (rb"\x00{12}\xc2\xea\x81\x60\xb3\x14\x11\xcf|HEADER RECORD\*{7}LIB", "sas"),
    (rb"RD[AX][23]\n|X\n\x00\x00\x00[\x02\x03]", "r"),
    (rb"\x89HDF\r\n\x1a\n", "hdf"),
    (rb"ORC(?=.{0,60}[\x00-\x08])", "orc"),  # and not "ORCID"
    (rb"SQLite format 3\x00", "sqlite"),
    (rb".{8}DUCK.[\x00-\x07]\x00\x00", "duckdb"),
    (rb"Obj\x01", "avro"),
    (rb"\x93NUMPY", "numpy"),
    (rb"\x80[\x02-\x05]", "pickle"),
    (rb"%PDF-", "pdf"),
    (rb"(?:\xef\xbb\xbf)?\s*(?i:<!doctype html|<html)", "html"),
    (rb"(?:\xef\xbb\xbf)?\s*<\?xml", "xml"),
    (rb"\x00\x00\x27\x0a\x00{20}", "shapes"),
    (rb"(?:\xef\xbb\xbf)?\s*\{\s*\"type\"\s*:\s*\"FeatureCollection\"", "shapes"),
    (rb"BZh[1-9]1AY&SY|\xfd7zXZ\x00|7z\xbc\xaf\x27\x1c|Rar!", "archive"),
)
_PATTERNS = tuple((re.compile(start, re.DOTALL), kind) for start, kind in _STARTS)
# Where the bytes say only that it's an archive, or nothing: old forms have no mark.
_ENDS = {
    ".xlsx": "excel", ".xlsm": "excel", ".xls": "excel", ".ods": "ods", ".sav": "spss",
    ".zsav": "spss", ".por": "por", ".dta": "stata", ".sas7bdat": "sas", ".xpt": "sas",
    ".rds": "r", ".rda": "r", ".rdata": "r",
}  # fmt: skip


_TAB = 9


def foreign_format(start: bytes, name: str, *, what: str) -> ForeignFormat | None:
    r"""Return the format of another program's file, or raise if such files aren't read.

    Examples
    --------
    >>> foreign_format(b"$FL2@(#) SPSS DATA FILE", "people.sav", what="The table to read")
    'spss'
    >>> foreign_format(b"%PDF-1.7", "people.pdf", what="The table to read")
    Traceback (most recent call last):
    ...
    halfmask._errors.DataError: The table to read is a PDF document, which halfmask doesn't read.
    <BLANKLINE>
    Hint: Save the table as CSV.
    """
    seen = next((kind for pattern, kind in _PATTERNS if pattern.match(start)), None)
    named = _ENDS.get(PurePath(name).suffix.lower())
    kind = named if seen in {None, "zip"} and named else seen
    if kind is None or (seen is None and _is_text(start)):
        return None
    for known in FOREIGN_FORMATS:
        if kind == known:
            return known
    about, hint = _KINDS[kind]
    raise DataError(f"{what} is {about}, which halfmask doesn't read.", hint=hint)


def _is_text(start: bytes) -> bool:
    """Return whether bytes may be of a text file, whatever it is named."""
    return start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or min(start) >= _TAB
