"""What the cells of a plan cover, and what they keep by the measures of the field."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from halfmask.anonymize import Level
from halfmask.anonymize.lattice import PublisherPayout, spans_at_level
from halfmask.assess.utility import (
    CellExtents,
    ColumnEntries,
    ColumnExtents,
    ColumnRise,
    ambiguity,
    classification_metric,
    date_label,
    generalization_height,
    kl_divergence,
    non_uniform_entropy,
    publisher_payout,
    squared_error,
)
from halfmask.microdata._classed_rows import CELL

if TYPE_CHECKING:
    from collections.abc import Callable

    from halfmask.anonymize import CellCounts, Coding, Plan
    from halfmask.assess.utility import GeneralizationHeight
    from halfmask.microdata._classed_rows import ClassedRows


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
    """Return dates as days since 1970, times as parts of a day, and what writes them."""
    unit, zone = (_UNITS_OF_DAY["ns"] if dtype == pl.Time else 1.0), None
    if isinstance(dtype, pl.Datetime):
        unit, zone = _UNITS_OF_DAY[dtype.time_unit], dtype.time_zone
    days = replace(
        column,
        low=column.low / unit,
        high=column.high / unit,
        domain_low=column.domain_low / unit,
        domain_high=column.domain_high / unit,
    )
    spread = math.inf if dtype == pl.Date else days.domain_high - days.domain_low
    label = date_label(spread, zone)
    return numbers / unit, days, (lambda day: label(day)[-5:]) if dtype == pl.Time else label


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


#: A label of more values than this isn't one that a majority of a class has.
MOST_LABELS = 1_000


#: Name, form and meaning of each measure in the report.
_SHOWN = {
    "non_uniform_entropy": (
        "Non-uniform entropy",
        "{:.3f}",
        "The share of the information of the quasi-identifiers that is lost.",
    ),
    "ambiguity": (
        "Ambiguity",
        "{:.1f} bits",
        "The log2 of how many combinations of released values a row could stand for on average.",
    ),
    "kl_divergence": (
        "KL divergence",
        "{:.2f} bits",
        "How far the released rows, spread evenly over their classes, are from the raw ones.",
    ),
    "squared_error": (
        "Squared error",
        "{:.3f}",
        "The share of the variation of numbers and dates that lies within classes (SSE / SST).",
    ),
    "precision": (
        "Precision",
        "{:.3f}",
        "1 minus the mean share of its hierarchy by which a value was raised (Sweeney).",
    ),
    "height": ("Height", "{:.2f}", "The sum over columns of the mean level of their hierarchies."),
    "classification": (
        "Classification metric",
        "{:.3f}",
        "The share of the rows whose label isn't the most frequent of their class (Iyengar).",
    ),
    "payout": (
        "Publisher's payout",
        "{:,.2f}",
        "What all rows earn their publisher, where an attacker attacks each row that pays.",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassMeasures:
    """Utility of the classes of a release; ``None`` where a measure has nothing to count."""

    non_uniform_entropy: float
    ambiguity: float
    kl_divergence: float | None = None
    squared_error: float | None = None
    precision: float | None = None
    height: float | None = None
    classification: float | None = None
    payout: float | None = None

    def to_dict(self) -> dict[str, float | None]:
        """Return the numbers by name."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @property
    def rows(self) -> tuple[tuple[str, str, str], ...]:
        """Name, number and sentence of each measure that was counted."""
        numbers = ((name, getattr(self, name)) for name in self.__dataclass_fields__)
        return tuple(
            (_SHOWN[name][0], _SHOWN[name][1].format(number), _SHOWN[name][2])
            for name, number in numbers
            if number is not None
        )


def class_measures(
    plan: Plan,
    counts: CellCounts,
    *,
    suppressed: int,
    raw_sizes: NDArray[np.int64] | None,
    labels: NDArray[np.int64] | None,
) -> ClassMeasures:
    """Measure the released classes."""
    areas = leaving_extents(plan, counts, as_codes=True)
    entries = _entries(plan, counts)
    divergence = None
    if raw_sizes is not None and int(raw_sizes.sum()) == areas.rows:
        divergence = kl_divergence(areas, suppressed=0, raw_sizes=raw_sizes)
    rise = _rise(plan, counts, suppressed=suppressed)
    return ClassMeasures(
        non_uniform_entropy=non_uniform_entropy(entries, suppressed=suppressed),
        ambiguity=ambiguity(areas, suppressed=suppressed),
        kl_divergence=divergence,
        squared_error=squared_error(entries),
        precision=None if rise is None else rise.precision,
        height=None if rise is None else rise.height,
        classification=None
        if labels is None
        else classification_metric(labels, suppressed=suppressed),
        payout=_payout(plan, areas, suppressed=suppressed),
    )


