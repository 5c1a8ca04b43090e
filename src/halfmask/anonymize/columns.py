"""Columns: which one is meant by a name or a position."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask._errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence


def named(column: str | int, names: Sequence[str]) -> str:
    """Return the name of a column that is given by its name or its position.

    Examples
    --------
    >>> named(1, ["age", "sex"])
    'sex'
    >>> named("1", ["2", "1", "0"])
    '1'
    """
    if isinstance(column, str):
        return column
    at = names[int(column)] if 0 <= int(column) < len(names) else str(column)
    if str(column) in names and at != str(column):
        raise ParameterError(
            f"Column {column} is the name of one column and the position of another.",
            hint=f"Give its name as text, {str(column)!r}, or give all columns names.",
        )
    return at
