"""Risk and utility of a release before it is written: from codes and cells, never from a copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask.anonymize import MOST_MEMBERS, Level, Ranges
from halfmask.assess.risk import Reidentification, classes_risk, table_risk
from halfmask.assess.utility import (
    CellExtents,
    ClassSizeUtility,
    ColumnExtents,
    Distribution,
    InformationLoss,
    ModelUtility,
    categorical_distribution,
    class_size_utility,
    information_loss,
    numeric_distribution,
)
from halfmask.guarantees import Classes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize import Coding, Plan

__all__ = [
    "ReleaseRisk",
    "ReleaseUtility",
    "as_numbers",
    "cell_extents",
    "distributions",
    "evaluate_risk",
    "evaluate_utility",
    "raw_classes",
]

#: Codes of rows are combined into one integer up to this.
KEY_LIMIT = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRisk:
    """What who knows quasi-identifiers finds again, in the raw table and in the release.

    Attributes
    ----------
    before, after
        Counted on the rows of the table, and of the release.
    before_sizes, after_sizes
        The sizes of the classes of both.
    population_rows
        How many rows the population has, where one was given.
    """

    before: Reidentification
    after: Reidentification
    before_sizes: NDArray[np.int64]
    after_sizes: NDArray[np.int64]
    population_rows: int | None = None

    def __repr__(self) -> str:
        highest = [each.prosecutor.highest.value for each in (self.before, self.after)]
        return f"ReleaseRisk(highest {highest[0]:.4f} before, {highest[1]:.4f} after)"

    def to_dict(self) -> dict[str, object]:
        """Return the numbers as JSON."""
        return {"before": self.before.to_dict(), "after": self.after.to_dict()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseUtility:
    """What a learner keeps.

    Attributes
    ----------
    loss
        How wide the released cells are.
    class_sizes
        Discernibility, average class size, suppression.
    distributions
        A picture of each quasi-identifier before and after, where there is one.
    model
        A model of a release by the same policy against one of raw rows, where there is a label.
    label
        What the model predicts.
    """

    loss: InformationLoss
    class_sizes: ClassSizeUtility
    distributions: Mapping[str, Distribution]
    model: ModelUtility | None = None
    label: str | None = None

    def __repr__(self) -> str:
        return f"ReleaseUtility(ncp {self.loss.ncp:.4f}, {len(self.distributions)} pictures)"

    def to_dict(self) -> dict[str, object]:
        """Return the numbers as JSON; the pictures are in the report."""
        return {
            "information_loss": self.loss.to_dict(),
            "class_sizes": self.class_sizes.to_dict(),
            "model": None if self.model is None else self.model.to_dict(),
            "label": self.label,
        }


def raw_classes(codes: Sequence[NDArray[np.integer]], n_codes: Sequence[int]) -> Classes:
    """Return the sizes of the classes that rows form before anything is done to them."""
    keys = np.zeros(len(codes[0]), dtype=np.int64)
    span = 1
    for column, n in zip(codes, n_codes, strict=True):
        if span * n > KEY_LIMIT:
            _, keys = np.unique(keys, return_inverse=True)
            span = int(keys.max()) + 1
        keys = keys * n + column
        span *= n
    keys.sort()
    starts = np.flatnonzero(np.diff(keys, prepend=keys[0] - 1))
    return Classes(np.diff(np.append(starts, len(keys))).astype(np.int64))


def evaluate_risk(
    raw: Classes,
    released: Classes,
    *,
    rows: pl.DataFrame,
    plan: Plan,
    class_of_cell: NDArray[np.int64],
    population: pl.DataFrame | None,
) -> ReleaseRisk:
    """Count risks before and after.

    Parameters
    ----------
    raw, released
        The classes of both tables.
    rows
        The raw quasi-identifiers, looked at only where a population is given.
    plan
        Where the population's rows would fall.
    class_of_cell
        The released class of each cell: cells that are written alike are one.
    population
        The people that the table was drawn from, with the same quasi-identifiers.
    """
    if population is None:
        before, after = classes_risk(raw), classes_risk(released)
    else:
        names = list(plan.quasi_identifiers)
        before = table_risk(rows, quasi_identifiers=names, population=population).as_value
        cells = plan.cells(population)
        people = np.bincount(class_of_cell[cells[cells >= 0]], minlength=released.n_classes)
        after = classes_risk(
            released,
            # A class can't have fewer people in the population than in the table.
            population_sizes=np.maximum(people, released.sizes),
            population_rows=population.height,
        )
    return ReleaseRisk(
        before=before,
        after=after,
        before_sizes=raw.sizes,
        after_sizes=released.sizes,
        population_rows=None if population is None else population.height,
    )


def cell_extents(plan: Plan) -> CellExtents:
    """Return what each cell covers in each quasi-identifier, as its recoding writes it."""
    columns = {}
    for j, coding in enumerate(plan.codings):
        low, high = plan.partition.low[:, j].copy(), plan.partition.high[:, j].copy()
        only_missing = low >= coding.n_values
        low[only_missing], high[only_missing] = -1, -1
        # A cell that mixes missing with values is scored by its values.
        high = np.minimum(high, coding.n_values - 1)
        if isinstance(plan.recoding, Level) and coding.hierarchy is not None:
            low, high = _node_spans(coding, low, high)
        columns[coding.column.name] = ColumnExtents.of_codes(
            low, high, n_values=coding.n_values, numbers=_numbers(coding)
        )
    return CellExtents(columns=columns, sizes=plan.partition.sizes)


def _numbers(coding: Coding) -> NDArray[np.float64] | None:
    return as_numbers(coding.values) if coding.ordered else None


def as_numbers(series: pl.Series) -> NDArray[np.float64]:
    """Return numbers, or dates as their physical numbers; NaN where a cell is missing.

    Decimals by value: their physical numbers lack the point.
    """
    physical = series.to_physical() if series.dtype.is_temporal() else series
    return physical.cast(pl.Float64).fill_null(float("nan")).to_numpy()


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


def evaluate_utility(
    plan: Plan,
    released: Classes,
    *,
    raw_counts: Sequence[NDArray[np.int64]],
    kept: Sequence[NDArray[np.int64]],
    suppressed: int,
    k: int,
    model: ModelUtility | None,
    label: str | None,
) -> ReleaseUtility:
    """Measure what the cells keep.

    Parameters
    ----------
    plan
        The cells.
    released
        The classes as they leave.
    raw_counts, kept
        For each quasi-identifier how many raw rows, and how many that leave, have each code.
    suppressed
        How many rows don't leave.
    k
        The promised class size: no bar of a picture shows fewer rows.
    model, label
        What a model keeps, and of which column.
    """
    extents = cell_extents(plan)
    return ReleaseUtility(
        loss=information_loss(extents, suppressed=suppressed),
        class_sizes=class_size_utility(released.sizes, suppressed=suppressed, k=k),
        distributions=distributions(plan, extents, raw_counts, kept, min_count=max(k, 5)),
        model=model,
        label=label,
    )


def distributions(
    plan: Plan,
    extents: CellExtents,
    raw_counts: Sequence[NDArray[np.int64]],
    kept: Sequence[NDArray[np.int64]],
    *,
    min_count: int,
) -> dict[str, Distribution]:
    """Picture each quasi-identifier before and after; one that can't be pictured is left out.

    Parameters
    ----------
    plan, extents
        The cells, and what they cover.
    raw_counts
        For each quasi-identifier how many raw rows have each code.
    kept
        The same of the rows that leave: a value that only suppressed rows had isn't named.
    min_count
        The fewest rows that a bar may show.
    """
    pictures: dict[str, Distribution] = {}
    for place, coding in enumerate(plan.codings):
        name, counts = coding.column.name, raw_counts[place]
        column = extents.columns[name]
        numbers = _numbers(coding)
        held = counts[: coding.n_values]
        if numbers is not None:
            picture = numeric_distribution(
                np.repeat(numbers, held), column, extents.sizes, min_count=min_count
            )
        else:
            texts = _texts(coding)
            after = _spread_over_members(column, extents.sizes, coding.n_values)
            picture = categorical_distribution(
                dict(zip(texts, held.astype(float).tolist(), strict=True)),
                dict(zip(texts, after.tolist(), strict=True)),
                in_release={texts[code] for code in _named(coding, plan, place, kept[place])},
                min_count=min_count,
            )
        if picture is not None:
            pictures[name] = picture
    return pictures


def _texts(coding: Coding) -> list[str]:
    return [str(text) for text in coding.values.cast(pl.String).to_list()]


def _named(coding: Coding, plan: Plan, place: int, kept: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the codes of the values that the release itself names: alone, or in a set."""
    kept = kept[: coding.n_values]
    labels = set(plan.written[place].drop_nulls().unique().cast(pl.String).to_list())
    named = np.array([text in labels for text in _texts(coding)], dtype=np.bool_)
    if isinstance(plan.recoding, Ranges):
        below = np.concatenate([[0], np.cumsum(kept > 0)])
        low, high = plan.partition.low[:, place], plan.partition.high[:, place]
        for first, last in np.unique(np.stack([low, high]), axis=1).T.tolist():
            end = min(last, coding.n_values - 1) + 1
            if first < end and below[end] - below[first] <= MOST_MEMBERS:
                named[first:end] = True
    return np.flatnonzero(named & (kept > 0))


def _spread_over_members(
    column: ColumnExtents, sizes: NDArray[np.int64], n_values: int
) -> NDArray[np.float64]:
    """Share each cell's rows out evenly over the values that it covers."""
    stated = ~np.isnan(column.low)
    low, high = column.low[stated].astype(np.int64), column.high[stated].astype(np.int64)
    each = sizes[stated] / (high - low + 1)
    steps = np.bincount(low, weights=each, minlength=n_values + 1)
    steps -= np.bincount(high + 1, weights=each, minlength=n_values + 1)
    return np.clip(np.cumsum(steps)[:n_values], 0.0, None)
