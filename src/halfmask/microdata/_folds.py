"""The folds of protect: summarize the whole table, and count all of its rows in the cells."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._random import derived_key
from halfmask.anonymize import CellCounts
from halfmask.engines import fold_table, map_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halfmask._progress import Progress
    from halfmask.anonymize import Fitted, Protection, Summary
    from halfmask.data import Source
    from halfmask.engines import Engine


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


def summarized(
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


def counted(
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


def _count(protection: Protection, fitted: Fitted, number: int, batch: pl.DataFrame) -> CellCounts:
    del number  # all batches are counted alike
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


def drawn(source: Source, columns: Sequence[str], *, share: float, engine: Engine) -> pl.DataFrame:
    """Draw the rows again that `summarized` draws for a share, of a table of as many rows."""
    return pl.concat(map_table(engine, source, columns, partial(_sample, share=share)))


def _sample(number: int, batch: pl.DataFrame, share: float) -> pl.DataFrame:
    draw = np.random.default_rng(number).random(batch.height)  # no guarantee depends on it
    return batch.filter(pl.Series(draw < share))
