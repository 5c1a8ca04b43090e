"""Files of other programs: those that are read, and what to do with each of the others."""

from __future__ import annotations

import codecs
import re
from pathlib import PurePath
from typing import Final, Literal, TypeAlias, get_args

from halfmask._errors import DataError

#: The formats of other programs that are read. They aren't written.
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
