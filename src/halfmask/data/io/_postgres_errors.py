"""Errors of a server of PostgreSQL in our words: its own quote cells, hosts and users."""

from __future__ import annotations

from typing import Final

from halfmask._errors import DataError

#: The start of a code, what it means, and a hint.
_REASONS: Final = (
    ("28", "The database refused the user or the password.", "Check the URL, or ~/.pgpass."),
    ("3D000", "The server has no database of the given name.", "Check the URL."),
    ("42501", "The user may not do this in the database.", "Ask for the rights to read or write."),
    ("42P01", "A table isn't in the database any more.", "Give the name of a table or a view."),
    ("53100", "The database has no space left on its disk.", "Free some space there."),
    ("57P", "The database ended the connection.", "Nothing was written. Run the command again."),
    ("22001", "A text is longer than its column.", "Take another mask, or drop the column."),
    ("22003", "A number is beyond the type of its column.", "Bound its mask, or drop the column."),
    ("23502", "A cell is missing where none may be.", "Take another mask, or drop the column."),
    ("23503", "A reference leads to no row.", "Correct the source, or drop the column."),
    ("23505", "A key isn't unique.", "The mask of a key must write different values differently."),
    ("23", "A row doesn't fit a constraint.", "Drop the column, or correct the source."),
    ("42703", "It needs a column that isn't there.", "Copy that column, too, or drop this one."),
    ("42704", "It needs a type or a collation that isn't there.", "Make it there, first."),
    ("42883", "It needs a function or an operator that isn't there.", "Make it there, first."),
    ("2BP01", "Something else needs the old copy, such as a view.", "Drop that first."),
    ("55P03", "Others use the tables.", "Run the command again when they have ended."),
    ("25006", "The database may only be read.", "Give the URL of a server that may be written."),
)


def server_error(error: Exception, what: str, about: str) -> DataError:
    """Return our error for one of the driver."""
    from adbc_driver_manager import OperationalError  # noqa: PLC0415 - an extra

    state = getattr(error, "sqlstate", None) or ""
    place = _place(error) or about
    if state.startswith("08") or (not state and isinstance(error, OperationalError | OSError)):
        return DataError(
            f"{_failed(what, place)}: the database can't be reached, or went away.",
            hint="Check the host, the port and the name in the URL. Nothing was written.",
        )
    return refusal(state, what, place)


def refusal(state: str, what: str, place: str) -> DataError:
    """Return our error for a code of PostgreSQL."""
    for start, reason, hint in _REASONS:
        if state.startswith(start):
            return DataError(f"{_failed(what, place)}: {reason} ({state}).", hint=hint)
    return DataError(
        f"{_failed(what, place)}: it refused a statement ({state or 'without a code'}).",
        hint="Look for the code in PostgreSQL's list of error codes.",
    )


def _failed(what: str, place: str) -> str:
    return f"{what} can't be used{', at ' if place else ''}{place}"


def _place(error: Exception) -> str:
    """Return the table that an error of the server names, with its column or constraint."""
    told = {str(key, "ascii"): str(name, "utf-8") for key, name in getattr(error, "details", ())}
    table = told.get("PG_DIAG_TABLE_NAME")
    for key, what in (("COLUMN", "column"), ("CONSTRAINT", "constraint")):
        name = told.get(f"PG_DIAG_{key}_NAME")
        if table and name:
            return f"the {what} {name!r} of the table {table!r}"
    return f"the table {table!r}" if table else ""
