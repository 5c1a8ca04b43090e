"""The rows of a masked table before they are written."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from halfmask._progress import Progress, silent
from halfmask._random import KEY_BYTES, keyed_order
from halfmask.claims import MaskedColumn
from halfmask.engines import LocalEngine, map_table
from halfmask.masks import Pseudonym, TableMask, map_names
from halfmask.masks.pseudonym import pseudonym_of
from halfmask.microdata._classed_rows import read_batches
from halfmask.microdata._writing import ShuffledRows, unchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from halfmask.data import Source
    from halfmask.engines import Engine
    from halfmask.engines.engine import Part
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
        """Yield a function of each batch of released columns; see `ClassedRows.each`."""
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

    def shuffled(self) -> ShuffledRows:
        """Return the rows to be written."""
        return ShuffledRows(
            n_rows=self.n_out,
            key=self.key,
            format=self.policy.output.format,
            each=self.each,
            engine=self.engine if self.is_divided else LocalEngine(),
        )

    def frame(self, number: int = 0) -> pl.DataFrame:
        """Return all rows in the keyed order."""
        del number  # there is one copy
        rows = pl.concat(list(self.placed()))
        return rows[keyed_order(rows.height, key=self.key)]

    def read(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return released columns with all rows, in the table's order."""
        return self.source.read(columns=columns)


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


def draws_of(policy: Policy, released: Source, key: bytes) -> dict[str, str]:
    """Return a digest of the draws of each released column that a mask randomises.

    Nobody has a second draw where two releases have the same digest. Those of pseudonyms and of
    points depend on the person or place alone, and on the maps of the mask.
    """
    found: dict[str, str] = {}
    for name, section in policy.columns.items():
        randomising = [it for it in policy.masks_of(name) if not it.coarsens]
        if section.role == "identifier" or not randomising:
            continue
        (mask,) = randomising  # no other may follow it
        of_vault = pseudonym_of(mask).scope == "vault"
        used = [policy.map_digest(each) for each in map_names(mask)]
        said = "\0".join([name, repr(mask), *used]).encode()
        drawn = hashlib.blake2b(
            said, key=b"" if of_vault else key, digest_size=KEY_BYTES, person=b"halfmask/draws"
        )
        if not isinstance(mask, Pseudonym) or mask.draws_by_rows:
            for batch in released.batches(columns=[name]):
                drawn.update(batch[name].hash().to_numpy().data)
        found[name] = drawn.hexdigest()
    return found


def changed(rows: MaskedRows) -> list[tuple[Mask | TableMask, tuple[str, ...]]]:
    """Return each mask of cells with the columns that it changed, in order."""
    policy = rows.policy
    own: list[tuple[Mask | TableMask, tuple[str, ...]]] = [
        (each, (name,)) for name, each in policy.masks.items()
    ]
    return own + [(it, it.columns) for it in policy.table_masks if isinstance(it, TableMask)]
