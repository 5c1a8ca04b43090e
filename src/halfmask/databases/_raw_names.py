"""Free text of a database: the names that it is searched for come from the source itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from halfmask.masks.text import TextRedaction

if TYPE_CHECKING:
    from halfmask.databases._schema import SourceDatabase, TableSchema
    from halfmask.masks import TableMask
    from halfmask.masks.text.redaction import RedactedTexts


@dataclass(frozen=True, slots=True, kw_only=True)
class _SourceNames(TextRedaction):
    """`TextRedaction` whose names are read from the source, not from the rows that are copied."""

    names: Callable[[], pl.DataFrame] = field(repr=False)
    name_types: Mapping[str, pl.DataType] = field(repr=False)

    @property
    def reads(self) -> tuple[str, ...]:
        """No column of the copied rows."""
        return ()

    def written(self, dtypes: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
        """Return String for each column; see `TableMask`."""
        return TextRedaction.written(self, {**dtypes, **self.name_types})

    def fit(self, table: pl.DataFrame, key: bytes) -> RedactedTexts:
        """Return the plan; its texts are those of the rows, then missing cells beside the names."""
        return TextRedaction.fit(self, pl.concat([table, self.names()], how="diagonal"), key)


def with_raw_names(mask: TableMask, source: SourceDatabase, table: TableSchema) -> TableMask:
    """Return a mask that takes raw names from all rows of the source.

    Notes
    -----
    **Guarantees.** Names are raw also in columns that are dropped or linked, and those of rows that
    a subset leaves out are searched for, too.
    """
    if not isinstance(mask, TextRedaction) or not mask.names_from:
        return mask
    columns = [table.column(name) for name in dict.fromkeys(mask.names_from)]
    types = {it.name: it.dtype or pl.String() for it in columns}

    def names() -> pl.DataFrame:
        frames = source.frames(table.name, columns, None, set(types))
        cells = [it.select(it[name].cast(kind) for name, kind in types.items()) for it in frames]
        return pl.concat([pl.DataFrame(schema=types), *cells])

    given = {it.name: getattr(mask, it.name) for it in dataclasses.fields(mask)}
    return _SourceNames(**given, names=names, name_types=types)
