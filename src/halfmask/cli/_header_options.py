"""Where the rows of a table are: the header of a CSV file, a sheet, a table of a database."""

from __future__ import annotations

from dataclasses import dataclass

from halfmask.cli._comma_lists import items_of
from halfmask.cli._option_groups import option


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderOptions:
    """Where the rows of a table begin, and what its columns are called."""

    header: bool | None = option(
        "--header/--no-header",
        "State whether the first row of a CSV file has the column names. Without either "
        "option, a first row that looks like data is an error.",
        show_default=False,
    )
    skip_rows: int | None = option(
        "--skip-rows LINES", "Number of lines to skip at the start of a CSV file.", min=0
    )
    comment: str | None = option(
        "--comment START", "Skip lines of a CSV file that start with this text, such as #."
    )
    column_names: str | None = option(
        "--column-names NAME,NAME,...",
        "Names of all columns of a CSV file. With --header they replace those of the file.",
    )

    sheet: str | None = option(
        "--sheet NAME", "The sheet to read of an Excel workbook that has several."
    )
    of_database: str | None = option(
        "--table NAME", "The table to read of a database file that has several."
    )

    def options(self) -> dict[str, object]:
        """Return it as `halfmask.data.ReadOptions` takes it; nothing where nothing was given."""
        found: dict[str, object] = {
            "header": self.header,
            "skip_rows": self.skip_rows,
            "comment": self.comment,
            "column_names": None
            if self.column_names is None
            else items_of(self.column_names, "A name of --column-names"),
            "sheet": self.sheet,
            "table": self.of_database,
        }
        return {name: text for name, text in found.items() if text is not None}
