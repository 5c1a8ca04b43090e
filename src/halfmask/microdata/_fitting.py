"""The classes of a table: the plan that makes them, and what is counted on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from halfmask.microdata._folds import counted
from halfmask.microdata.evaluation import raw_classes

if TYPE_CHECKING:
    from halfmask._progress import Progress
    from halfmask.anonymize import CellCounts, Fitted, PersonCodes, Plan, Protection, Summary
    from halfmask.data import Source
    from halfmask.engines import Engine
    from halfmask.guarantees import Classes


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
    if summary.complete:
        plan, fitted, counts = protection.plan_counted(fitted)
        kept = fitted.cell_of_row >= 0
        return ProtectionFit(
            plan=plan,
            cells=fitted.cell_of_row,
            counts=counts,
            raw=raw,
            raw_released=raw_classes([column[kept] for column in codes], n_codes).sizes,
            raw_counts=raw_counts,
            persons=fitted.persons,
        )
    counts = counted(source, protection, fitted, engine=engine, progress=progress)
    plan, fitted, counts = protection.plan_counted(fitted, counts)
    return ProtectionFit(
        plan=plan,
        cells=None,
        counts=counts,
        raw=raw,
        raw_released=None,
        raw_counts=raw_counts,
        persons=fitted.persons,
    )


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
