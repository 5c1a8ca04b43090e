"""Options of reading a table, and how it is opened."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, ClassVar

from halfmask._errors import ColumnNotFoundError, ParameterError
from halfmask.cli import _rooms as rooms
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import items_of, option
from halfmask.cli._options import FileFormat  # noqa: TC001 # typer reads it

if TYPE_CHECKING:
    import polars as pl

    from halfmask.data import ReadOptions, Schema, Source
    from halfmask.microdata import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderOptions:
    """Where the rows of a table begin, and what its columns are called."""

    heading: ClassVar = "Reading the table"
    header: bool | None = option(
        "--header/--no-header: State whether the first row of a CSV file has the column names. "
        "Without either option, a first row that looks like data is an error."
    )
    skip_rows: int | None = option(
        "--skip-rows LINES: Number of lines to skip at the start of a CSV file.", min=0
    )
    comment: str | None = option(
        "--comment START: Skip lines of a CSV file that start with this text, such as #."
    )
    column_names: str | None = option(
        "--column-names NAME,NAME,...: Names of all columns of a CSV file. With --header they "
        "replace those of the file."
    )

    sheet: str | None = option(
        "--sheet NAME: The sheet to read of an Excel workbook that has several."
    )
    of_database: str | None = option(
        "--table NAME: The table to read of a database file that has several."
    )

    def options(self) -> dict[str, object]:
        """Return it as `halfmask.data.ReadOptions` takes it; nothing where nothing was given."""
        found = asdict(self)
        found["table"] = found.pop("of_database")  # a command's table is the argument TABLE
        if self.column_names is not None:
            found["column_names"] = items_of(self.column_names, "A name of --column-names")
        return {name: it for name, it in found.items() if it is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnOptions:
    """The types of columns, and how their cells are written."""

    heading: ClassVar = "Reading the table"
    dtype: list[str] | None = option(
        "--dtype COLUMN=TYPE: A column's type: string, integer, float, boolean, date, datetime, "
        "or datetime_utc or datetime_Europe/Berlin for times with a zone; may be given more than "
        "once."
    )
    date_format: list[str] | None = option(
        "--date-format COLUMN=FORMAT: How a column writes dates, such as born=%d.%m.%Y; may be "
        "given more than once."
    )
    first_year: list[str] | None = option(
        "--first-year COLUMN=YEAR: The first year of the century of a column's two-digit years "
        "(%y): with born=1930, 48 is 1948."
    )
    number_format: list[str] | None = option(
        "--number-format COLUMN=EXAMPLE: How a column writes 1234.5, such as 'pay=1.234,5 EUR'; "
        "may be given more than once."
    )
    coerce: list[str] | None = option(
        "--coerce COLUMN: Make cells of this column missing if they don't fit its type or "
        "format, and count them; may be given more than once."
    )

    def options(self) -> dict[str, object]:
        """Return it as `halfmask.data.ReadOptions` takes it; nothing where nothing was given."""
        found: dict[str, object] = {
            "dtypes": _pairs(self.dtype, "--dtype", str),
            "date_formats": _pairs(self.date_format, "--date-format", str),
            "first_years": _pairs(self.first_year, "--first-year", int),
            "number_formats": _pairs(self.number_format, "--number-format", str),
            "coerce": tuple(self.coerce or ()),
        }
        return {name: value for name, value in found.items() if value}

    def of(self, names: Collection[str]) -> ColumnOptions:
        """Return what is given for some columns."""
        kept = {  # COLUMN=VALUE, or a column alone
            name: [it for it in given or () if (it.rpartition("=")[0] or it) in names] or None
            for name, given in asdict(self).items()
        }
        return ColumnOptions(**kept)


def _pairs(
    value: Sequence[str] | None, option: str, of: Callable[[str], object]
) -> dict[str, object]:
    pairs: dict[str, object] = {}
    for each in value or ():
        column, equals, what = each.rpartition("=")
        try:
            pairs[column] = of(what)
        except ValueError:
            equals = ""
        if not (column and equals and what):
            raise UsageError(
                f"{option} takes COLUMN=VALUE.", hint=f"See the example of {option} in --help."
            )
    return pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class FormOptions:
    """How a file is written."""

    heading: ClassVar = "Reading the table"
    format: FileFormat | None = option(
        "--format FORMAT: TABLE's format, if its name doesn't state it: csv, tsv, parquet, arrow "
        "(a file), arrows (a stream) or jsonl."
    )
    delimiter: str | None = option(
        "--delimiter CHARACTER: The character between the cells of a CSV file."
    )
    encoding: str = option("--encoding ENCODING: The encoding of a text file.", "utf-8")
    head: HeaderOptions = field(default_factory=HeaderOptions)

    def options(self, missing: Sequence[str] | None, **more: object) -> ReadOptions:
        """Return the given options of a table; empty cells are missing."""
        marks = None if missing is None else tuple(dict.fromkeys(("", *missing)))
        try:
            return rooms.data.ReadOptions(
                delimiter="\t" if self.delimiter == "\\t" else self.delimiter,
                encoding=self.encoding,
                missing=marks,
                **self.head.options(),  # type: ignore[arg-type] # it says what doesn't fit
                **more,  # type: ignore[arg-type] # as above
            )
        except ParameterError as error:
            raise UsageError(error.what, hint=error.hint) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a table is to be read."""

    heading: ClassVar = "Reading the table"
    leave_out: list[str] | None = option(
        "--leave-out COLUMN: A column to leave out; may be given more than once."
    )
    mark: list[str] | None = option(
        "--missing TEXT: A text that marks a missing cell, such as ?; may be given more than once."
    )
    form: FormOptions = field(default_factory=FormOptions)
    columns: ColumnOptions = field(default_factory=ColumnOptions)
    called: str = "The table to read"

    def open(self, table: str, *, plan: rooms.encode.CodecPlan | None = None) -> Source:
        """Open a table; the cells of a text file become what they were for a codec's plan."""
        source = self._open(table, {})
        if plan is not None and table != "-":  # standard input was read to its end
            declared = plan.to_declare(source.dtypes, format=source.format)
            source = self._open(table, declared) if declared else source
        return source.without(self.leave_out) if self.leave_out else source

    def options(self, fitted: Mapping[str, pl.DataType] | None = None) -> ReadOptions:
        """Return the given options of a table."""
        return self.form.options(self.mark, fitted=fitted or {}, **self.columns.options())

    def check_alone(self, policy: str | None) -> None:
        """Refuse a policy, which states how the tables are read, and other options of that."""
        if policy is not None and self != Reading():
            raise UsageError(
                "--policy and options of reading are given.",
                hint="The policy states how the tables are read: leave the other options out.",
            )

    def read(self, table: str, policy: Policy | None, *, called: str | None = None) -> pl.DataFrame:
        """Return a table, read as a policy states, or as the options do."""
        if policy is None:
            return self.open(table).read()
        called = self.called if called is None else called
        return rooms.data.open_table(table, options=policy.read_options(), called=called).read()

    def for_hashing(self, table: str) -> tuple[str | Source, rooms.hashing.TableReading]:
        """Return what `halfmask.hashing` takes: a path, or standard input opened once."""
        leave_out = tuple(self.leave_out or ())
        if table == "-":
            reading = rooms.hashing.TableReading(options=self.options(), leave_out=leave_out)
            return self._open(table, {}), reading
        return table, rooms.hashing.TableReading(
            format=self.form.format, options=self.options(), leave_out=leave_out
        )

    def _open(self, table: str, fitted: Mapping[str, pl.DataType]) -> Source:
        return rooms.data.open_table(
            table, format=self.form.format, options=self.options(fitted), called=self.called
        )


def schema_of(source: Source, categorical: Sequence[str]) -> Schema | None:
    """Return the schema of a table where numbers of some columns are categories."""
    absent = [name for name in categorical if name not in source.columns]
    if absent:
        raise ColumnNotFoundError.of(absent, source.columns, where="the table")
    if not categorical:
        return None

    def is_number(name: str) -> bool:
        dtype = source.dtypes[name]
        return name not in categorical and (dtype.is_numeric() or dtype.is_temporal())

    return rooms.data.Schema(
        tuple(
            rooms.data.Column(
                name=name, role="insensitive", kind="numeric" if is_number(name) else "categorical"
            )
            for name in source.columns
        )
    )
