"""What the cells of a plan cover in each column, as what is written for them says it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from halfmask.anonymize import Level
from halfmask.anonymize.lattice import spans_at_level
from halfmask.assess.utility import CellExtents, ColumnExtents, date_label

if TYPE_CHECKING:
    from collections.abc import Callable

    from halfmask.anonymize import CellCounts, Coding, Plan

Integers = NDArray[np.int64]

_UNITS_OF_DAY = {"ms": 86_400e3, "us": 86_400e6, "ns": 86_400e9}


def cell_extents(plan: Plan, counts: CellCounts) -> CellExtents:
    """Return what each cell covers in each quasi-identifier, as its recoding writes it.

    A cell that mixes missing with values is scored by its values.
    """
    columns = {
        coding.column.name: ColumnExtents.of_codes(
            low, high, n_values=coding.n_values, numbers=numbers_of(coding), ends=ends_of(coding)
        )
        for coding, (low, high) in zip(plan.codings, written_spans(plan, counts), strict=True)
    }
    return CellExtents(columns=columns, sizes=plan.partition.sizes)


def leaving_extents(plan: Plan, counts: CellCounts, *, as_codes: bool = False) -> CellExtents:
    """Return the same among released values: no other value shapes a published number.

    With `as_codes` numbers and dates are codes of values, too: what is counted isn't measured.

    A loss relative to the raw column's width would tell that width, and so the highest number of
    somebody who was suppressed for it, to a reader who measures the released ranges.
    """
    kept = counts.code_counts([coding.n_codes for coding in plan.codings])
    columns = {}
    spans = zip(plan.codings, written_spans(plan, counts), kept, strict=True)
    for coding, (low, high), n_rows in spans:
        leaves = n_rows[: coding.n_values] > 0
        below = np.concatenate([[0], np.cumsum(leaves)])
        numbers, ends = numbers_of(coding), ends_of(coding)
        columns[coding.column.name] = ColumnExtents.of_codes(
            np.where(low < 0, -1, below[low]),
            np.where(high < 0, -1, below[high + 1] - 1),
            n_values=int(below[-1]),
            numbers=None if numbers is None or as_codes else numbers[leaves],
            ends=None if ends is None or as_codes else ends[leaves],
        )
    return CellExtents(columns=columns, sizes=plan.partition.sizes)


def written_spans(plan: Plan, counts: CellCounts) -> list[tuple[Integers, Integers]]:
    """Return the codes that what is written for each cell spans; -1 where it is missing."""
    return [
        _level_span(plan, place, *span)
        if isinstance(plan.recoding_of(plan.codings[place].column.name), Level)
        else span
        for place, span in enumerate(plan.value_spans(counts))
    ]


def _level_span(plan: Plan, place: int, low: Integers, high: Integers) -> tuple[Integers, Integers]:
    """Return the codes below the nodes that are written for cells."""
    coding, levels = plan.codings[place], plan.partition.levels_of(place)
    if levels is not None:
        first, last = low.copy(), high.copy()
        for level in np.unique(levels):
            there = levels == level
            first[there], last[there] = spans_at_level(coding, int(level), low[there], high[there])
        return first, last
    return (low, high) if coding.hierarchy is None else _node_spans(coding, low, high)


def numbers_of(coding: Coding) -> NDArray[np.float64] | None:
    """Return the number of each code of an ordered column; None of another."""
    return as_numbers(coding.values) if coding.ordered else None


def ends_of(coding: Coding) -> NDArray[np.float64] | None:
    """Return where the piece of each code ends; None where codes are values."""
    return None if coding.grid is None else as_numbers(coding.grid.ends(coding.values))


def as_numbers(series: pl.Series) -> NDArray[np.float64]:
    """Return numbers, or dates as their physical numbers; NaN where a cell is missing.

    Decimals by value: their physical numbers lack the point.
    """
    physical = series.to_physical() if series.dtype.is_temporal() else series
    return physical.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def in_days(
    numbers: NDArray[np.float64], column: ColumnExtents, dtype: pl.DataType
) -> tuple[NDArray[np.float64], ColumnExtents, Callable[[float], str]]:
    """Return dates and times as days since 1970, and what writes these as dates."""
    unit, zone = 1.0, None
    if isinstance(dtype, pl.Datetime):
        unit, zone = _UNITS_OF_DAY[dtype.time_unit], dtype.time_zone
    days = replace(
        column,
        low=column.low / unit,
        high=column.high / unit,
        domain_low=column.domain_low / unit,
        domain_high=column.domain_high / unit,
    )
    return numbers / unit, days, date_label(days.domain_high - days.domain_low, zone)


def _node_spans(
    coding: Coding, low: NDArray[np.int64], high: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Widen each cell to all leaves of the node that is written for it."""
    edges = coding.boundaries[: coding.n_values - 1]
    first, last = low.copy(), high.copy()
    for cell in np.flatnonzero(low < high).tolist():
        level = edges[low[cell] : high[cell]].max()
        above = np.flatnonzero(edges > level)
        before = above[above < low[cell]]
        after = above[above >= high[cell]]
        first[cell] = before[-1] + 1 if len(before) else 0
        last[cell] = after[0] if len(after) else coding.n_values - 1
    return first, last
