"""What the command line says of single columns of a table: types, and how cells are written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields

from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import option


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnOptions:
    """The types of columns, and how their cells are written."""

    dtype: list[str] | None = option(
        "--dtype COLUMN=TYPE",
        "A column's type: string, integer, float, boolean, date, datetime, or datetime_utc or "
        "datetime_Europe/Berlin for times with a zone; may be given more than once.",
    )
    date_format: list[str] | None = option(
        "--date-format COLUMN=FORMAT",
        "How a column writes dates, such as born=%d.%m.%Y; may be given more than once.",
    )
    first_year: list[str] | None = option(
        "--first-year COLUMN=YEAR",
        "The first year of the century of a column's two-digit years (%y): with born=1930, 48 "
        "is 1948.",
    )
    number_format: list[str] | None = option(
        "--number-format COLUMN=EXAMPLE",
        "How a column writes 1234.5, such as 'pay=1.234,5 EUR'; may be given more than once.",
    )
    coerce: list[str] | None = option(
        "--coerce COLUMN",
        "Make cells of this column missing if they don't fit its type or format, and count "
        "them; may be given more than once.",
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
        kept = {
            each.name: [it for it in getattr(self, each.name) or () if _column(it) in names] or None
            for each in fields(self)
        }
        return ColumnOptions(**kept)


def _column(given: str) -> str:
    """Return the column of ``COLUMN=VALUE``, or of a column alone."""
    return given.rpartition("=")[0] or given


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
                f"{option} takes COLUMN=VALUE.",
                hint=f"See the example of {option} in --help.",
            )
    return pairs
