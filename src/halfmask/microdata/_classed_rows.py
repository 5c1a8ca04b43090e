"""ClassedRows: the rows of a release in classes, each placed in its cell, batch by batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._progress import Progress, silent
from halfmask._random import keyed_order
from halfmask.engines import LocalEngine, map_table
from halfmask.microdata._writing import ShuffledRows, Support, unchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize import PersonCodes, Plan
    from halfmask.data import Schema, Source
    from halfmask.engines import Engine
    from halfmask.engines.engine import Part
    from halfmask.guarantees import Guarantee
    from halfmask.masks import MaskedTable
    from halfmask.microdata._policy import Policy

#: The column of a placed row's cell; no column of a table may have such a name.
CELL = "\0cell"
#: That of a placed row's person, where a person is the unit.
PERSON = "\0person"


def read_batches(
    source: Source, columns: Sequence[str], stage: str, progress: Progress
) -> Iterator[pl.DataFrame]:
    """Yield the batches of a table; report the share of rows that an engine has taken."""
    read = 0
    for batch in source.batches(columns=columns):
        read += batch.height
        yield batch
        progress(stage, read / max(1, source.n_rows))
        del batch  # before the next one is read


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassedRows:
    """The released rows of a table in classes: a plan, and the cell of each row.

    Notes
    -----
    ``cells`` is ``None`` for a sampled table: then the plan finds the cells of each batch again.
    ``people`` and ``trees`` are of the population, where one is given, and ``places`` are outlines
    of areas. ``table`` has the rows before masks too, and ``n_waiting`` of those that aren't
    released wait for a later release.
    """

    policy: Policy
    schema: Schema
    table: MaskedTable
    plan: Plan
    guarantees: tuple[Guarantee, ...]
    cells: NDArray[np.int32] | None
    n_in: int
    n_out: int
    key: bytes
    engine: Engine
    mask_counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    suppressed: Mapping[str, int] = field(default_factory=dict)
    persons: PersonCodes | None = None
    people: pl.DataFrame | None = None
    trees: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    n_waiting: int = 0
    places: tuple[Support, ...] = ()

    def __repr__(self) -> str:
        return f"ClassedRows({self.n_out} of {self.n_in} rows)"

    @property
    def source(self) -> Source:
        """The table behind its masks."""
        return self.table.masked

    @property
    def columns(self) -> list[str]:
        """The released columns, in the table's order."""
        dropped = set(self.schema.identifiers)
        return [name for name in self.source.columns if name not in dropped]

    @property
    def released_columns(self) -> list[str]:
        """The same where bounds of ranges are two columns each."""
        return self.plan.released_columns(self.columns)

    @property
    def is_divided(self) -> bool:
        """Whether the engine reads the table by itself, in parts, and writes the files, too."""
        return self.source.parts() is not None

    def placed(self, progress: Progress = silent) -> Iterator[pl.DataFrame]:
        """Yield the cell (`CELL`) and the unchanged columns of each released row.

        Where a person is the unit, the number of the row's person (`PERSON`) is there too.

        Batch by batch, in the table's order. What is written for a cell is put in at the very end
        (`finish`): ranges as texts are most of a release, and all rows of a cell share them.
        """
        return self.each(unchanged, progress)

    def each(
        self, function: Callable[[int, pl.DataFrame], Part], progress: Progress = silent
    ) -> Iterator[Part]:
        """Yield a function of each batch of placed rows, in order."""
        needing = self.schema.suppressing
        recoded = self.plan.quasi_identifiers
        leaving = [name for name in self.columns if name not in recoded]
        whose = None
        if self.policy.person is not None and self.persons is not None:
            whose = (self.policy.person, self.persons)
        needed = [*leaving, *needing, *(recoded if self.cells is None else recoded[:1])]
        needed += [] if whose is None else [whose[0]]
        columns = list(dict.fromkeys(needed))
        place = partial(_placed, needing=needing, leaving=leaving, whose=whose)
        if self.is_divided:
            found = place if self.cells is not None else partial(_found, self.plan, place)
            yield from map_table(
                self.engine,
                self.source,
                columns,
                partial(_placed_for, found, function),
                given=None if self.cells is None else self._cells_of_parts(needing),
                stage="writing",
                progress=progress,
            )
            return
        batches = read_batches(self.source, columns, "writing", progress)
        if self.cells is None:
            placed = self.engine.map(batches, partial(_found, self.plan, place))
        else:
            placed = self._in_known_cells(batches, needing, place)
        for number, rows in enumerate(placed):
            yield function(number, rows)

    def _in_known_cells(
        self,
        batches: Iterator[pl.DataFrame],
        needing: Sequence[str],
        place: Callable[..., pl.DataFrame],
    ) -> Iterator[pl.DataFrame]:
        done = 0
        for batch in batches:
            rows = batch.drop_nulls(needing) if needing else batch
            yield place(rows, self.known_cells[done : done + rows.height])
            done += rows.height

    @property
    def known_cells(self) -> NDArray[np.int32]:
        """`cells`, where they are known."""
        if self.cells is None:
            raise TypeError("The cells of the rows aren't known.")
        return self.cells

    def _cells_of_parts(self, needing: Sequence[str]) -> Iterator[NDArray[np.int32]]:
        """Yield the cells of each part's rows."""
        rows: Iterable[int] = map(len, self.source.parts() or ())
        if needing:
            rows = list(map_table(self.engine, self.source, needing, _complete_rows))
        done = 0
        for n_rows in rows:
            yield self.known_cells[done : done + n_rows]
            done += n_rows

    def shuffled(self) -> ShuffledRows:
        """Return the rows to be written."""
        return ShuffledRows(
            n_rows=self.n_out,
            key=self.key,
            format=self.policy.output.format,
            each=self.each,
            engine=self.engine if self.is_divided else LocalEngine(),
            finish=self.finisher() if self.is_divided else self.finished,
        )

    def finished(self, placed: pl.DataFrame) -> pl.DataFrame:
        """Return placed rows with what is written for their cells."""
        return self.finisher()(placed)

    def finisher(self) -> Callable[[pl.DataFrame], pl.DataFrame]:
        """Return `finished` as a function that can be sent to workers."""
        return partial(_finished, self.plan, self.released_columns)

    @property
    def counts(self) -> dict[str, int]:
        """How many rows were read, released and suppressed, and how many of these wait."""
        counts = {"in": self.n_in, "out": self.n_out, "suppressed": self.n_in - self.n_out}
        return counts | ({"waiting": self.n_waiting} if self.n_waiting else {})

    def frame(self, number: int = 0) -> pl.DataFrame:
        """Return all protected rows in the keyed order."""
        del number  # there is one copy
        rows = pl.concat(list(self.placed()))
        return self.finished(rows[keyed_order(rows.height, key=self.key)])


