"""Options of a table for the commands of encodings, and how it is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from halfmask._errors import ColumnNotFoundError, ParameterError
from halfmask.cli._column_options import ColumnOptions
from halfmask.cli._failures import UsageError
from halfmask.cli._header_options import HeaderOptions
from halfmask.cli._option_groups import option
from halfmask.cli._options import FileFormat  # noqa: TC001 # typer reads it

if TYPE_CHECKING:
    import polars as pl

    from halfmask.data import ReadOptions, Schema, Source
    from halfmask.encode import CodecPlan
    from halfmask.hashing import TableReading


@dataclass(frozen=True, slots=True, kw_only=True)
class FormOptions:
    """How a file is written."""

    format: FileFormat | None = option(
        "--format FORMAT",
        "TABLE's format, if its name doesn't state it: csv, tsv, parquet, arrow (a file), "
        "arrows (a stream) or jsonl.",
    )
    delimiter: str | None = option(
        "--delimiter CHARACTER", "The character between the cells of a CSV file."
    )
    encoding: str = option("--encoding ENCODING", "The encoding of a text file.", "utf-8")
    head: HeaderOptions = field(default_factory=HeaderOptions)

    def options(self, missing: Sequence[str] | None, **more: object) -> ReadOptions:
        """Return the given options of a table; empty cells are missing."""
        from halfmask.data import ReadOptions  # noqa: PLC0415 # half a second

        marks = None if missing is None else tuple(dict.fromkeys(("", *missing)))
        try:
            return ReadOptions(
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

    leave_out: list[str] | None = option(
        "--leave-out COLUMN", "A column to leave out; may be given more than once."
    )
    mark: list[str] | None = option(
        "--missing TEXT",
        "A text that marks a missing cell, such as ?; may be given more than once.",
    )
    form: FormOptions = field(default_factory=FormOptions)
    columns: ColumnOptions = field(default_factory=ColumnOptions)
    called: str = "The table to read"

    def open(self, table: str, *, plan: CodecPlan | None = None) -> Source:
        """Open a table; the cells of a text file become what they were for a codec's plan."""
        source = self._open(table, {})
        if plan is not None and table != "-":  # standard input was read to its end
            declared = plan.to_declare(source.dtypes, format=source.format)
            source = self._open(table, declared) if declared else source
        return source.without(self.leave_out) if self.leave_out else source

    def options(self, fitted: Mapping[str, pl.DataType] | None = None) -> ReadOptions:
        """Return the given options of a table."""
        return self.form.options(self.mark, fitted=fitted or {}, **self.columns.options())

    def for_hashing(self, table: str) -> tuple[str | Source, TableReading]:
        """Return what `halfmask.hashing` takes: a path, or standard input opened once."""
        from halfmask.hashing import TableReading  # noqa: PLC0415 # half a second

        leave_out = tuple(self.leave_out or ())
        if table == "-":
            reading = TableReading(options=self.options(), leave_out=leave_out)
            return self._open(table, {}), reading
        return table, TableReading(
            format=self.form.format, options=self.options(), leave_out=leave_out
        )

    def _open(self, table: str, fitted: Mapping[str, pl.DataType]) -> Source:
        from halfmask.data import open_table  # noqa: PLC0415 # half a second

        return open_table(
            table, format=self.form.format, options=self.options(fitted), called=self.called
        )


def schema_of(source: Source, categorical: Sequence[str]) -> Schema | None:
    """Return the schema of a table where numbers of some columns are categories."""
    from halfmask.data import Column, Schema  # noqa: PLC0415 # half a second

    absent = [name for name in categorical if name not in source.columns]
    if absent:
        raise ColumnNotFoundError.of(absent, source.columns, where="the table")
    if not categorical:
        return None

    def is_number(name: str) -> bool:
        dtype = source.dtypes[name]
        return name not in categorical and (dtype.is_numeric() or dtype.is_temporal())

    return Schema(
        tuple(
            Column(
                name=name,
                role="insensitive",
                kind="numeric" if is_number(name) else "categorical",
            )
            for name in source.columns
        )
    )
