"""What a model keeps: a release by the same policy of some rows, judged on raw rows held out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from halfmask._errors import DataError, GuaranteeNotMetError
from halfmask.assess.utility import (
    CellExtents,
    ColumnExtents,
    LabelledRows,
    ModelUtility,
    feature_plan,
    features_of_cells,
    model_utility,
)
from halfmask.data import as_text
from halfmask.microdata._class_measures import as_numbers, cell_extents, ends_of
from halfmask.microdata._giveaways import giveaways

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize import CellCounts, Coding, Plan, Protection

#: How many rows of the table the comparison uses at the most.
LEARNING_ROWS = 70_000
HELD_OUT_FRACTION = 0.25
SEED = 0  # of the split and the models: the same table and policy give the same figure
#: A label with more different values is a number to predict, or nothing that a model can learn.
MOST_LABELS = 50
#: Numbers and dates with more different values than this are predicted as numbers.
MOST_LABEL_NUMBERS = 10
#: How many rows a category must have on average to be learnt, where there are more than two.
ROWS_A_LABEL = 5
LARGEST = 1e300
_UNMASKED = "\0unmasked "

Domain = list[str] | tuple[float, float]


def learn(
    rows: pl.DataFrame,
    protection: Protection,
    *,
    features: Sequence[str],
    label: str,
    unmasked: pl.DataFrame | None = None,
) -> ModelUtility | None:
    """Train on a release of three quarters of the rows and on these rows raw; test on the rest."""
    rows = _with_originals(rows, unmasked).drop_nulls([label])
    needing = protection.schema.suppressing
    learnt = rows.drop_nulls(needing) if needing else rows
    task = _task(learnt[label], protection.schema[label].kind)
    if task is None:
        return None
    order = np.random.default_rng(SEED).permutation(rows.height)
    n_test = int(rows.height * HELD_OUT_FRACTION)
    test, train = rows[order[:n_test]], rows[order[n_test:]]
    try:
        plan, fitted, counts = protection.plan_counted(protection.fit(protection.summarize(train)))
        kept = train.drop_nulls(needing) if needing else train
        stays = fitted.cell_of_row >= 0
        leaving = kept.filter(pl.Series(stays))
        others = [name for name in features if name not in plan.quasi_identifiers]
        bare = _without_masks(rows)
        domains = {name: _domain(pl.concat([rows[name], bare[name]])) for name in others}
        cells = _Cells(plan, counts, domains)
        raw = cells.raw(_without_masks(kept))
        released = cells.released(leaving, fitted.cell_of_row[stays].astype(np.int64))
        chosen = feature_plan(raw)

        def labelled(extents: CellExtents, frame: pl.DataFrame) -> LabelledRows:
            seen = features_of_cells(extents, chosen)
            seen[:, np.isnan(seen).all(axis=0)] = 0.0  # the learner takes no column without values
            return LabelledRows(features=seen, label=_label(frame[label], task))

        compared = model_utility(
            raw=labelled(raw, _without_masks(kept)),
            released=labelled(released, leaving),
            test=labelled(cells.raw(_without_masks(test)), _without_masks(test)),
            task=task,
            random_state=SEED,
        )
        found = giveaways(kept.select(others), test, kept[label], test[label], task=task)
        return replace(compared, giveaways=found)
    except (GuaranteeNotMetError, DataError):
        return None


def _with_originals(rows: pl.DataFrame, unmasked: pl.DataFrame | None) -> pl.DataFrame:
    """Add the original columns to the masked ones, in the masked ones' types."""
    if unmasked is None:
        return rows
    return rows.with_columns(
        unmasked[name].cast(rows[name].dtype).alias(f"{_UNMASKED}{name}")
        for name in unmasked.columns
    )


