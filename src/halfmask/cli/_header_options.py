"""Where the rows of a table are: the header of a CSV file, a sheet, a table of a database."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import Annotated

import typer


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderOptions:
    """Where the rows of a table begin, and what its columns are called."""

    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            show_default=False,
            help="State whether the first row of a CSV file has the column names. Without "
            "either option, a first row that looks like data is an error.",
        ),
    ] = None
    skip_rows: Annotated[
        int | None,
        typer.Option(
            "--skip-rows",
            min=0,
            metavar="LINES",
            help="Number of lines to skip at the start of a CSV file.",
        ),
    ] = None
    comment: Annotated[
        str | None,
        typer.Option(
            "--comment",
            metavar="START",
            help="Skip lines of a CSV file that start with this text, such as #.",
        ),
    ] = None
    column_names: Annotated[
        str | None,
        typer.Option(
            "--column-names",
            metavar="NAME,NAME,...",
            help="Names of all columns of a CSV file. With --header they replace those of the "
            "file.",
        ),
    ] = None

    sheet: Annotated[
        str | None,
        typer.Option(
            "--sheet",
            metavar="NAME",
            help="The sheet to read of an Excel workbook that has several.",
        ),
    ] = None
    of_database: Annotated[
        str | None,
        typer.Option(
            "--table", metavar="NAME", help="The table to read of a database file that has several."
        ),
    ] = None

    def options(self) -> dict[str, object]:
        """Return it as `halfmask.data.ReadOptions` takes it; nothing where nothing was given."""
        found: dict[str, object] = {
            "header": self.header,
            "skip_rows": self.skip_rows,
            "comment": self.comment,
            "column_names": _names_of(self.column_names),
            "sheet": self.sheet,
            "table": self.of_database,
        }
        return {name: text for name, text in found.items() if text is not None}


def _names_of(text: str | None) -> tuple[str, ...] | None:
    """Return the names of columns; one that holds a comma is put in quotes, as in CSV."""
    if text is None:
        return None
    return tuple(next(csv.reader([text]), ()))
