"""Sheets of Excel workbooks: one row of names, then one row a person."""

from __future__ import annotations

import datetime as dt
import io
import re
import zipfile
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import polars as pl

from halfmask._errors import DataError, SchemaError
from halfmask._foreign import need
from halfmask.data.frames import check_names
from halfmask.data.io.places import reading

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from halfmask.data.io.places import Place

    #: Reads a sheet's cells in one way or another.
    _Cells: TypeAlias = Callable[..., tuple[pl.DataFrame, dict[tuple[int, int], str]]]

#: Every whole number below it is a float64 of its own.
_EXACT: Final = 2.0**53
#: A formula without its result: a program wrote the file that doesn't calculate.
_NO_RESULT: Final = re.compile(rb"</f>\s*(?:<v\s*/>|<v></v>|</c>)|<f\b[^>]*/>\s*</c>")
#: What a cell holds that isn't of the wanted type.
_GOT: Final = re.compile(r"got '(\w+)")
#: The type of a column, by what its cells hold.
_DTYPES: Final = {"Float": "float", "Int": "float", "Bool": "boolean", "DateTime": "datetime"}
#: What a workbook holds before its first day has no day: it is a time of day.
_FIRST_DAY: Final = dt.date(1900, 1, 1)
#: The last row of merged cells.
_MERGED: Final = re.compile(rb'<(?:\w+:)?mergeCell\b[^>]*\bref="[A-Z]+\d+:[A-Z]+(\d+)"')


def read_sheet(
    place: Place, sheet: str | None, missing: Collection[str] | None = None, *, skip: int = 0
) -> pl.DataFrame:
    """Return the table of a sheet.

    Notes
    -----
    **Guarantees.** Excel stores numbers as floats and dates as times. A column of whole numbers
    becomes integers, one of midnights dates, and one of times without a day times of day. Empty
    rows at the end are left out.

    **Edge cases.** Merged cells of old ``.xls`` files aren't seen, except in the header.
    """
    need("fastexcel")
    import fastexcel  # noqa: PLC0415 - an extra

    with reading(place.what, "excel"):
        with place.open() as file:
            raw = file.read()
        book = fastexcel.read_excel(raw)
        number = _number_of(book.sheet_names, sheet, place.what)
        _check_cells(raw, number, place.what, skip)
        names = _header(book, number, place.what, skip)
        found = _load_sheet(partial(_cells, book, number, header_row=skip), names, missing or ())
    return _plain(found.rename(dict(zip(found.columns, names, strict=True))))


def _number_of(sheets: list[str], wanted: str | None, what: str) -> int:
    if wanted is None and len(sheets) == 1:
        return 0
    listed = f"Its sheets are: {', '.join(map(repr, sheets[:20]))}."
    if wanted is None:
        raise DataError(f"{what} has {len(sheets)} sheets.", hint=f"Name one as sheet. {listed}")
    if wanted not in sheets:
        raise DataError(f"{what} has no sheet of the given name.", hint=listed)
    return sheets.index(wanted)


def _check_cells(raw: bytes, number: int, what: str, skip: int) -> None:
    """Raise if the sheet has merged cells, or formulas that nobody has calculated."""
    text = _sheet_text(raw, number)
    if any(int(last) > skip for last in _MERGED.findall(text)):  # those of a title are left out
        raise DataError(
            f"{what} has merged cells: only the first cell of each has the value.",
            hint="Unmerge them, and fill in each cell; a header takes one row.",
        )
    if _NO_RESULT.search(text):
        raise DataError(
            f"{what} has formulas without results.",
            hint="Open the workbook in a spreadsheet program, and save it.",
        )


def _sheet_text(raw: bytes, number: int) -> bytes:
    """Return the XML of a sheet; empty bytes of a workbook that isn't made of XML."""
    if not zipfile.is_zipfile(io.BytesIO(raw)):
        return b""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        if "xl/workbook.xml" not in archive.namelist():
            return b""
        sheets = re.findall(rb"<(?:\w+:)?sheet\b[^>]*>", archive.read("xl/workbook.xml"))
        link = re.search(rb'\b\w+:id="([^"]*)"', sheets[number])
        relations = archive.read("xl/_rels/workbook.xml.rels")
        for relation in re.findall(rb"<(?:\w+:)?Relationship\b[^>]*>", relations):
            if link and b'Id="' + link[1] + b'"' in relation:
                target = re.search(rb'\bTarget="([^"]*)"', relation)
                name = target[1].decode() if target else ""
                return archive.read(name[1:] if name.startswith("/") else f"xl/{name}")
    return b""


