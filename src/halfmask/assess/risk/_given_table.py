"""Tables of any library, as polars."""

from __future__ import annotations

import polars as pl

from halfmask.data import to_polars


def given_table(table: object) -> pl.DataFrame:
    """Return a frame as polars; one of polars as it is, but for NaN, which is missing."""
    return (table if isinstance(table, pl.DataFrame) else to_polars(table)).fill_nan(None)
