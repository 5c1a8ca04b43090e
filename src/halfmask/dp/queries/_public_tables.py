"""Public tables: joined to rows by a key, so that each row matches at most one of theirs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask._errors import ColumnNotFoundError, ParameterError
from halfmask.data import open_table
from halfmask.dp.ledger import fingerprint_of

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class PublicTable:
    """A table that everybody may know, with one row for each key."""

    name: str
    on: str
    frame: pl.DataFrame
    fingerprint: str

    @classmethod
    def of(cls, table: object, *, name: str, on: str) -> PublicTable:
        """Read a public table."""
        source = open_table(table, called="The table")
        if on not in source.columns:
            raise ColumnNotFoundError.of([on], source.columns, where=f"the public table {name!r}")
        frame = source.read()
        keyed = frame.drop_nulls(on)
        if keyed[on].n_unique() < keyed.height:
            raise ParameterError(
                f"The column {on!r} of the public table {name!r} has values that are there twice, "
                "so that one private row would count twice.",
                hint="Give a table with one row for each key.",
            )
        return cls(name, on, keyed, fingerprint_of(source))

    def joined(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the rows that match, with the columns of this table."""
        return rows.join(self.frame, on=self.on, how="inner", maintain_order="left")
