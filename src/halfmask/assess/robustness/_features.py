"""How the features of a model come from the columns that an attacker may change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from halfmask._errors import ColumnNotFoundError, SchemaError
from halfmask._foreign import foreign
from halfmask.assess.robustness._budget import is_number, numbers

if TYPE_CHECKING:
    from halfmask.assess._arrays import Floats, Model, Value
    from halfmask.assess.robustness._budget import AttackerBudget, ColumnBudget

#: So many random numbers, and so many numbers that occur, are asked of each column.
_RANDOM: Final = 8
_OCCURRING: Final = 50
_CODERS: Final = frozenset({"OneHotEncoder", "OrdinalEncoder"})


@dataclass(frozen=True, slots=True)
class NumberFeature:
    """A feature that is ``scale * column + shift``; several features may be of one column."""

    column: str
    feature: int
    scale: float = 1.0
    shift: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class CategoryFeatures:
    """All features of a column that a category sets together: indicators, or a code."""

    column: str
    features: tuple[int, ...]
    categories: tuple[str, ...] = field(repr=False)
    values: Floats = field(repr=False)  # (categories, features)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureMap:
    """The features of the last step of a pipeline that a budget lets change.

    All others are constant. For a missing cell, what an imputer fills in isn't in the map.
    """

    numbers: tuple[NumberFeature, ...]
    categories: tuple[CategoryFeatures, ...]
    n_features: int
    transform: Callable[[pl.DataFrame], Floats] = field(repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the features, each once."""
        names = [it.column for it in self.numbers], [it.column for it in self.categories]
        return tuple(dict.fromkeys([*names[0], *names[1]]))

    def features(self, rows: pl.DataFrame) -> Floats:
        """Return the features of rows as the pipeline itself makes them, (rows, features)."""
        with foreign(f"The steps before the model failed on {rows.height:,} rows"):
            return self.transform(rows)


def map_features(
    model: Model, rows: pl.DataFrame, budget: AttackerBudget
) -> tuple[Model, FeatureMap] | None:
    """Return the last step of a model and the map to it; ``None`` where it isn't of these kinds.

    A pipeline may have ColumnTransformer, scalers of scikit-learn, SimpleImputer, OneHotEncoder and
    OrdinalEncoder: it is asked what it makes of each cell. A search stands for its best model.
    """
    model = getattr(model, "best_estimator_", model)
    before, last = (model[:-1], model[-1]) if hasattr(model, "steps") else (None, model)

    def transform(asked: pl.DataFrame) -> Floats:
        if not before:
            return np.column_stack([numbers(asked[it]) for it in _names(model, asked)])
        made: Value = before.transform(as_rows(model, asked))
        return np.asarray(made.toarray() if hasattr(made, "toarray") else made, dtype=np.float64)

    try:
        return last, _asked(transform, rows, budget, _coded_numbers(before))
    except Exception:  # noqa: BLE001 # steps of others: what fails here isn't of these kinds
        return None


def as_rows(model: Model, rows: pl.DataFrame) -> Any:  # noqa: ANN401 # a frame or an array
    """Return rows as a model was fitted: with its columns' names, or as an array."""
    names = _names(model, rows)
    return rows.select(names) if hasattr(model, "feature_names_in_") else rows.to_numpy()


def _names(model: Model, rows: pl.DataFrame) -> list[str]:
    """Return the columns that a model was fitted on, in its order."""
    if not hasattr(model, "feature_names_in_"):
        if getattr(model, "n_features_in_", rows.width) == rows.width:
            return rows.columns
        raise SchemaError(
            f"The model was fitted on {model.n_features_in_} columns. Got {rows.width}.",
            hint="Give the columns that the model was fitted on, in their order.",
        )
    names = [str(name) for name in model.feature_names_in_]
    if absent := [name for name in names if name not in rows.columns]:
        raise ColumnNotFoundError.of(absent, rows.columns, where="the rows")
    return names


class _UnknownStepError(Exception):
    """A step that isn't one of these, or that makes something else of a column."""


