"""SQLite: what its source and its target have in common."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import polars as pl

from halfmask._errors import DataError
from halfmask.data import quoted_name

if TYPE_CHECKING:
    from halfmask.databases._schema import TableColumn
    from halfmask.masks import Mask, TableMask

_CHUNK: Final = 50_000
#: SQLite's word for keys that are never used again.
COUNTED: Final = "AUTOINCREMENT"
#: How SQLite writes dates as texts: its function, and the format.
DATES: Final[dict[pl.DataType, tuple[str, str]]] = {
    pl.Date(): ("date", "%Y-%m-%d"),
    pl.Datetime("us"): ("datetime", "%Y-%m-%d %H:%M:%S"),
}
_BROKEN: Final = re.compile(r"(?:UNIQUE|NOT NULL) constraint failed: (.+)")


def sqlite_type(column: TableColumn, dtype: pl.DataType, mask: Mask | TableMask) -> str:
    """Return the type of a masked column."""
    del mask  # a type has no limit
    if dtype == column.dtype:
        return column.type
    if dtype == pl.String:
        return "TEXT"
    return "INTEGER" if dtype.is_integer() or dtype == pl.Boolean else "REAL"


@contextmanager
def asking(what: str) -> Iterator[None]:
    """Turn errors of SQLite into ours: its words quote cells."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        # SQLite tells columns as they are; of CHECK it tells the expression, which may have values.
        told = _BROKEN.match(str(error))
        place = f" ({told[1]})" if told else ""
        raise DataError(
            f"{what} refused a row: a key isn't unique, or a constraint doesn't hold{place}.",
            hint="The mask of a key must write different values differently.",
        ) from None
    except (sqlite3.Error, UnicodeError) as error:
        raise DataError(
            f"{what} can't be used ({type(error).__name__}).",
            hint="Check that it is a whole SQLite database, and that its disk has space.",
        ) from None


def frames_of(
    base: sqlite3.Connection, query: str, schema: dict[str, pl.DataType], what: str
) -> Iterator[pl.DataFrame]:
    with asking(what):
        cursor = base.execute(query)
        while rows := cursor.fetchmany(_CHUNK):
            try:
                frame = pl.DataFrame(
                    rows,
                    schema={n: pl.String() if it in DATES else it for n, it in schema.items()},
                    orient="row",
                ).with_columns(
                    pl.col(name).str.strptime(kind, DATES[kind][1])  # type: ignore[arg-type]
                    for name, kind in schema.items()
                    if kind in DATES
                )
            except (TypeError, OverflowError, pl.exceptions.PolarsError):
                raise DataError(f"{what} has cells of other types than were expected.") from None
            yield frame


def listed(names: Sequence[str]) -> str:
    return ", ".join(map(quoted_name, names))
