"""A workbook of one sheet, read with the standard library: texts and numbers, and nothing else.

A workbook is an archive, in which more can travel than its sheet shows. A part that isn't known, a
second sheet, a formula and a text that no cell shows are refused.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET

from halfmask._errors import VerificationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: What a cell holds.
Cell = str | float | None

_SPACE: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_SHEET, _STRINGS = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
_NEEDED: Final = {"[Content_Types].xml", "_rels/.rels", "xl/workbook.xml", _SHEET}
#: Parts without cells: properties, fonts and links between parts.
_PLAIN: Final = {
    *("docProps/app.xml", "docProps/core.xml", "xl/_rels/workbook.xml.rels", "xl/styles.xml"),
    *("xl/theme/theme1.xml", _STRINGS),
}
#: What reading an archive that isn't one can end in.
_FAULTS: Final = (zipfile.BadZipFile, zlib.error, ValueError, IndexError, RuntimeError, OSError)
#: What a sheet may consist of: cells, and how they are shown.
_TAGS: Final = {
    *("worksheet", "dimension", "sheetPr", "sheetViews", "sheetView", "pane", "selection", "cols"),
    *("col", "sheetFormatPr", "sheetData", "row", "c", "v", "is", "t", "autoFilter", "pageMargins"),
}
#: No part may unpack to more bytes, and no row has more cells than Excel has columns.
_MOST_BYTES: Final = 1 << 30
_MOST_COLUMNS: Final = 16_384
_PLACE: Final = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6})")
_ESCAPED: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")


def read_workbook(path: Path) -> list[list[Cell]]:
    """Return the rows of a workbook's only sheet, the first one being its header."""
    try:
        with zipfile.ZipFile(path) as archive:
            _check_parts(archive.namelist())
            has_texts = _STRINGS in archive.namelist()
            found = _elements(archive, _STRINGS, "si") if has_texts else ()
            texts = [_text(each) for each in found]
            shown: set[int] = set()
            rows = [_row(each, texts, shown) for each in _elements(archive, _SHEET, "row")]
    except VerificationError:
        raise
    except (*_FAULTS, ET.ParseError):
        raise VerificationError("It isn't a workbook.") from None
    if [number for number, _ in rows] != [*range(1, len(rows) + 1)]:
        raise VerificationError("Its sheet leaves rows out, or has one twice.")
    if len(shown) < len(texts):
        raise VerificationError("It has texts that its sheet doesn't show.")
    return [cells for _, cells in rows]


def _check_parts(names: list[str]) -> None:
    if len(set(names)) < len(names) or not _NEEDED <= {*names} <= _NEEDED | _PLAIN:
        raise VerificationError("It has other parts than a workbook of one sheet.")


def _elements(archive: zipfile.ZipFile, name: str, tag: str) -> Iterator[ET.Element]:
    """Yield the elements of one tag, each once it is complete."""
    if archive.getinfo(name).file_size > _MOST_BYTES:
        raise VerificationError("One of its parts is too large.")
    with archive.open(name) as file:
        parser: Any = ET.XMLPullParser(("end",))
        start = file.read(1 << 16)
        # Without a document type there are no entities, which could unpack to any size.
        if b"<!DOCTYPE" in start or not start.lstrip().startswith(b"<?xml"):
            raise VerificationError("It has a document type.")
        block = start
        while block:
            parser.feed(block)
            for _, element in parser.read_events():
                plain = str(element.tag).removeprefix(_SPACE)
                if name == _SHEET and plain not in _TAGS:
                    raise VerificationError("Its sheet has more than texts and numbers.")
                if plain == tag:
                    yield element
                    element.clear()
            block = file.read(1 << 16)
        parser.close()


def _text(element: ET.Element) -> str:
    """Return the text of a string, all runs of one format together."""
    whole = "".join(each.text or "" for each in element.iter(f"{_SPACE}t"))
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), whole)


def _row(row: ET.Element, texts: list[str], shown: set[int]) -> tuple[int, list[Cell]]:
    """Return the number of a row and its cells; `shown` gets the texts that it shows."""
    cells: list[Cell] = []
    for each in row:
        place = _PLACE.fullmatch(each.get("r", ""))
        if place is None or place[2] != row.get("r"):
            raise VerificationError("A cell isn't in the place that it states.")
        column = 0
        for letter in place[1]:
            column = column * 26 + ord(letter) - ord("A") + 1
        if not len(cells) < column <= _MOST_COLUMNS:
            raise VerificationError("A row has a cell twice, or too many of them.")
        cells += [None] * (column - len(cells) - 1)
        cells.append(_cell(each, texts, shown))
    return int(row.get("r", "0")), cells


def _cell(cell: ET.Element, texts: list[str], shown: set[int]) -> Cell:
    kind, value = cell.get("t", "n"), cell.findtext(f"{_SPACE}v")
    if kind == "s" and value is not None:
        shown.add(int(value))
        return texts[int(value)]
    if kind == "inlineStr" and value is None:
        return _text(cell)
    if kind != "n":
        raise VerificationError("A cell is neither text nor a number.")
    return None if value is None else float(value)
