"""Tables of SQLite and DuckDB: databases that are one file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from halfmask._errors import DataError, SchemaError
from halfmask._foreign import need
from halfmask.data.arrow_types import check_times, refuse_foreign_types
from halfmask.data.frames import check_names, settled_dtype
from halfmask.data.io.columnar import spilled_reader
from halfmask.data.io.database_url import quoted_name
from halfmask.data.io.places import reading

if TYPE_CHECKING:
    from halfmask.data.io._read_options import ReadOptions
    from halfmask.data.io.columnar import ColumnarReader
    from halfmask.data.io.places import Place

_CHUNK: Final = 50_000
#: Every whole number up to it is a float64 of its own.
_EXACT: Final = 2**53


def open_sqlite(path: str | Path) -> sqlite3.Connection:
    """Open a database of SQLite for reading, in one transaction."""
    uri = f"{Path(path).absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN")
    return connection


def sqlite_reader(place: Place, table: str | None, options: ReadOptions) -> ColumnarReader:
    """Copy a table or a view of SQLite, and return a reader of the copy.

    Notes
    -----
    **Edge cases.** SQLite has no dates: texts that are dates stay texts until a type is declared.
    Whole numbers in a column with other numbers become floats, where they are below 2**53.
    """
    with (
        reading(place.what, "sqlite"),
        place.local() as path,
        closing(open_sqlite(str(path))) as base,
    ):
        listed = base.execute(
            "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')"
            " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
        )
        name = _choose_table([str(found) for (found,) in listed], table, place.what)
        dtypes = sqlite_types(base, name)
        check_names(list(dtypes))
        return spilled_reader(_sqlite_frames(base, name, dtypes), dtypes, options, place.what)


def sqlite_types(base: sqlite3.Connection, table: str) -> dict[str, pl.DataType]:
    """Return the type of each column of a table; see `sqlite_column_type`."""
    source = f"SELECT * FROM {quoted_name(table)}"
    names = [about[0] for about in base.execute(f"{source} LIMIT 0").description]
    return {name: sqlite_column_type(base, table, name) for name in names}


def sqlite_column_type(
    base: sqlite3.Connection, table: str, name: str, *, bytes_too: bool = False
) -> pl.DataType:
    """Return the type of a column of a table, by its cells."""
    column = quoted_name(name)
    found = base.execute(
        f"SELECT typeof({column}), min({column}), max({column}) FROM {quoted_name(table)}"
        f" WHERE {column} IS NOT NULL GROUP BY 1"
    ).fetchall()
    kinds = {kind for kind, _, _ in found}
    if kinds == {"integer"}:
        return pl.Int64()
    if kinds and kinds <= {"real", "integer"}:
        whole = [abs(end) for kind, *ends in found for end in ends if kind == "integer"]
        if max(whole, default=0) <= _EXACT:
            return pl.Float64()
    if kinds <= {"text"}:
        return pl.String()
    if bytes_too and kinds == {"blob"}:
        return pl.Binary()
    listed = " and ".join(sorted(kinds))
    raise SchemaError(
        f"Column {name!r} holds values of SQLite's type {listed}; it must be one type of number, "
        "or text.",
        hint="Read a view that casts the column, or one without it.",
    )


def _sqlite_frames(
    base: sqlite3.Connection, table: str, dtypes: dict[str, pl.DataType]
) -> Iterator[pl.DataFrame]:
    """Yield the rows of a table in frames."""
    columns = ", ".join(map(quoted_name, dtypes))
    cursor = base.execute(f"SELECT {columns} FROM {quoted_name(table)}")
    while rows := cursor.fetchmany(_CHUNK):
        yield pl.DataFrame(rows, schema=dtypes, orient="row")


def duckdb_reader(place: Place, table: str | None, options: ReadOptions) -> ColumnarReader:
    """Copy a table or a view of DuckDB, and return a reader of the copy."""
    need("duckdb")
    import duckdb  # noqa: PLC0415 - an extra

    with (
        reading(place.what, "duckdb"),
        place.local() as path,
        closing(duckdb.connect(str(path), read_only=True)) as base,
    ):
        base.execute("SET TimeZone = 'UTC'")
        listed = base.sql(
            "SELECT table_name FROM information_schema.tables"
            " WHERE table_schema = 'main' ORDER BY 1"
        ).fetchall()
        name = _choose_table([str(found) for (found,) in listed], table, place.what)
        _check_duckdb(base, name)
        rows = base.sql(f"SELECT * FROM main.{quoted_name(name)}").to_arrow_reader(_CHUNK)
        check_names(rows.schema.names)
        refuse_foreign_types(rows.schema)
        seen = pl.DataFrame(rows.schema.empty_table())
        dtypes = {column: settled_dtype(dtype, column) for column, dtype in seen.schema.items()}
        return spilled_reader(_frames(rows), dtypes, options, place.what)


def _check_duckdb(base: Any, table: str) -> None:  # noqa: ANN401 - duckdb has no types
    """Raise if DuckDB would hand out other values: in Arrow, it turns these types into others."""
    described = base.execute(f"DESCRIBE main.{quoted_name(table)}").fetchall()
    for column, dtype in ((str(row[0]), str(row[1])) for row in described):
        if dtype == "TIME WITH TIME ZONE":
            raise SchemaError(
                f"Column {column!r} holds times of day with a zone, which would be lost.",
                hint="Read a view that casts the column to text or to TIME.",
            )
        if dtype in {"HUGEINT", "UHUGEINT"}:
            most = f"{'9' * 38}::{dtype}"
            low = f" OR {quoted_name(column)} < -{most}" if dtype == "HUGEINT" else ""
            beyond = base.execute(
                f"SELECT count(*) FROM main.{quoted_name(table)}"
                f" WHERE {quoted_name(column)} > {most}{low}"
            ).fetchall()[0][0]
            if beyond:
                raise SchemaError(
                    f"Column {column!r} has {beyond} whole numbers of more than 38 digits.",
                    hint="Read a view that casts the column to text.",
                )


def _frames(batches: Any) -> Iterator[pl.DataFrame]:  # noqa: ANN401 - a reader of pyarrow
    for batch in batches:
        check_times(batch)
        frame = pl.from_arrow(batch)
        if isinstance(frame, pl.DataFrame) and frame.height:
            yield frame


def _choose_table(tables: list[str], wanted: str | None, what: str) -> str:
    """Return the name of the table to read."""
    if wanted is None and len(tables) == 1:
        return tables[0]
    if wanted is None:
        raise DataError(
            f"{what} is a database of {len(tables)} tables.",
            hint="Name one as table, or give sqlite:///FILE?table=NAME.",
        )
    if wanted not in tables:
        raise DataError(
            f"{what} isn't in the database.",
            hint=f"It has {len(tables)} tables; check the spelling and capitals.",
        )
    return wanted


#: What opens a table of a database that is a file.
FILE_READERS: dict[str, Callable[[Place, str | None, ReadOptions], ColumnarReader]] = {
    "sqlite": sqlite_reader,
    "duckdb": duckdb_reader,
}
