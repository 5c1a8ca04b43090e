"""From a table to its classes, and to the rows of each: summarize, fit, count, place."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._progress import Progress, silent
from halfmask._random import derived_key, keyed_order
from halfmask.anonymize import CellCounts
from halfmask.engines import LocalEngine, fold_table, map_table
from halfmask.guarantees import Classes, ClassMembers
from halfmask.microdata._writing import ShuffledRows, unchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize import Fitted, PersonCodes, Plan, Protection, Summary
    from halfmask.data import Schema, Source
    from halfmask.engines import Engine
    from halfmask.engines.engine import Part
    from halfmask.guarantees import Guarantee
    from halfmask.microdata._policy import Policy

#: The column of a placed row's cell; no column of a table may have such a name.
CELL = "\0cell"
#: That of a placed row's person, where a person is the unit.
PERSON = "\0person"
#: Codes of rows are combined into one integer up to this.
KEY_LIMIT = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSummary:
    """The summary of a table, and raw rows that were drawn on the way; they add up."""

    summary: Summary
    samples: tuple[pl.DataFrame, ...]

    def __repr__(self) -> str:
        return f"TableSummary({self.summary!r})"

    def __add__(self, other: TableSummary) -> TableSummary:
        """Return the summary of both, rows in order."""
        pairs = zip(self.samples, other.samples, strict=True)
        return TableSummary(
            summary=self.summary + other.summary,
            samples=tuple(pl.concat(pair, rechunk=False) for pair in pairs),
        )


def summarize_table(
    source: Source,
    protection: Protection,
    *,
    sampled: bool,
    key: bytes,
    shares: tuple[float, ...],
    engine: Engine,
    progress: Progress,
) -> TableSummary:
    """Fold a table into a summary, and draw rows."""
    dropped = {*protection.schema.identifiers} - {protection.person}
    # A key of its own: where rows are in the output says nothing of who is in the sample.
    drawing = derived_key(key, "sample")
    leaving = [name for name in source.columns if name not in dropped]
    return fold_table(
        engine,
        source,
        leaving,
        partial(_summarize, protection, drawing if sampled else None, shares),
        TableSummary.__add__,
        stage="reading",
        progress=progress,
    )


def count_in_cells(
    source: Source, protection: Protection, fitted: Fitted, *, engine: Engine, progress: Progress
) -> CellCounts:
    """Count all rows in the cells."""
    return fold_table(
        engine,
        source,
        protection.columns,
        partial(_count, protection, fitted),
        CellCounts.__add__,
        stage="counting",
        progress=progress,
    )


def _count(protection: Protection, fitted: Fitted, _number: int, batch: pl.DataFrame) -> CellCounts:
    return protection.count(fitted, batch)


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


def _summarize(
    protection: Protection,
    sample_key: bytes | None,
    shares: tuple[float, ...],
    number: int,
    batch: pl.DataFrame,
) -> TableSummary:
    return TableSummary(
        summary=protection.summarize(batch, sample_key=sample_key, number=number),
        samples=tuple(_sample(number, batch, share) for share in shares),
    )


def redraw(source: Source, columns: Sequence[str], *, share: float, engine: Engine) -> pl.DataFrame:
    """Draw the rows again that `summarize_table` draws for a share, of a table of as many rows."""
    return pl.concat(map_table(engine, source, columns, partial(_sample, share=share)))


def _sample(number: int, batch: pl.DataFrame, share: float) -> pl.DataFrame:
    draw = np.random.default_rng(number).random(batch.height)  # no guarantee depends on it
    return batch.filter(pl.Series(draw < share))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectionFit:
    """The plan and what was counted on the way."""

    plan: Plan
    cells: np.ndarray[tuple[int], np.dtype[np.int32]] | None
    counts: CellCounts
    raw: Classes
    raw_released: np.ndarray[tuple[int], np.dtype[np.int64]] | None
    raw_counts: list[np.ndarray[tuple[int], np.dtype[np.int64]]]
    persons: PersonCodes | None


def fit_classes(
    source: Source, protection: Protection, summary: Summary, engine: Engine, progress: Progress
) -> ProtectionFit:
    """Grow the cells; where the summary is a sample, count all rows in them."""
    progress("growing classes")
    fitted = protection.fit(summary)
    codes, n_codes = fitted.codes, [coding.n_codes for coding in fitted.codings]
    raw = raw_classes(*_codes_of_values(fitted, summary), fitted.persons)
    raw_counts = [
        np.bincount(column, minlength=n) for column, n in zip(codes, n_codes, strict=True)
    ]
    raw_released, counts = None, None
    if not summary.complete:
        counts = count_in_cells(source, protection, fitted, engine=engine, progress=progress)
    plan, fitted, counts = protection.plan_counted(fitted, counts)
    if summary.complete:
        kept = fitted.cell_of_row >= 0
        raw_released = raw_classes([column[kept] for column in codes], n_codes).sizes
    return ProtectionFit(
        plan=plan,
        cells=fitted.cell_of_row if summary.complete else None,
        counts=counts,
        raw=raw,
        raw_released=raw_released,
        raw_counts=raw_counts,
        persons=fitted.persons,
    )


def _codes_of_values(
    fitted: Fitted, summary: Summary
) -> tuple[list[NDArray[np.integer]], list[int]]:
    """Return a code for each raw value, and their number, where ranges end elsewhere too."""
    codes, n_codes = list(fitted.codes), [coding.n_codes for coding in fitted.codings]
    for place, coding in enumerate(fitted.codings):
        if coding.grid is not None:
            ranks = summary.rows[coding.column.name].rank("dense").fill_null(0)
            codes[place] = ranks.cast(pl.Int64).to_numpy()
            n_codes[place] = int(codes[place].max(initial=0)) + 1
    return codes, n_codes


def raw_classes(
    codes: Sequence[NDArray[np.integer]],
    n_codes: Sequence[int],
    persons: PersonCodes | None = None,
) -> Classes:
    """Return the sizes of the classes that rows form before anything is done to them."""
    keys = np.zeros(len(codes[0]), dtype=np.int64)
    span = 1
    for column, n in zip(codes, n_codes, strict=True):
        if span * n > KEY_LIMIT:
            _, keys = np.unique(keys, return_inverse=True)
            span = int(keys.max()) + 1
        keys = keys * n + column
        span *= n
    if persons is not None:
        _, of_row = np.unique(keys, return_inverse=True)
        members = ClassMembers.count(of_row, persons.codes, int(of_row.max()) + 1)
        return Classes(members.sizes)
    keys.sort()
    starts = np.flatnonzero(np.diff(keys, prepend=keys[0] - 1))
    return Classes(np.diff(np.append(starts, len(keys))).astype(np.int64))


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """All that is needed to write the rows."""

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
        """How many rows were read, released and suppressed."""
        return {"in": self.n_in, "out": self.n_out, "suppressed": self.n_in - self.n_out}

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
