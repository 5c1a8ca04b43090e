"""The form that says how a table is read, and what was seen of the file itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from halfmask._errors import HalfmaskError, ParameterError
from halfmask.data.io.database_file import open_sqlite
from halfmask.data.io.dialect import DELIMITERS as SNIFFED
from halfmask.data.io.dialect import RowLines, excel_delimiter, sniff
from halfmask.data.io.places import TextStream, places_of, reading

if TYPE_CHECKING:
    from halfmask.data import ReadOptions
    from halfmask.workbench._page import Fields

Kind: TypeAlias = Literal["text", "lines", "sheet", "database", "columns"]

DELIMITERS: Final = {
    ",": "comma (,)",
    ";": "semicolon (;)",
    "\t": "tab",
    "|": "bar (|)",
    " ": "blank",
    ":": "colon (:)",
}
ENCODINGS: Final = (
    *("utf-8", "latin-1", "cp1252", "utf-16", "cp1250", "iso-8859-15", "cp1251"),
    *("shift_jis", "gb18030", "big5"),
)
_KINDS_OF_ENDS: Final[dict[str, Kind]] = {
    **dict.fromkeys(("csv", "txt", "tsv", "tab"), "text"),
    **dict.fromkeys(("jsonl", "ndjson", "json"), "lines"),
    **dict.fromkeys(("xlsx", "xlsm", "xls"), "sheet"),
    **dict.fromkeys(("sqlite", "sqlite3", "db", "duckdb"), "database"),
    **dict.fromkeys(("parquet", "pq", "arrow", "ipc", "feather", "arrows"), "columns"),
    **dict.fromkeys(("sav", "zsav", "dta", "sas7bdat", "xpt"), "columns"),
}
_KINDS: Final[dict[str, Kind]] = {
    **_KINDS_OF_ENDS,
    "excel": "sheet",
    **dict.fromkeys(("spss", "stata", "sas", "postgresql"), "columns"),
}
#: How the names of tables end, perhaps after that of a compressed file.
ENDS: Final = frozenset(_KINDS_OF_ENDS)
_NO_TABLES: Final = frozenset(
    ("7z", "doc", "docx", "gif", "htm", "html", "jpeg", "jpg", "odt", "pdf", "png", "rar", "zip")
)
_WINDOWS: Final = "cp1252"
_BLOCK: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What keeps the cells of a text file apart, as it was found."""

    delimiter: str
    quote: str
    encoding: str

    @property
    def words(self) -> str:
        """The delimiter in words."""
        return DELIMITERS.get(self.delimiter, self.delimiter)


def kind_of(form: str) -> Kind:
    """Return which questions a file's format needs: of a source, or of the end of a name."""
    return _KINDS.get(form, "text")


def end_of(name: str) -> str:
    """Return how a file's name ends, which stands for its format until it was opened."""
    plain = re.sub(r"\.(gz|zst|zstd)$", "", name.lower())
    return PurePath(plain).suffix.lstrip(".")


def can_be_read(where: Path) -> bool:
    """Return whether a file may be a table that is read otherwise: no setting helps a picture."""
    return end_of(where.name) not in _NO_TABLES and where.stat().st_size > 0


def seen_in(where: Path, options: ReadOptions) -> Seen | None:
    """Return the dialect of a text file; ``None`` where nothing can be seen."""
    try:
        place = places_of(where)[0]
        text = TextStream(place, encoding=options.encoding)
        lines = RowLines(
            text,
            skip=options.skip_rows,
            comment=options.comment,
            drop=False,
            quote=options.quote,
            delimiters="".join(SNIFFED),
        )
        with closing(lines):
            sample = lines.read(_BLOCK).decode("utf-8", errors="ignore").lstrip("\r\n")
        tabs = "\t" if end_of(where.name) in {"tsv", "tab"} else None
        wanted = options.delimiter or excel_delimiter(sample) or tabs
        found = sniff(sample, delimiter=wanted, quote=options.quote, what=place.what)
    except (HalfmaskError, OSError, ValueError):
        return None
    return Seen(delimiter=found.delimiter, quote=found.quote, encoding=text.encoding)


def names_in(where: Path, kind: Kind) -> list[str]:
    """Return the names of the sheets or tables of a file that has several."""
    if kind not in {"sheet", "database"}:
        return []
    try:
        with reading("The table to read"):
            if kind == "sheet":
                import fastexcel  # noqa: PLC0415 # an extra

                return list(fastexcel.read_excel(where).sheet_names)
            with closing(open_sqlite(where)) as base:
                found = base.execute(
                    "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name"
                )
                return [str(name) for (name,) in found if not str(name).startswith("sqlite_")]
    except HalfmaskError:  # its name can be typed
        return []


def reading_from(fields: Fields, reading: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reading with what a form says; what the form doesn't ask stays."""
    changed = dict(reading)
    if fields.has("marks"):
        marks = [line.strip() for line in fields.text("marks").splitlines() if line.strip()]
        empty = [""] if fields.has("empty") else []
        # Of a CSV file an empty cell is missing unless something else is said.
        changed["missing"] = None if empty and not marks else [*empty, *marks]
    if fields.has("delimiter"):
        code = fields.text("delimiter")
        changed["delimiter"] = chr(int(code)) if code.isdecimal() and len(code) < 4 else None
    if fields.has("encoding"):
        changed["encoding"] = fields.text("encoding") or "utf-8"
    if fields.has("header"):
        changed["header"] = {"yes": True, "no": False}.get(fields.text("header"))
    if fields.has("skip_rows"):
        changed["skip_rows"] = fields.whole("skip_rows") if fields.text("skip_rows") else 0
        if changed["skip_rows"] < 0:
            raise ParameterError("The number of lines to skip must be 0 or more.")
    for name in ("sheet", "table"):
        if fields.has(name):
            changed[name] = fields.text(name) or None
    return {key: it for key, it in changed.items() if it is False or it not in (None, 0, "utf-8")}


def form_of(
    where: Path | None, form: str, options: ReadOptions, reading: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the form shows: what was said, and what was seen."""
    kind = kind_of(form)
    marks = reading.get("missing")
    encoding = str(reading.get("encoding", "utf-8"))
    seen = None
    if where is not None and kind == "text":
        seen = seen_in(where, options)
        if seen is None:  # of Excel on Windows it often is this one
            seen = seen_in(where, replace(options, encoding=_WINDOWS))
            encoding = encoding if seen is None else _WINDOWS
    delimiter = reading.get("delimiter")
    names = [] if where is None else names_in(where, kind)
    known = {} if delimiter is None else {str(delimiter): str(delimiter)}
    return {
        "kind": kind,
        "seen": seen,
        "delimiters": {ord(it): words for it, words in (known | DELIMITERS).items()},
        "delimiter": "" if delimiter is None else ord(delimiter),
        "encodings": {it: it for it in (*ENCODINGS, encoding)}.items(),
        "encoding": encoding,
        "header": {None: "", True: "yes", False: "no"}[reading.get("header")],
        "skip_rows": reading.get("skip_rows", 0),
        "marks": "\n".join(it for it in marks or () if it),
        "empty": marks is None or "" in marks,
        "names": names,
        "named": [(it, it) for it in names],
        "name": reading.get("sheet" if kind == "sheet" else "table") or "",
    }