def _finished(plan: Plan, columns: Sequence[str], placed: pl.DataFrame) -> pl.DataFrame:
    return placed.with_columns(plan.written_for(placed[CELL])).select(columns)


def _complete_rows(_number: int, batch: pl.DataFrame) -> int:
    """Return how many rows have no missing cell."""
    return batch.drop_nulls().height


def _placed_for(
    place: Callable[..., pl.DataFrame],
    function: Callable[[int, pl.DataFrame], Part],
    number: int,
    batch: pl.DataFrame,
    *cells: NDArray[np.int32],
) -> Part:
    return function(number, place(batch, *cells))


def _found(plan: Plan, place: Callable[..., pl.DataFrame], batch: pl.DataFrame) -> pl.DataFrame:
    """Return the released rows with the cells that a plan finds for them."""
    return place(batch, plan)


def _placed(
    batch: pl.DataFrame,
    cells: NDArray[np.int32] | Plan,
    *,
    needing: Sequence[str],
    leaving: Sequence[str],
    whose: tuple[str, PersonCodes] | None,
) -> pl.DataFrame:
    rows = batch.drop_nulls(needing) if needing else batch
    found = cells if isinstance(cells, np.ndarray) else cells.cells(rows)
    # The cells come first: a table may have no column but its quasi-identifiers.
    placed = rows.with_columns(pl.Series(CELL, found, dtype=pl.Int32))
    own = []
    if whose is not None:
        name, persons = whose
        placed = placed.with_columns(pl.Series(PERSON, persons.of_batch(rows[name])))
        own = [PERSON]
    return placed.select(*leaving, *own, CELL).filter(pl.col(CELL) >= 0)
