"""The rows of a masked table before they are written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from halfmask._progress import Progress, silent
from halfmask._random import keyed_order
from halfmask.claims import MaskedColumn
from halfmask.engines import LocalEngine, map_table
from halfmask.masks import TableMask
from halfmask.microdata._folds import read_batches
from halfmask.microdata._prepared import unchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from halfmask.data import Format, Source
    from halfmask.engines import Engine
    from halfmask.engines._engine import Part
    from halfmask.masks import Mask, MaskedTable
    from halfmask.microdata._policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedRows:
    """All that is needed to write the rows of a masked table."""

    policy: Policy
    table: MaskedTable
    n_in: int
    key: bytes
    engine: Engine = field(default_factory=LocalEngine)

    def __repr__(self) -> str:
        return f"MaskedRows({self.n_out} of {self.n_in} rows)"

    @property
    def source(self) -> Source:
        """The masked table, identifiers included."""
        return self.table.masked

    @property
    def n_out(self) -> int:
        """Rows of the release."""
        return self.source.n_rows

    @property
    def format(self) -> Format:
        """The format of the files."""
        return self.policy.output.format

    @property
    def columns(self) -> list[str]:
        """The released columns, in the table's order."""
        return [name for name in self.source.columns if self._role(name) != "identifier"]

    def _role(self, name: str) -> str:
        return self.policy.columns[name].role

    @property
    def is_divided(self) -> bool:
        """Whether the engine reads the table by itself, in parts, and writes the files, too."""
        return self.source.parts() is not None

    def placed(self, progress: Progress = silent) -> Iterator[pl.DataFrame]:
        """Yield the released columns batch by batch, in the table's order."""
        return self.each(unchanged, progress)

    def each(
        self, function: Callable[[int, pl.DataFrame], Part], progress: Progress = silent
    ) -> Iterator[Part]:
        """Yield a function of each batch of released columns; see `Prepared.each`."""
        if self.is_divided:
            yield from map_table(
                self.engine,
                self.source,
                self.columns,
                function,
                stage="writing",
                progress=progress,
            )
            return
        for number, rows in enumerate(read_batches(self.source, self.columns, "writing", progress)):
            yield function(number, rows)

    def finisher(self) -> Callable[[pl.DataFrame], pl.DataFrame]:
        """Return `finished` as a function that can be sent to workers."""
        return _as_masked

    def finished(self, placed: pl.DataFrame) -> pl.DataFrame:
        """Return the rows: masks have changed them in the reader."""
        return placed

    def shuffled(self) -> pl.DataFrame:
        """Return all rows in the keyed order."""
        rows = pl.concat(list(self.placed()))
        return rows[keyed_order(rows.height, key=self.key)]

    def read(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return released columns with all rows, in the table's order."""
        return self.source.read(columns=columns)


def _as_masked(rows: pl.DataFrame) -> pl.DataFrame:
    return rows


def released_columns(rows: MaskedRows) -> list[MaskedColumn]:
    """Return the released columns as the manifest states them."""
    sections = rows.policy.columns
    return [
        MaskedColumn(
            name=name,
            role=sections[name].role,
            kind=sections[name].kind or "text",
            dtype=str(rows.source.dtypes[name]),
        )
        for name in rows.columns
    ]


def changed(rows: MaskedRows) -> list[tuple[Mask | TableMask, tuple[str, ...]]]:
    """Return each mask of cells with the columns that it changed, in order."""
    policy = rows.policy
    own: list[tuple[Mask | TableMask, tuple[str, ...]]] = [
        (each, (name,)) for name, each in policy.masks.items()
    ]
    return own + [(it, it.columns) for it in policy.table_masks if isinstance(it, TableMask)]
