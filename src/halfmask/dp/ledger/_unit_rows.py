"""Rows of units: of each person at most so many, drawn at random."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from halfmask._errors import ColumnNotFoundError, DataError

if TYPE_CHECKING:
    from halfmask.dp.ledger._privacy_unit import PrivacyUnit

_DRAWN: Final = "\0drawn"


def rows_of_units(table: pl.DataFrame, unit: PrivacyUnit) -> pl.DataFrame:
    """Return at most `PrivacyUnit.max_rows` rows of each person, without the person's column.

    Guarantees
    ----------
    Rows are drawn by the operating system's randomness, and which rows of a person are kept depends
    on no other person's rows. So all rows of one person more or less change at most
    ``unit.max_rows`` of the returned rows.

    Examples
    --------
    >>> from halfmask.dp.ledger import PrivacyUnit
    >>> visits = pl.DataFrame({"patient": [1, 1, 1, 2], "ill": ["flu", "flu", "flu", "asthma"]})
    >>> rows_of_units(visits, PrivacyUnit(person="patient")).rows()
    [('flu',), ('asthma',)]
    """
    person = unit.person
    if person is None:
        return table
    if person not in table.columns:
        raise ColumnNotFoundError.of([person], table.columns, where="the table")
    if missing := table[person].null_count():
        raise DataError(
            f"The column {person!r} names no person in {missing:,} rows.",
            hint="Leave these rows out, or give each of them a person of its own.",
        )
    drawn = pl.Series(_DRAWN, np.frombuffer(os.urandom(8 * table.height), dtype=np.uint64))
    rank = pl.col(_DRAWN).rank("ordinal").over(person)
    return table.with_columns(drawn).filter(rank <= unit.max_rows).drop(_DRAWN, person)
