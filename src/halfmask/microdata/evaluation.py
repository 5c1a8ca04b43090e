"""Risk and utility of a release before it is written: from codes and cells, never from a copy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from halfmask._errors import GuaranteeNotMetError
from halfmask.anonymize import MAX_MEMBERS, Ranges
from halfmask.assess.risk import (
    ColumnSetCounter,
    ColumnSetRisk,
    LinkedRows,
    Reidentification,
    ReleasedColumnsRisk,
    classes_risk,
    linked_rows,
    table_risk,
    worst_sets,
)
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
from halfmask.data import as_text
from halfmask.guarantees import Classes, size_asked
from halfmask.microdata._class_measures import as_numbers, in_days, leaving_extents, numbers_of
from halfmask.microdata._classed_rows import CELL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from halfmask.anonymize import CellCounts, Coding, Plan
    from halfmask.microdata._class_measures import ClassMeasures
    from halfmask.microdata._classed_rows import ClassedRows
    from halfmask.microdata._detail_kept import DetailKept
    from halfmask.microdata._outlined_places import GeneralizedPlaces


#: Rows that the search for the worst sets of columns looks at, at most.
SEARCH_ROWS = 100_000


def released_columns_risk(
    classed_rows: ClassedRows,
    released: Classes,
    class_of_cell: NDArray[np.int64],
    *,
    sample: pl.DataFrame,
) -> ReleasedColumnsRisk:
    """Count unique rows, and rows in classes under k, over columns that an attacker may know.

    These are columns that no class covers. Columns that a mask randomises, or gives tokens, are no
    knowledge of anybody's.
    """
    k = size_asked(classed_rows.guarantees, least=2)
    unchanged = _unchanged(classed_rows)
    known = {*classed_rows.plan.quasi_identifiers, *unchanged}
    counted = tuple(
        classed_rows.plan.released_columns([name for name in classed_rows.columns if name in known])
    )
    sizes = released.sizes
    if not unchanged:
        every = ColumnSetRisk(
            columns=counted,
            rows=released.rows,
            unique=int(np.count_nonzero(sizes == 1)),
            under_k=int(sizes[sizes < k].sum()),
        )
        return ReleasedColumnsRisk(k=k, exact=True, every=every, unchanged=None, few=())
    few = worst_sets(sample.select(name for name in sample.columns if name in unchanged), k=k)
    sets = list(dict.fromkeys([(CELL, *unchanged), tuple(unchanged), *few]))
    counter = ColumnSetCounter(sets, rows=classed_rows.n_out, k=k)
    for keys in classed_rows.each(partial(_keys_of, counter, class_of_cell)):
        counter.hold(keys)
    every, whole, *_ = risks = counter.risks()
    return ReleasedColumnsRisk(
        masked=any(classed_rows.policy.masks_of(name) for name in unchanged),
        k=k,
        exact=counter.exact,
        every=replace(every, columns=counted),
        unchanged=whole,
        few=tuple(each for each in risks[1:] if each.columns in few),
    )


def check_strict(risk: ReleasedColumnsRisk) -> None:
    """Raise where unchanged columns put a row into a class under k."""
    if risk.warning is not None:
        raise GuaranteeNotMetError(risk.warning, hint=risk.advice)


def _unchanged(classed_rows: ClassedRows) -> list[str]:
    policy, known = classed_rows.policy, classed_rows.plan.quasi_identifiers
    return [
        name
        for name in classed_rows.columns
        if name not in known and all(mask.is_matchable for mask in policy.masks_of(name))
    ]


def _keys_of(
    counter: ColumnSetCounter, class_of_cell: NDArray[np.int64], number: int, placed: pl.DataFrame
) -> list[NDArray[np.uint64]]:
    del number  # all batches are counted alike
    classes = pl.Series(CELL, class_of_cell[placed[CELL].to_numpy()])
    return counter.keys_of(placed.with_columns(classes))


Integers = NDArray[np.int64]

#: No bar of a picture shows fewer rows than this, nor than the required k.
LEAST_COUNT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRisk:
    """Risk of re-identification, in the raw table and in the release.

    ``before`` and ``after`` are for an attacker who knows the quasi-identifiers of a person and no
    other column; ``columns`` is for one who knows columns that are released unchanged.
    """

    before: Reidentification
    after: Reidentification
    before_sizes: NDArray[np.int64]
    after_sizes: NDArray[np.int64]
    columns: ReleasedColumnsRisk
    population_rows: int | None = None
    linked: LinkedRows | None = None

    def __repr__(self) -> str:
        highest = [each.prosecutor.highest.value for each in (self.before, self.after)]
        return f"ReleaseRisk(highest {highest[0]:.4f} before, {highest[1]:.4f} after)"

    def to_dict(self) -> dict[str, object]:
        """Return the numbers as JSON."""
        return {
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            "released_columns": self.columns.to_dict(),
            **({} if self.linked is None else {"linked_rows": self.linked.to_dict()}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseUtility:
    """What a learner keeps."""

    loss: InformationLoss
    class_sizes: ClassSizeUtility
    measures: ClassMeasures
    distributions: Mapping[str, Distribution]
    detail: DetailKept
    model: ModelUtility | None = None
    label: str | None = None
    places: tuple[GeneralizedPlaces, ...] = ()

    def __repr__(self) -> str:
        return f"ReleaseUtility(ncp {self.loss.ncp:.4f}, {len(self.distributions)} pictures)"

    def to_dict(self) -> dict[str, object]:
        """Return the numbers as JSON; the pictures are in the report."""
        return {
            "information_loss": self.loss.to_dict(),
            "class_sizes": self.class_sizes.to_dict(),
            "measures": self.measures.to_dict(),
            "detail": self.detail.to_dict(),
            "model": None if self.model is None else self.model.to_dict(),
            "label": self.label,
            **({"places": [it.to_dict() for it in self.places]} if self.places else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassFacts:
    """What was measured of a release of classes."""

    risk: ReleaseRisk
    utility: ReleaseUtility


def evaluate_risk(
    raw: Classes,
    released: Classes,
    *,
    rows: pl.DataFrame,
    plan: Plan,
    extents: CellExtents,
    class_of_cell: NDArray[np.int64],
    columns: ReleasedColumnsRisk,
    population: pl.DataFrame | None,
) -> ReleaseRisk:
    """Count risks before and after."""
    linked = linked_rows(released)
    released = released.by_person()
    if population is None:
        before, after = classes_risk(raw), classes_risk(released)
    else:
        names = list(plan.quasi_identifiers)
        before = table_risk(rows, quasi_identifiers=names, population=population).as_value
        after = risk_in_population(released, plan, extents, class_of_cell, population)
    return ReleaseRisk(
        before=before,
        after=after,
        before_sizes=raw.sizes,
        after_sizes=released.sizes,
        columns=columns,
        population_rows=None if population is None else population.height,
        linked=linked,
    )


def risk_in_population(
    released: Classes,
    plan: Plan,
    extents: CellExtents,
    class_of_cell: NDArray[np.int64],
    population: pl.DataFrame,
) -> Reidentification:
    """Count the risks of released classes, those from the population included."""
    people = released.population
    if people is None:
        cells = _fitting_cells(plan, extents, population)
        people = np.bincount(class_of_cell[cells[cells >= 0]], minlength=released.n_classes)
    return classes_risk(
        released,
        # A class can't have fewer people in the population than in the table.
        population_sizes=np.maximum(people, released.sizes),
        population_rows=population.height,
    )


def _fitting_cells(plan: Plan, extents: CellExtents, population: pl.DataFrame) -> NDArray[np.int64]:
    """Return the cell that each person fits by what is written of it; -1 where there is none.

    Somebody between two ranges falls into a cell, too, but nobody would look for them there.
    """
    cells = plan.cells(population).astype(np.int64)
    for j, coding in enumerate(plan.codings):
        column = extents.columns[coding.column.name]
        series = population[coding.column.name]
        values = as_numbers(series) if coding.ordered else coding.codes(series).astype(np.float64)
        within = (column.low[cells] <= values) & (values <= column.high[cells])
        mixed = plan.partition.high[cells, j] >= coding.n_values
        cells[~np.where(series.is_null().to_numpy(), mixed, within)] = -1
    return cells


def evaluate_utility(  # noqa: PLR0913 # each says one thing, by its name
    plan: Plan,
    released: Classes,
    *,
    raw_counts: Sequence[NDArray[np.int64]],
    counts: CellCounts,
    detail: Callable[[InformationLoss], DetailKept],
    measures: ClassMeasures,
    suppressed: int,
    model: ModelUtility | None,
    label: str | None,
    places: tuple[GeneralizedPlaces, ...] = (),
) -> ReleaseUtility:
    """Measure what the cells keep."""
    k = size_asked(plan.guarantees)
    extents = leaving_extents(plan, counts)
    loss = information_loss(extents, suppressed=suppressed)
    return ReleaseUtility(
        loss=loss,
        detail=detail(loss),
        class_sizes=class_size_utility(released.sizes, suppressed=suppressed, k=k),
        measures=measures,
        distributions=distributions(
            plan, extents, raw_counts, counts, min_count=max(k, LEAST_COUNT)
        ),
        model=model,
        label=label,
        places=places,
    )


def distributions(
    plan: Plan,
    extents: CellExtents,
    raw_counts: Sequence[NDArray[np.int64]],
    counts: CellCounts,
    *,
    min_count: int,
) -> dict[str, Distribution]:
    """Picture each quasi-identifier before and after; one that can't be pictured is left out."""
    pictures: dict[str, Distribution] = {}
    spans = plan.value_spans(counts)
    kept = counts.code_counts([coding.n_codes for coding in plan.codings])
    for place, coding in enumerate(plan.codings):
        name = coding.column.name
        column = extents.columns[name]
        numbers = numbers_of(coding)
        held = raw_counts[place][: coding.n_values]
        if numbers is not None:
            label = None
            if coding.values.dtype in (pl.Date, pl.Datetime, pl.Time):
                numbers, column, label = in_days(numbers, column, coding.values.dtype)
            picture = numeric_distribution(
                np.repeat(numbers, held), column, extents.sizes, min_count=min_count, label=label
            )
        else:
            texts = _texts(coding)
            leaves = np.flatnonzero(kept[place][: coding.n_values]).tolist()
            after = _spread_over_members(column, extents.sizes, len(leaves))
            picture = categorical_distribution(
                dict(zip(texts, held.astype(float).tolist(), strict=True)),
                dict(zip([texts[i] for i in leaves], after.tolist(), strict=True)),
                in_release={texts[i] for i in _named(plan, place, spans[place], kept[place])},
                min_count=min_count,
            )
        if picture is not None:
            pictures[name] = picture
    return pictures


def _texts(coding: Coding) -> list[str]:
    return [str(text) for text in as_text(coding.values).to_list()]


def _named(
    plan: Plan, place: int, spans: tuple[Integers, Integers], kept: Integers
) -> NDArray[np.int64]:
    """Return the codes of the values that the release itself names: alone, or in a set."""
    coding = plan.codings[place]
    kept = kept[: coding.n_values]
    labels = set(as_text(plan.written[place].drop_nulls().unique()).to_list())
    named = np.array([text in labels for text in _texts(coding)], dtype=np.bool_)
    if isinstance(plan.recoding_of(coding.column.name), Ranges):
        below = np.concatenate([[0], np.cumsum(kept > 0)])
        for first, last in np.unique(np.stack(spans), axis=1).T.tolist():
            if first >= 0 and below[last + 1] - below[first] <= MAX_MEMBERS:
                named[first : last + 1] = True
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
