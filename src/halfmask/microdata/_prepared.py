"""A fitted release before it is written: plan, source, and the cell of each row."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from halfmask._progress import Progress, silent
from halfmask._random import keyed_order
from halfmask.microdata._folds import read_batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from halfmask.anonymize import PersonCodes, Plan
    from halfmask.data import Format, Schema, Source
    from halfmask.engines import Engine
    from halfmask.guarantees import Guarantee
    from halfmask.microdata._policy import Policy

__all__ = ["CELL", "PERSON", "Prepared"]

#: The column of a placed row's cell; no column of a table may have such a name.
CELL = "\0cell"
#: That of a placed row's person, where a person is the unit.
PERSON = "\0person"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """All that is needed to write the rows.

    Attributes
    ----------
    policy, schema
        What the owner wants.
    source
        The raw table.
    plan
        The fitted cells.
    guarantees
        What is claimed, with hierarchies cut down to the values that occur.
    cells
        The cell of each row that is not left out for a missing cell, in the table's order; ``None``
        where the table was too large to keep it, so that rows find their cell again by the plan.
    n_in, n_out
        Rows of the table, and of the release.
    key
        32 secret bytes that order the rows; they stay in this process.
    engine
        Finds the cells of batches where ``cells`` is ``None``.
    mask_counts
        What masks counted, as of `MaskedTable`.
    persons
        The persons of the table by number, where a person is the unit.
    people, trees
        The population, and the levels of hierarchies whose nodes are written, where a guarantee is
        about it: the verifier counts them again.
    """

    policy: Policy
    schema: Schema
    source: Source
    plan: Plan
    guarantees: tuple[Guarantee, ...]
    cells: NDArray[np.int32] | None
    n_in: int
    n_out: int
    key: bytes
    engine: Engine
    mask_counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    persons: PersonCodes | None = None
    people: pl.DataFrame | None = None
    trees: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Prepared({self.n_out} of {self.n_in} rows)"

    @property
    def format(self) -> Format:
        """The format of the files."""
        return self.policy.output.format

    @property
    def columns(self) -> list[str]:
        """The released columns, in the table's order."""
        dropped = set(self.schema.identifiers)
        return [name for name in self.source.columns if name not in dropped]

    @property
    def released_columns(self) -> list[str]:
        """The same where bounds of ranges are two columns each."""
        return self.plan.released_columns(self.columns)

    def placed(self, progress: Progress = silent) -> Iterator[pl.DataFrame]:
        """Yield the cell (`CELL`) and the unchanged columns of each released row.

        Where a person is the unit, the number of the row's person (`PERSON`) is there too.

        Batch by batch, in the table's order. What is written for a cell is put in at the very end
        (`finished`): ranges as texts are most of a release, and all rows of a cell share them.
        """
        needing = self.schema.suppressing
        recoded = self.plan.quasi_identifiers
        leaving = [name for name in self.columns if name not in recoded]
        whose = None
        if self.policy.person is not None and self.persons is not None:
            whose = (self.policy.person, self.persons)
        needed = [*leaving, *needing, *(recoded if self.cells is None else recoded[:1])]
        needed += [] if whose is None else [whose[0]]
        columns = list(dict.fromkeys(needed))
        batches = read_batches(self.source, columns, "writing", progress)
        if self.cells is None:
            place = partial(_found, self.plan, needing=needing, leaving=leaving, whose=whose)
            yield from self.engine.map(batches, place)
            return
        done = 0
        for batch in batches:
            rows = batch.drop_nulls(needing) if needing else batch
            cells = self.cells[done : done + rows.height]
            yield _placed(rows, cells, leaving, whose)
            done += rows.height

    def finished(self, placed: pl.DataFrame) -> pl.DataFrame:
        """Return placed rows with what is written for their cells."""
        cells = placed[CELL]
        written = self.plan.written_for(cells)
        return placed.with_columns(written).select(self.released_columns)

    def shuffled(self) -> pl.DataFrame:
        """Return all protected rows in the keyed order."""
        rows = pl.concat(list(self.placed()))
        return self.finished(rows[keyed_order(rows.height, key=self.key)])


def _found(
    plan: Plan,
    batch: pl.DataFrame,
    *,
    needing: Sequence[str],
    leaving: Sequence[str],
    whose: tuple[str, PersonCodes] | None,
) -> pl.DataFrame:
    """Return the released rows with the cells that a plan finds for them."""
    rows = batch.drop_nulls(needing) if needing else batch
    return _placed(rows, plan.cells(rows), leaving, whose)


def _placed(
    rows: pl.DataFrame,
    cells: NDArray[np.int32],
    leaving: Sequence[str],
    whose: tuple[str, PersonCodes] | None,
) -> pl.DataFrame:
    # The cells come first: a table may have no column but its quasi-identifiers.
    placed = rows.with_columns(pl.Series(CELL, cells, dtype=pl.Int32))
    own = []
    if whose is not None:
        name, persons = whose
        placed = placed.with_columns(pl.Series(PERSON, persons.of_batch(rows[name])))
        own = [PERSON]
    return placed.select(*leaving, *own, CELL).filter(pl.col(CELL) >= 0)
