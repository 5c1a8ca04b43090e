"""What a model keeps: a release by the same policy of some rows, judged on raw rows held out."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from halfmask.release._evaluation import cell_extents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize import Coding, Protection

__all__ = ["HELD_OUT_FRACTION", "LEARNING_ROWS", "learn"]

#: How many rows of the table the comparison uses at the most.
LEARNING_ROWS = 70_000
HELD_OUT_FRACTION = 0.25
SEED = 0  # of the split and the models: the same table and policy give the same figure


def learn(
    rows: pl.DataFrame, protection: Protection, *, features: Sequence[str], label: str
) -> ModelUtility | None:
    """Train on a release of three quarters of the rows and on the same rows raw; test on the rest.

    Parameters
    ----------
    rows
        Raw rows, at most `LEARNING_ROWS`, with all columns that leave.
    protection
        The policy's protection, fitted anew to the rows that are learnt from: the rows held out are
        in no release.
    features
        The columns that leave, without the label.
    label
        The column to predict; rows where it is missing are left out.

    Returns
    -------
    ``None`` where there is nothing to compare: too few rows to protect, or one label.
    """
    rows = rows.drop_nulls([label])
    order = np.random.default_rng(SEED).permutation(rows.height)
    n_test = int(rows.height * HELD_OUT_FRACTION)
    test, train = rows[order[:n_test]], rows[order[n_test:]]
    try:
        plan, fitted = protection.plan(protection.fit(protection.summarize(train)))
        kept = train.drop_nulls(
            [
                name
                for name in plan.quasi_identifiers
                if protection.schema[name].missing == "suppress"
            ]
        )
        of_cells = cell_extents(plan)
        stays = fitted.cell_of_row >= 0
        released_cells = of_cells.take(fitted.cell_of_row[stays].astype(np.int64))
        released_rows = kept.filter(pl.Series(stays))
        others = [name for name in features if name not in plan.quasi_identifiers]
        domains = {name: _domain(rows[name]) for name in others}

        def raw_cells(frame: pl.DataFrame) -> CellExtents:
            own = {
                coding.column.name: _exact(coding, frame[coding.column.name])
                for coding in plan.codings
            }
            own |= {name: _untouched(frame[name], domains[name]) for name in others}
            return CellExtents(columns=own, sizes=np.ones(frame.height, dtype=np.int64))

        raw = raw_cells(kept)
        beside = {name: _untouched(released_rows[name], domains[name]) for name in others}
        released = CellExtents(
            columns={**released_cells.columns, **beside}, sizes=released_cells.sizes
        )
        chosen = feature_plan(raw)
        numeric = rows[label].dtype.is_float()
        return model_utility(
            raw=LabelledRows(features=features_of_cells(raw, chosen), label=_label(kept[label])),
            released=LabelledRows(
                features=features_of_cells(released, chosen), label=_label(released_rows[label])
            ),
            test=LabelledRows(
                features=features_of_cells(raw_cells(test), chosen), label=_label(test[label])
            ),
            task="regression" if numeric else "classification",
            random_state=SEED,
        )
    except (GuaranteeNotMetError, DataError):
        return None


def _label(series: pl.Series) -> NDArray[np.generic]:
    return series.to_numpy() if series.dtype.is_float() else series.cast(pl.String).to_numpy()


def _exact(coding: Coding, series: pl.Series) -> ColumnExtents:
    """Return raw rows as cells of one value; a category that the fit didn't see is missing."""
    if coding.ordered:
        numbers = coding.values.to_physical().to_numpy().astype(np.float64)
        values = series.to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy()
        # Held-out numbers may lie outside of what was fitted: the cell next to them is theirs.
        values = np.clip(values, numbers.min(), numbers.max())
        return ColumnExtents.exact(
            values,
            domain_low=float(numbers.min()),
            domain_high=float(numbers.max()),
            categorical=False,
        )
    codes = coding.codes(series).astype(np.float64)
    codes[(codes < 0) | (codes >= coding.n_values)] = np.nan
    return ColumnExtents.exact(
        codes, domain_low=0.0, domain_high=float(max(0, coding.n_values - 1)), categorical=True
    )


def _domain(series: pl.Series) -> list[str] | tuple[float, float]:
    if series.dtype.is_numeric() or series.dtype.is_temporal():
        numbers = series.to_physical().cast(pl.Float64).drop_nulls()
        return (0.0, 0.0) if numbers.is_empty() else (float(numbers.min()), float(numbers.max()))  # type: ignore[arg-type] # floats
    return [str(value) for value in series.cast(pl.String).drop_nulls().unique().sort()]


def _untouched(series: pl.Series, domain: list[str] | tuple[float, float]) -> ColumnExtents:
    """Return a column that leaves as it is, as cells of one value."""
    if isinstance(domain, tuple):
        return ColumnExtents.exact(
            series.to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy(),
            domain_low=domain[0],
            domain_high=domain[1],
            categorical=False,
        )
    codes = series.cast(pl.String).cast(pl.Enum(domain)).to_physical().cast(pl.Float64)
    return ColumnExtents.exact(
        codes.fill_null(np.nan).to_numpy(),
        domain_low=0.0,
        domain_high=float(max(0, len(domain) - 1)),
        categorical=True,
    )
