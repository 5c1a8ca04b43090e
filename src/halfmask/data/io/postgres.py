"""PostgreSQL: one connection in one snapshot, and the types of its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Self

import polars as pl

from halfmask._errors import DataError, HalfmaskError, SchemaError
from halfmask._foreign import need
from halfmask.data.io._postgres_errors import refusal, server_error
from halfmask.data.io.columnar import spilled_reader
from halfmask.data.io.database_url import quoted_name

if TYPE_CHECKING:
    from types import TracebackType

    from halfmask.data.io._read_options import ReadOptions
    from halfmask.data.io.columnar import ColumnarReader
    from halfmask.data.io.database_url import DatabaseUrl

_MAX_DIGITS: Final = 38
#: The most digits before the point, and behind it.
_SIZE: Final = (
    "max(length(trunc(abs({0}))::text)) FILTER (WHERE {0} NOT IN ('NaN', 'Infinity', '-Infinity')),"
    " max(scale({0}))"
)
#: Days from 1970 to the first of year 1 and the last of 9999, which text, polars and Python all
#: have. Others, and infinity, which Arrow counts as some other day, have no date of ours.
_DAYS: Final = (-719_162, 2_932_896)
_MICROSECONDS: Final = 86_400_000_000
_NATIVE: Final[dict[str, pl.DataType]] = {
    "bool": pl.Boolean(),
    "int2": pl.Int16(),
    "int4": pl.Int32(),
    "int8": pl.Int64(),
    "float4": pl.Float32(),
    "float8": pl.Float64(),
    "text": pl.String(),
    "varchar": pl.String(),
    "date": pl.Date(),
    "time": pl.Time(),
    "timestamp": pl.Datetime("us"),
    "timestamptz": pl.Datetime("us", "UTC"),
}
#: Types whose text is the value that people know.
_TEXTUAL: Final = frozenset(
    {"bpchar", "citext", "cidr", "inet", "macaddr", "macaddr8", "name", "uuid"}
)
#: How values are written as text, whatever the database or the user has set.
_SETTINGS: Final[dict[str, str]] = {
    "bytea_output": "hex",
    "datestyle": "ISO, YMD",
    "extra_float_digits": "3",
    "intervalstyle": "postgres",
    "lc_monetary": "C",
    "search_path": "pg_catalog",
    "timezone": "UTC",
}

#: A transaction goes on after an error only in a block of its own.
_TRIED: Final = """
BEGIN PERFORM set_config({setting}, '', true); EXECUTE {statement};
EXCEPTION WHEN OTHERS THEN PERFORM set_config({setting}, SQLSTATE, true); END
"""


def literal(text: str) -> str:
    r"""Return a text as PostgreSQL writes it, whatever its settings are.

    Examples
    --------
    >>> literal("it's")
    "E'it''s'"
    """
    return "E'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


class PostgresConnection:
    """A connection whose statements are all in one transaction.

    Notes
    -----
    **Guarantees.** Errors hold neither the URL nor the server's words, which quote cells. A
    transaction that isn't committed has no effect.
    """

    def __init__(self, url: DatabaseUrl, what: str, *, reads: bool) -> None:
        need("adbc_driver_postgresql")
        from adbc_driver_postgresql import dbapi  # noqa: PLC0415 - an extra

        self._what = what
        self._about = ""
        with self._asking():
            self._connection = dbapi.connect(url.location)
        try:
            if reads:
                self.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                # Else row-level security would leave out rows without an error.
                self.execute("SET LOCAL row_security = off")
            settings = ", ".join(
                f"set_config({literal(name)}, {literal(value)}, true)"
                for name, value in _SETTINGS.items()
            )
            self.rows(f"SELECT {settings}")
        except HalfmaskError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the transaction without effect, and the connection."""
        from adbc_driver_manager import Error  # noqa: PLC0415 - an extra

        with suppress(Error):  # the server may be gone, and the transaction with it
            self._connection.rollback()
        with suppress(Error):
            self._connection.close()

    def commit(self) -> None:
        """Let what was written be there."""
        with self._asking():
            self._connection.commit()

    def execute(self, statement: str) -> None:
        """Run a statement that returns no rows."""
        with self._asking(), self._connection.cursor() as cursor:
            cursor.execute(statement)

    def tried(self, statement: str) -> DataError | None:
        """Run a statement that returns no rows; return its error, and go on without its effect."""
        setting = "halfmask.refused"
        self.execute(
            f"DO {literal(_TRIED.format(statement=literal(statement), setting=literal(setting)))}"
        )
        ((state,),) = self.rows(f"SELECT current_setting({literal(setting)})")
        return refusal(state, self._what, self._about) if state else None

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query, all of them."""
        with self._asking(), self._connection.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    def decimal_types(self, table: str, names: Sequence[str]) -> dict[str, pl.Decimal | None]:
        """Return the types that columns of decimals of any size need; ``None`` if none has it."""
        asked = ", ".join(_SIZE.format(quoted_name(name)) for name in names)
        (found,) = self.rows(f"SELECT {asked} FROM {table}")
        types: dict[str, pl.Decimal | None] = {}
        for name, digits, scale in zip(names, found[::2], found[1::2], strict=True):
            precision = (digits or 1) + (scale or 0)
            types[name] = pl.Decimal(precision, scale or 0) if precision <= _MAX_DIGITS else None
        return types

    def frames(self, query: str) -> Iterator[pl.DataFrame]:
        """Yield the rows of a query as they arrive, in frames of some megabytes."""
        with self._asking(), self._connection.cursor() as cursor:
            cursor.execute(query)
            for batch in cursor.fetch_record_batch():
                frame = pl.from_arrow(batch)
                if isinstance(frame, pl.DataFrame) and frame.height:
                    for name, cells in zip(frame.columns, batch.columns, strict=True):
                        _check_times(name, frame[name].null_count() - cells.null_count)
                    yield frame

    def append(self, table: str, rows: Any, *, schema: str | None) -> None:  # noqa: ANN401 - a table of pyarrow
        """Add rows to a table by COPY; without a schema, to a temporary table."""
        with self._asking(), self._connection.cursor() as cursor:
            where = {"temporary": True} if schema is None else {"db_schema_name": schema}
            cursor.adbc_ingest(table, rows, mode="append", **where)

    @contextmanager
    def about(self, place: str) -> Iterator[None]:
        """Say in errors what is being done, such as ``"the table 'people'"``."""
        before, self._about = self._about, place
        try:
            yield
        finally:
            self._about = before

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Turn errors of the driver into ours: its words quote cells, hosts and users."""
        from adbc_driver_manager import Error  # noqa: PLC0415 - an extra

        try:
            yield
        except HalfmaskError:
            raise
        except (Error, OSError) as error:
            raise server_error(error, self._what, self._about) from None


