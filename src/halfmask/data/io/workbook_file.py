"""A frame as a workbook of one sheet: texts, numbers, dates and times."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from halfmask._foreign import need

if TYPE_CHECKING:
    from pathlib import Path

#: A time that no clock gave, so that one table is always the same file.
_NO_TIME: Final = dt.datetime(2000, 1, 1)  # noqa: DTZ001 # Excel knows no time zones


def write_workbook(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame as a workbook of one sheet; the same frame is always the same file."""
    need("xlsxwriter")
    import xlsxwriter  # noqa: PLC0415 # an extra

    book: Any = xlsxwriter.Workbook(str(path), {"in_memory": True})
    book.set_properties({"created": _NO_TIME})
    sheet = book.add_worksheet("cells")
    bold = book.add_format({"bold": True})
    times = {
        pl.Date: book.add_format({"num_format": "yyyy-mm-dd"}),
        pl.Datetime: book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss.000"}),
    }
    for at, name in enumerate(frame.columns):
        sheet.write_string(0, at, name, bold)
        column = frame[name]
        form = times.get(column.dtype.base_type())
        write = sheet.write_string if column.dtype == pl.String else sheet.write_number
        if form is not None:
            sheet.set_column(at, at, 24)
            write = sheet.write_datetime
        for row, value in enumerate(column.to_list(), 1):
            if value is not None:
                write(row, at, value, form)
    sheet.freeze_panes(1, 0)
    sheet.autofilter(0, 0, frame.height, frame.width - 1)
    book.close()