def _payout(plan: Plan, areas: CellExtents, *, suppressed: int) -> float | None:
    """Return the payout on the terms of the method's objective, if it has any."""
    terms = getattr(plan.method, "objective", None)
    if not isinstance(terms, PublisherPayout) or terms.attacker != "prosecutor":
        return None
    return publisher_payout(
        areas,
        suppressed=suppressed,
        publisher_benefit=terms.publisher_benefit,
        publisher_loss=terms.publisher_loss,
        adversary_gain=terms.adversary_gain,
        adversary_cost=terms.adversary_cost,
    ).payout


def label_counts(classed_rows: ClassedRows, label: str | None) -> NDArray[np.int64] | None:
    """Return how many released rows of each cell have each label; ``None`` for numbers."""
    if label is None or classed_rows.schema[label].kind in ("numeric", "datetime"):
        return None
    counted = pl.concat(list(classed_rows.each(partial(_labels_of, label))))
    codes = counted[label].rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
    n_labels = int(codes.max(initial=0)) + 1
    if n_labels > MOST_LABELS:
        return None
    labels = np.zeros((classed_rows.plan.partition.n_cells, n_labels), dtype=np.int64)
    np.add.at(labels, (counted[CELL].to_numpy(), codes), counted["n"].to_numpy())
    return labels


def _labels_of(label: str, number: int, placed: pl.DataFrame) -> pl.DataFrame:
    del number  # all batches are counted alike
    return placed.group_by(CELL, label).agg(pl.len().alias("n"))


def _entries(plan: Plan, counts: CellCounts) -> dict[str, ColumnEntries]:
    """Return the released rows of each column, by cell and code."""
    found = {}
    spans = written_spans(plan, counts)
    for place, (coding, (low, high)) in enumerate(zip(plan.codings, spans, strict=True)):
        cells, codes, n = counts.entries(place)
        held = codes < coding.n_values
        rows = np.ones(len(codes), dtype=np.int64) if n is None else n
        found[coding.column.name] = ColumnEntries(
            classes=cells[held].astype(np.int64),
            codes=codes[held].astype(np.int64),
            rows=rows[held],
            low=low,
            high=high,
            numbers=numbers_of(coding) if coding.grid is None else None,
        )
    return found


def _rise(plan: Plan, counts: CellCounts, *, suppressed: int) -> GeneralizationHeight | None:
    """Return the levels of the columns that are written as levels, or have a hierarchy."""
    columns = {}
    levels: tuple[int, ...] | None = getattr(plan.partition, "levels", None)
    heights: tuple[int, ...] = getattr(plan.partition, "heights", ())
    for place, (coding, span) in enumerate(
        zip(plan.codings, plan.value_spans(counts), strict=True)
    ):
        name = coding.column.name
        if levels is not None:
            level = np.full(plan.partition.n_cells, levels[place], dtype=np.int64)
            columns[name] = ColumnRise(levels=level, height=heights[place])
        elif coding.hierarchy is not None and isinstance(plan.recoding_of(name), Level):
            columns[name] = ColumnRise(
                levels=_lowest_levels(coding, *span), height=coding.hierarchy.height - 1
            )
    if not columns:
        return None
    return generalization_height(columns, plan.partition.sizes, suppressed=suppressed)


def _lowest_levels(
    coding: Coding, low: NDArray[np.int64], high: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the level of the lowest node that holds each span of codes."""
    edges = coding.boundaries[: coding.n_values - 1].astype(np.int64)
    levels = np.zeros(len(low), dtype=np.int64)
    for cell in np.flatnonzero(low < high).tolist():
        levels[cell] = edges[low[cell] : high[cell]].max()
    return levels