def _header(book: Any, number: int, what: str, skip: int) -> list[str]:  # noqa: ANN401 - fastexcel's
    """Return the names in the first row that isn't empty, below those that are skipped."""
    how = {"skip_rows": skip, "n_rows": 1, "dtypes": "string"}
    first = book.load_sheet(number, header_row=None, **how).to_polars()
    if not first.height:
        raise DataError(f"{what} is an empty sheet.", hint="Give a sheet with a header and rows.")
    names = list(first.row(0))
    empty = [str(n) for n, name in enumerate(names, 1) if name is None or not name.strip()]
    if empty:
        raise SchemaError(
            f"Columns without a name: number {', '.join(empty[:20])} of {len(names)}.",
            hint="Write a name into each cell of the sheet's first row; unmerge merged cells. "
            "If it is a title, skip the lines above the names: [[skip_rows|--skip-rows]].",
        )
    check_names(names)
    return names


def _load_sheet(cells: _Cells, names: list[str], missing: Collection[str]) -> pl.DataFrame:
    import fastexcel  # noqa: PLC0415 - an extra

    try:
        found, wrong = cells(dtype_coercion="strict", schema_sample_rows=None)
    except fastexcel.UnsupportedColumnTypeCombinationError:
        wrong = {(0, 0): ""}
        found = pl.DataFrame()
    return _without_marks(cells, names, missing) if wrong else found


def _cells(book: Any, number: int, **how: Any) -> tuple[pl.DataFrame, dict[tuple[int, int], str]]:  # noqa: ANN401 - fastexcel's
    """Return a sheet's cells, and by row and column what the others hold, such as a String."""
    sheet = book.load_sheet(number, skip_whitespace_tail_rows=True, **how)
    batch, errors = sheet.to_arrow_with_errors()
    listed = [] if errors is None else errors.errors
    wrong = {each.offset_position: _GOT.search(each.detail) for each in listed}
    return pl.DataFrame(batch), {at: it[1] if it else "" for at, it in wrong.items()}


def _without_marks(cells: _Cells, names: list[str], missing: Collection[str]) -> pl.DataFrame:
    """Return the cells where columns have texts that mean missing among values of one type."""
    # No cell of a table is a span, so that each says what it is.
    _, kinds = cells(dtypes="duration")
    texts, _ = cells(dtypes="string")
    columns = []
    for place, name in enumerate(names):
        here = {row: kind for (row, at), kind in kinds.items() if at == place}
        column = texts.to_series(place)
        filled = column.is_not_null().arg_true().to_list()
        if "Error" in here.values():
            n_errors = sum(kind == "Error" for kind in here.values())
            raise DataError(
                f"Column {name!r} has {n_errors} cells with errors, such as #N/A.",
                hint="Correct their formulas, or empty these cells.",
            )
        is_mark = [here.get(row) == "String" and column[row] in missing for row in filled]
        held = [row for row, marked in zip(filled, is_mark, strict=True) if not marked]
        found = {here.get(row, "DateTime") for row in held}
        if len(found) > 1:
            n_texts = sum(here.get(row) == "String" for row in held)
            raise SchemaError(
                f"Column {name!r} holds values of more than one type: {', '.join(sorted(found))}."
                + f" {n_texts} of {len(filled)} cells are texts." * bool(n_texts),
                hint="Name the texts that mean a missing cell ([[missing|--missing]]), or "
                "format the column as one type, such as text, and enter its cells again.",
            )
        kind = _DTYPES.get(next(iter(found), "String"), "string")
        one, _ = cells(use_columns=[place], dtypes={place: kind})
        columns.append(one.to_series(0).alias(texts.columns[place]))
    return pl.DataFrame(columns)


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    """Return whole numbers as integers, midnights as dates, and empty texts as missing."""
    frame = frame.with_columns(pl.col(pl.String).replace("", None))
    return frame.with_columns(_narrow(column) for column in frame.get_columns())


def _narrow(column: pl.Series) -> pl.Series:
    cells = column.drop_nulls()
    if column.dtype.is_float() and ((cells == cells.round()) & (cells.abs() < _EXACT)).all():
        return column.cast(pl.Int64)
    is_time = isinstance(column.dtype, pl.Datetime)
    if is_time and cells.len() and (cells.dt.date() < _FIRST_DAY).all():
        return column.dt.time()
    if is_time and (cells.dt.time() == dt.time(0)).all():
        return column.cast(pl.Date)
    if is_time:
        return column.dt.cast_time_unit("us")
    return column
