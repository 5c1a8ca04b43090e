"""Fit the classes of a table: summarize it, grow cells, and count all rows in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from halfmask._errors import GuaranteeNotMetError
from halfmask._random import derived_key
from halfmask.anonymize import CellCounts
from halfmask.engines import fold_table, map_table
from halfmask.guarantees import Classes, ClassMembers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask._progress import Progress
    from halfmask.anonymize import Fitted, PersonCodes, Plan, Protection, Summary
    from halfmask.data import Source
    from halfmask.engines import Engine

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


def _count(protection: Protection, fitted: Fitted, number: int, batch: pl.DataFrame) -> CellCounts:
    del number  # all batches are counted alike
    return protection.count(fitted, batch)


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

    protection: Protection
    plan: Plan
    fitted: Fitted
    cells: np.ndarray[tuple[int], np.dtype[np.int32]] | None
    counts: CellCounts
    raw: Classes
    raw_released: np.ndarray[tuple[int], np.dtype[np.int64]] | None
    raw_counts: list[np.ndarray[tuple[int], np.dtype[np.int64]]]
    persons: PersonCodes | None
    #: Rows that wait, those of whole classes that miss a guarantee without the others too.
    waiting: np.ndarray[tuple[int], np.dtype[np.bool_]] | None = None


def fit_classes(
    source: Source,
    protection: Protection,
    summary: Summary,
    engine: Engine,
    progress: Progress,
    *,
    waiting: NDArray[np.bool_] | None = None,
) -> ProtectionFit:
    """Grow the cells; where the summary is a sample, count all rows in them.

    Rows that are ``waiting`` for a later release are in no cell.
    """
    progress("growing classes")
    if waiting is not None and not summary.complete:
        raise GuaranteeNotMetError(
            f"{int(waiting.sum()):,} rows would have to wait, and cells of so many rows are found "
            "on a sample.",
            hint="Set leave_out to 0, or release the table in parts.",
        )
    fitted = protection.fit(summary)
    codes, n_codes = fitted.codes, [coding.n_codes for coding in fitted.codings]
    raw = raw_classes(*_codes_of_values(fitted, summary), fitted.persons)
    raw_counts = [
        np.bincount(column, minlength=n) for column, n in zip(codes, n_codes, strict=True)
    ]
    raw_released, counts = None, None
    if not summary.complete:
        counts = count_in_cells(source, protection, fitted, engine=engine, progress=progress)
    placed = fitted.cell_of_row >= 0
    if waiting is not None:
        fitted = fitted.without(waiting)
    if waiting is not None and protection.method.judges_release:
        plan, fitted, counts = protection.plan_apart(fitted)
        waiting = waiting | (placed & (fitted.cell_of_row < 0))
    else:
        plan, fitted, counts = protection.plan_counted(fitted, counts)
    if summary.complete:
        raw_released = _raw_released(fitted)
    return ProtectionFit(
        protection=protection,
        plan=plan,
        fitted=fitted,
        cells=fitted.cell_of_row if summary.complete else None,
        counts=counts,
        raw=raw,
        raw_released=raw_released,
        raw_counts=raw_counts,
        persons=fitted.persons,
        waiting=waiting,
    )


def fit_without(fit: ProtectionFit, waiting: NDArray[np.bool_]) -> ProtectionFit:
    """Return the fit without some rows, in the same cells."""
    plan, fitted, counts = fit.protection.plan_apart(fit.fitted.without(waiting))
    return replace(
        fit,
        plan=plan,
        fitted=fitted,
        cells=fitted.cell_of_row,
        counts=counts,
        raw_released=_raw_released(fitted),
    )


def _raw_released(fitted: Fitted) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    kept = fitted.cell_of_row >= 0
    n_codes = [coding.n_codes for coding in fitted.codings]
    return raw_classes([column[kept] for column in fitted.codes], n_codes).sizes


def _codes_of_values(
    fitted: Fitted, summary: Summary
) -> tuple[list[np.ndarray[tuple[int], np.dtype[np.integer[Any]]]], list[int]]:
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