def _without_masks(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows without masks."""
    hidden = [name for name in rows.columns if name.startswith(_UNMASKED)]
    bare = rows.with_columns(rows[name].alias(name.removeprefix(_UNMASKED)) for name in hidden)
    return bare.drop(hidden)


def _task(label: pl.Series, kind: str) -> Literal["classification", "regression"] | None:
    """Return what a model has to do to predict the label; None where it can't."""
    n_values = label.n_unique()
    number = label.dtype.is_numeric() or label.dtype.is_temporal()
    if number and kind in {"numeric", "datetime", "ordinal"} and n_values > MOST_LABEL_NUMBERS:
        return "regression"
    often = n_values <= 2 or n_values * ROWS_A_LABEL <= len(label)
    return "classification" if n_values <= MOST_LABELS and often else None


def _scaled(columns: Mapping[str, ColumnExtents]) -> dict[str, ColumnExtents]:
    """Return columns with numbers on a scale from 0 to 1: the learner's numbers are narrow."""
    return {
        name: column if column.categorical else _on_unit_scale(column)
        for name, column in columns.items()
    }


def _on_unit_scale(column: ColumnExtents) -> ColumnExtents:
    # Divided by 2 and clipped: the difference of two numbers may be beyond what a number can be.
    ends = np.array([column.domain_low, column.domain_high])
    low, high, (first, last) = (
        np.clip(each, -LARGEST, LARGEST) / 2 for each in (column.low, column.high, ends)
    )
    width = last - first if last - first > 1 / LARGEST else 1.0
    return ColumnExtents(
        low=np.clip((low - first) / width, 0.0, 1.0),
        high=np.clip((high - first) / width, 0.0, 1.0),
        domain_low=0.0,
        domain_high=1.0,
        categorical=False,
    )


def _label(series: pl.Series, task: str) -> NDArray[np.generic]:
    return as_numbers(series) if task == "regression" else as_text(series).to_numpy()


@dataclass(frozen=True, slots=True)
class _Cells:
    """Raw and released rows in one form: what each covers in every column."""

    plan: Plan
    counts: CellCounts
    domains: dict[str, Domain]

    def raw(self, frame: pl.DataFrame) -> CellExtents:
        own = {
            coding.column.name: _exact(coding, frame[coding.column.name])
            for coding in self.plan.codings
        }
        sizes = np.ones(frame.height, dtype=np.int64)
        return CellExtents(columns=_scaled({**own, **self._untouched(frame)}), sizes=sizes)

    def released(self, frame: pl.DataFrame, cell_of_row: NDArray[np.int64]) -> CellExtents:
        cells = cell_extents(self.plan, self.counts).take(cell_of_row)
        columns = _scaled({**cells.columns, **self._untouched(frame)})
        return CellExtents(columns=columns, sizes=cells.sizes)

    def _untouched(self, frame: pl.DataFrame) -> dict[str, ColumnExtents]:
        return {name: _as_it_is(frame[name], domain) for name, domain in self.domains.items()}


def _exact(coding: Coding, series: pl.Series) -> ColumnExtents:
    """Return raw rows as cells of one value; a category that the fit didn't see is missing."""
    if coding.ordered:
        numbers, values = as_numbers(coding.values), as_numbers(series)
        if (ends := ends_of(coding)) is not None:
            numbers = np.append(numbers, ends)
        if not len(numbers):
            numbers, values = np.zeros(1), np.full(len(values), np.nan)
        # Held-out numbers may lie outside of what was fitted: the cell next to them is theirs.
        return ColumnExtents.exact(
            np.clip(values, numbers.min(), numbers.max()),
            domain_low=float(numbers.min()),
            domain_high=float(numbers.max()),
            categorical=False,
        )
    codes = coding.codes(series).astype(np.float64)
    codes[(codes < 0) | (codes >= coding.n_values)] = np.nan
    return ColumnExtents.exact(
        codes, domain_low=0.0, domain_high=float(max(0, coding.n_values - 1)), categorical=True
    )


def _domain(series: pl.Series) -> Domain:
    if series.dtype.is_numeric() or series.dtype.is_temporal():
        numbers = as_numbers(series.drop_nulls())
        return (float(numbers.min()), float(numbers.max())) if len(numbers) else (0.0, 0.0)
    return [str(value) for value in as_text(series).drop_nulls().unique().sort()]


def _as_it_is(series: pl.Series, domain: Domain) -> ColumnExtents:
    """Return a column released unchanged, as cells of one value."""
    if isinstance(domain, tuple):
        return ColumnExtents.exact(
            as_numbers(series), domain_low=domain[0], domain_high=domain[1], categorical=False
        )
    codes = as_text(series).cast(pl.Enum(domain)).to_physical().cast(pl.Float64)
    return ColumnExtents.exact(
        codes.fill_null(np.nan).to_numpy(),
        domain_low=0.0,
        domain_high=float(max(0, len(domain) - 1)),
        categorical=True,
    )