def _coded_numbers(step: Model) -> list[float]:
    """Return the numbers that encoders in a step know as categories."""
    kind = type(step).__name__
    if kind == "ColumnTransformer":
        return [it for _, part, *_ in step.transformers_ for it in _coded_numbers(part)]
    if kind == "Pipeline":
        coded = [_coded_numbers(part) for _, part in step.steps]
        coder = next((at for at, them in enumerate(coded) if them), 0)
        if any(type(part).__name__ != "SimpleImputer" for _, part in step.steps[:coder]):
            raise _UnknownStepError  # it knows other numbers than those of the column
        return [it for them in coded for it in them]
    if kind in _CODERS:
        known = [it for categories in step.categories_ for it in categories.tolist()]
        return [float(it) for it in known if isinstance(it, int | float)]
    is_known = (
        step in (None, "passthrough", "drop")
        or (kind.endswith("Scaler") and not getattr(step, "clip", False))
        or (kind == "SimpleImputer" and str(step.missing_values) in {"nan", "None", "<NA>"})
        or (kind, getattr(step, "func", kind)) == ("FunctionTransformer", None)
    )
    if not is_known:
        raise _UnknownStepError
    return []


def _asked(
    transform: Callable[[pl.DataFrame], Floats], rows: pl.DataFrame, budget: AttackerBudget,
    coded: list[float],
) -> FeatureMap:  # fmt: skip
    """Return the map, by the features of one row in which each column has each of some cells."""
    every = [_cells(rows[name], it, coded) for name, it in budget.columns.items()]
    free = [it for it in every if len(it)]
    base = rows[:1].with_columns(it[:1] for it in free)
    asked = pl.concat([base, *(base[[0] * len(it)].with_columns(it) for it in free)])
    found = transform(rows)
    made = _made(transform, asked, found.shape[1])
    of_numbers, of_categories = list[NumberFeature](), list[CategoryFeatures]()
    parts = np.split(made, np.cumsum([1, *map(len, free)]))[1:]
    for cells, part in zip(free, parts, strict=False):  # nothing is behind the last one
        known = np.asarray(~np.isinf(part).all(axis=1))
        moves = (part[known] != made[0]) & ~np.isnan(made[0])
        features = np.flatnonzero(moves.any(axis=0)).tolist()
        if not is_number(cells):
            values, texts = part[known][:, features], tuple(cells.filter(pl.Series(known)))
            each = CategoryFeatures(cells.name, tuple(features), texts, values)
            of_categories += [each] if features else []
            continue
        if not known.all():
            raise _UnknownStepError
        x = np.concatenate([numbers(cells), numbers(rows[cells.name])])
        values = np.concatenate([part, found])[np.isfinite(x)][:, features]
        shift, scale, there = part[0, features], part[1, features], x[np.isfinite(x), None]
        scale = (scale - shift) / cells[1]
        if not scale.all() or not np.allclose(values, scale * there + shift, rtol=1e-6, atol=1e-9):
            raise _UnknownStepError
        lines = zip(features, scale.tolist(), shift.tolist(), strict=True)
        of_numbers += [NumberFeature(cells.name, *it) for it in lines]
    return FeatureMap(tuple(of_numbers), tuple(of_categories), found.shape[1], transform)


def _cells(cells: pl.Series, budget: ColumnBudget, coded: list[float]) -> pl.Series:
    """Return the cells that are asked of a column: all categories, or 0, a power of 2, others."""
    seen = cells.drop_nulls().unique().sort()
    if budget.change == "no" or not len(seen):
        return cells.clear()
    if not is_number(cells):
        every = dict.fromkeys([*seen, *(budget.categories or ())])
        return pl.Series(cells.name, list(every), dtype=cells.dtype)
    low, high = budget.low or 0.0, budget.high or 0.0
    top, rng = 2.0 ** np.frexp(max(abs(low), abs(high)))[1], np.random.default_rng(0)
    occurring = rng.permutation(numbers(seen)[np.isfinite(numbers(seen))])[:_OCCURRING]
    return pl.Series(cells.name, [0.0, top, *rng.uniform(low, high, _RANDOM), *occurring, *coded])


def _made(transform: Callable[[pl.DataFrame], Floats], asked: pl.DataFrame, width: int) -> Floats:
    """Return the features of rows; infinite where the steps refuse a category."""
    try:
        return transform(asked)
    except Exception:  # noqa: BLE001 # of others
        n = asked.height // 2
        halves = [_made(transform, it, width) for it in (asked[:n], asked[n:]) if n]
        return np.concatenate(halves) if n else np.full((1, width), np.inf)