def _check_times(column: str, lost: int) -> None:
    if lost:
        raise SchemaError(
            f"Column {column!r} has {lost} times of 24:00, which no type of ours holds.",
            hint="Read a view in which these are NULL, or text.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresColumn:
    """A column of a table, and how it is read."""

    name: str
    type: str
    base: str
    dtype: pl.DataType | None
    labels: tuple[str, ...] = ()
    made: int = 0

    @property
    def expression(self) -> str:
        """What SELECT asks for, so that ADBC gives a plain type."""
        if self.base in _NATIVE:
            # Its column may be of a domain, which ADBC doesn't know.
            return f"{quoted_name(self.name)}::{self.base} AS {quoted_name(self.name)}"
        return text_of(self.name, self.type)

    def cells(self, column: pl.Series) -> pl.Series:
        """Return cells that were read, in the column's type."""
        if self.dtype is not None and self.dtype.is_temporal() and self.dtype != pl.Time:
            size = 1 if self.dtype == pl.Date else _MICROSECONDS
            first, last = _DAYS[0] * size, (_DAYS[1] + 1) * size - 1
            if not column.drop_nulls().to_physical().is_between(first, last).all():
                raise SchemaError(
                    f"Column {self.name!r} has times that are infinite, before year 1 or after "
                    "9999.",
                    hint="Read a view in which these are NULL.",
                )
        if isinstance(self.dtype, pl.Decimal):
            found = column.cast(self.dtype, strict=False)
            if found.null_count() > column.null_count():
                raise SchemaError(
                    f"Column {self.name!r} has decimals that are NaN or infinite.",
                    hint="Read a view in which these are NULL.",
                )
            return found
        return column.cast(self.dtype or pl.String())


def text_of(name: str, kind: str) -> str:
    """Return what SELECT asks for to get the text of a column, of a type as SQL writes it."""
    quoted = quoted_name(name)
    # A cast would drop blanks at the end, which are part of texts without a length.
    text = f"textin(bpcharout({quoted}))" if kind == "bpchar" else f"{quoted}::text"
    return f"{text} AS {quoted}"


_COLUMNS: Final = """
WITH RECURSIVE bases(attnum, oid, typmod) AS (
  SELECT a.attnum, a.atttypid, a.atttypmod FROM pg_attribute a
  WHERE a.attrelid = {table} AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT b.attnum, t.typbasetype, t.typtypmod FROM bases b JOIN pg_type t ON t.oid = b.oid
  WHERE t.typtype = 'd'
)
SELECT a.attname::text, format_type(t.oid, b.typmod), t.typname::text, t.typtype::text,
  b.typmod, (SELECT array_to_json(array_agg(e.enumlabel ORDER BY e.enumsortorder))::text
             FROM pg_enum e WHERE e.enumtypid = t.oid),
  (CASE WHEN t.typcategory = 'A' THEN t.typelem ELSE t.oid END)::int8
FROM bases b JOIN pg_type t ON t.oid = b.oid AND t.typtype <> 'd'
JOIN pg_attribute a ON a.attrelid = {table} AND a.attnum = b.attnum
ORDER BY a.attnum
"""


def table_columns(connection: PostgresConnection, table: int) -> list[PostgresColumn]:
    """Return the columns of a table, in order."""
    import json  # noqa: PLC0415 - used here alone

    return [
        PostgresColumn(
            name=name,
            type=written,
            base="enum" if kind == "e" else base,
            dtype=_dtype(base, kind, typmod),
            labels=tuple(json.loads(labels)) if labels else (),
            made=made,
        )
        for name, written, base, kind, typmod, labels, made in connection.rows(
            _COLUMNS.format(table=table)
        )
    ]


def _dtype(base: str, kind: str, typmod: int) -> pl.DataType | None:
    if base in _NATIVE:
        return _NATIVE[base]
    if base in _TEXTUAL or kind == "e":
        return pl.String()
    if base == "numeric" and typmod >= 0:
        # As PostgreSQL packs them: the precision, and the scale in eleven bits with a sign.
        precision, scale = ((typmod - 4) >> 16) & 0xFFFF, ((((typmod - 4) & 0x7FF) ^ 1024) - 1024)
        if precision <= _MAX_DIGITS and 0 <= scale <= precision:
            return pl.Decimal(precision, scale)
    return None


def postgres_reader(url: DatabaseUrl, options: ReadOptions, what: str) -> ColumnarReader:
    """Copy a table or a view of PostgreSQL in one statement, and return a reader of the copy.

    Notes
    -----
    **Guarantees.** The copy is of one snapshot. It lies in a file without a name, and memory
    holds a few batches of it.
    """
    if url.table is None:
        raise DataError(
            f"{what} is a database, and no table of it is named.",
            hint="Add ?table=schema.table to the URL.",
        )
    with PostgresConnection(url, what, reads=True) as connection:
        name = quoted_name(url.table)
        schema = None if url.schema is None else quoted_name(url.schema)
        oid = _oid(connection, name, schema, what)
        columns = table_columns(connection, oid)
        columns = [_with_scale(connection, it, oid) for it in columns]
        for column in columns:
            _check_readable(column)
        asked = ", ".join(column.expression for column in columns)
        source = connection.rows(f"SELECT {oid}::regclass::text")[0][0]
        frames = _typed(connection.frames(f"SELECT {asked} FROM {source}"), columns)
        dtypes = {it.name: it.dtype for it in columns if it.dtype is not None}
        reader = spilled_reader(frames, dtypes, options, what)
    reader.orders |= {it.name: it.labels for it in columns if it.labels}
    return reader


def _oid(connection: PostgresConnection, name: str, schema: str | None, what: str) -> int:
    if schema is None:
        connection.execute("SET LOCAL search_path = DEFAULT")
    qualified = name if schema is None else f"{schema}.{name}"
    ((oid,),) = connection.rows(f"SELECT to_regclass({literal(qualified)})::oid::int8")
    connection.execute("SET LOCAL search_path = pg_catalog")
    if oid is None:
        raise DataError(
            f"{what} isn't in the database.",
            hint="Give its schema and name, as in ?table=public.people; capitals count.",
        )
    return int(oid)


def _with_scale(connection: PostgresConnection, column: PostgresColumn, oid: int) -> PostgresColumn:
    """Return a column of decimals of any size with the size that its values need."""
    if column.base != "numeric" or column.dtype is not None:
        return column
    table = connection.rows(f"SELECT {oid}::regclass::text")[0][0]
    dtype = connection.decimal_types(table, [column.name])[column.name]
    if dtype is None:
        raise SchemaError(
            f"Column {column.name!r} has decimals of more than {_MAX_DIGITS} digits.",
            hint="Read a view in which they are rounded.",
        )
    return replace(column, dtype=dtype)


def _check_readable(column: PostgresColumn) -> None:
    if column.dtype is None:
        kind = re.sub(r"\(.*\)", "", column.type)
        raise SchemaError(
            f"Column {column.name!r} is of PostgreSQL's type {kind}; each cell must be one number, "
            "text, date, time or truth value.",
            hint="Read a view without the column, or one that casts it to text.",
        )


def _typed(
    frames: Iterator[pl.DataFrame], columns: Sequence[PostgresColumn]
) -> Iterator[pl.DataFrame]:
    for frame in frames:
        yield frame.with_columns(column.cells(frame[column.name]) for column in columns)
