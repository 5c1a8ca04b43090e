"""How the features of a model come from columns of a table: numbers and groups of indicators."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from halfmask._errors import ColumnNotFoundError, SchemaError
from halfmask._foreign import foreign
from halfmask.data import to_polars

if TYPE_CHECKING:
    from halfmask.assess._arrays import Floats, Ints, Model, Rows, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberFeature:
    """A feature that is ``scale * column + shift``; several features may be of one column."""

    column: str
    feature: int
    scale: float = 1.0
    shift: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryFeatures:
    """All features of a column that a category sets together: indicators, or a code."""

    column: str
    features: tuple[int, ...]
    categories: tuple[Any, ...] = field(repr=False)
    values: tuple[tuple[float, ...], ...] = field(repr=False)  # of the features, by category

    def codes(self, rows: pl.DataFrame) -> Ints:
        """Return the number of each row's category; -1: missing, or none that the model knows."""
        numbers = {it: n for n, it in enumerate(self.categories) if it is not None}
        return np.array([numbers.get(it, -1) for it in rows[self.column].to_list()], dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FeatureMap:
    """All features of the last step of a pipeline, and what comes before it as one function.

    A column is in one of the two lists, or isn't read. Features in neither list are constant. For a
    missing cell, what an imputer fills in isn't in the map: only ``features`` has it.
    """

    numbers: tuple[NumberFeature, ...]
    categories: tuple[CategoryFeatures, ...]
    n_features: int
    transform: Callable[[pl.DataFrame], Floats] = field(repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the model reads, each once."""
        of_numbers = [it.column for it in self.numbers]
        return tuple(dict.fromkeys([*of_numbers, *(it.column for it in self.categories)]))

    def features(self, rows: pl.DataFrame) -> Floats:
        """Return the features of rows as the pipeline itself makes them, (rows, features)."""
        with foreign(f"The steps before the model failed on {rows.height:,} rows"):
            return self.transform(rows)

    def holds_for(self, rows: pl.DataFrame) -> bool:
        """Return whether the pipeline makes features of rows as the map says."""
        found = self.features(rows)
        expected = found.copy()  # where a cell is missing, or isn't known, the map says nothing
        for each in self.numbers:
            cells = rows[each.column].cast(pl.Float64).fill_null(np.nan).to_numpy()
            there = ~np.isnan(cells)
            expected[there, each.feature] = each.scale * cells[there] + each.shift
        for group in self.categories:
            codes = group.codes(rows)
            known = np.flatnonzero(codes >= 0)
            expected[np.ix_(known, np.array(group.features))] = np.asarray(group.values)[
                codes[known]
            ]
        is_whole = found.shape == (rows.height, self.n_features)
        return is_whole and np.allclose(found, expected, rtol=1e-6, atol=1e-9, equal_nan=True)


def map_features(model: Model, rows: pl.DataFrame) -> tuple[Model, FeatureMap] | None:
    """Return the last step of a model and the map to it; ``None`` where it isn't of these kinds.

    A pipeline may have ColumnTransformer, scalers of scikit-learn, SimpleImputer, OneHotEncoder and
    OrdinalEncoder. A search stands for its best model. The map is checked on the rows.
    """
    model = getattr(model, "best_estimator_", model)
    before, last = (model[:-1], model[-1]) if hasattr(model, "steps") else ((), model)
    try:
        sources = _through(before, [_Source(name) for name in _names(model, rows)])
        found = _as_map(sources, _transform_of(before, model))
        return (last, found) if found.holds_for(rows) else None
    except Exception:  # noqa: BLE001 # steps of others: what fails here isn't of these kinds
        return None


def as_rows(model: Model, rows: pl.DataFrame) -> Any:  # noqa: ANN401 # a frame or an array
    """Return rows as a model was fitted: with its columns' names, or as an array."""
    names = _names(model, rows)
    return rows.select(names) if hasattr(model, "feature_names_in_") else rows.to_numpy()


def as_columns(rows: Rows) -> pl.DataFrame:
    """Return rows of any kind as columns, those of an array under their numbers."""
    if not isinstance(rows, np.ndarray) or rows.ndim != 2:
        return to_polars(rows)
    with foreign(f"The array of {len(rows):,} rows can't be turned into columns"):
        return to_polars(pl.DataFrame({str(n): each.tolist() for n, each in enumerate(rows.T)}))


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


def _transform_of(before: Model, model: Model) -> Callable[[pl.DataFrame], Floats]:
    def transform(rows: pl.DataFrame) -> Floats:
        if not len(before):
            numbers = rows.select(pl.col(_names(model, rows)).cast(pl.Float64))
            return numbers.fill_null(np.nan).to_numpy()
        return _as_floats(before.transform(as_rows(model, rows)))

    return transform


def _as_floats(made: Value) -> Floats:
    return np.asarray(made.toarray() if hasattr(made, "toarray") else made, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Source:
    """Where a feature comes from: a number, or a category of which ``table`` has the feature."""

    column: str
    scale: float = 1.0
    shift: float = 0.0
    categories: tuple[Any, ...] = ()
    table: tuple[float, ...] = ()

    @property
    def is_cell(self) -> bool:
        return not self.categories and (self.scale, self.shift) == (1.0, 0.0)

    def then(self, scale: float, shift: float) -> _Source:
        scale, shift = float(scale), float(shift)
        return replace(self, scale=scale * self.scale, shift=scale * self.shift + shift)


class _UnknownStepError(Exception):
    """A step, or an order of steps, that isn't one of these."""


def _as_map(sources: list[_Source], transform: Callable[[pl.DataFrame], Floats]) -> FeatureMap:
    numbers, groups = [], dict[str, list[tuple[int, _Source]]]()
    for feature, it in enumerate(sources):
        if it.categories:
            groups.setdefault(it.column, []).append((feature, it))
        elif it.scale:
            numbers.append(
                NumberFeature(column=it.column, feature=feature, scale=it.scale, shift=it.shift)
            )
    several = any(len({it.categories for _, it in group}) > 1 for group in groups.values())
    if several or groups.keys() & {number.column for number in numbers}:
        raise _UnknownStepError
    made = []
    for column, group in groups.items():
        values = np.column_stack([it.scale * np.array(it.table) + it.shift for _, it in group])
        made.append(
            CategoryFeatures(
                column=column,
                features=tuple(feature for feature, _ in group),
                categories=group[0][1].categories,
                values=tuple(map(tuple, values.tolist())),
            )
        )
    return FeatureMap(
        numbers=tuple(numbers), categories=tuple(made), n_features=len(sources), transform=transform
    )


def _through(step: Model, sources: list[_Source]) -> list[_Source]:
    """Return the features of a step that gets those."""
    kind = type(step).__name__
    if isinstance(step, tuple) or kind == "Pipeline":
        for _, each in getattr(step, "steps", ()):
            sources = _through(each, sources)
    elif kind == "ColumnTransformer":
        sources = _through_columns(step, sources)
    elif kind.endswith("Scaler") and not getattr(step, "clip", False):
        scales, shifts = (np.broadcast_to(it, len(sources)) for it in _learned(step))
        sources = [it.then(*each) for it, *each in zip(sources, scales, shifts, strict=True)]
    elif kind in {"OneHotEncoder", "OrdinalEncoder"} and all(it.is_cell for it in sources):
        sources = _encoded(step, sources)
    elif kind == "SimpleImputer" and not step.add_indicator:
        if len(step.statistics_) != len(sources) or not all(it.is_cell for it in sources):
            raise _UnknownStepError
    elif step not in (None, "passthrough") and (kind, step.func) != ("FunctionTransformer", None):
        raise _UnknownStepError
    return sources


def _learned(scaler: Model) -> tuple[Value, Value]:
    """Return factor and shift of a scaler."""
    scale = 1.0 if scaler.scale_ is None else scaler.scale_
    if hasattr(scaler, "min_"):
        return scale, scaler.min_
    centre = getattr(scaler, "mean_" if getattr(scaler, "with_mean", False) else "center_", None)
    return 1 / scale, 0.0 if centre is None else -centre / scale


def _through_columns(step: Model, sources: list[_Source]) -> list[_Source]:
    names = list(getattr(step, "feature_names_in_", ()))
    found = [_Source("", 0.0)] * max(it.stop for it in step.output_indices_.values())
    for name, each, columns in step.transformers_:
        there = step.output_indices_[name]
        if there.stop == there.start:
            continue
        listed: Any = [columns] if isinstance(columns, str | int) else columns
        if isinstance(listed, slice) or np.asarray(listed).dtype == bool:
            listed = np.arange(len(sources))[listed]
        chosen = [names.index(it) if isinstance(it, str) else int(it) for it in listed]
        made = _through(each, [sources[it] for it in chosen])
        if len(made) != there.stop - there.start:
            raise _UnknownStepError
        found[there] = made
    return found


def _encoded(step: Model, sources: list[_Source]) -> list[_Source]:
    """Return the features of an encoder: what it itself makes of each category of each column."""
    found: list[_Source] = []
    for place, (source, known) in enumerate(zip(sources, step.categories_, strict=True)):
        asked = np.empty((len(known), len(sources)), dtype=object)
        asked[:] = [each[0] for each in step.categories_]
        asked[:, place] = known
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the names of columns aren't asked for
            made = _as_floats(step.transform(asked))
        first = len(found)
        width = _width(step, place) if hasattr(step, "drop_idx_") else 1
        categories = tuple(it.item() if isinstance(it, np.generic) else it for it in known)
        found += [
            _Source(source.column, categories=categories, table=tuple(made[:, it].tolist()))
            for it in range(first, first + width)
        ]
    return found


def _width(step: Model, place: int) -> int:
    """Return how many features an encoder makes of one column."""
    rare = getattr(step, "infrequent_categories_", None)
    n_rare = 0 if rare is None or rare[place] is None else len(rare[place])
    is_dropped = step.drop_idx_ is not None and step.drop_idx_[place] is not None
    return len(step.categories_[place]) - n_rare + (n_rare > 0) - is_dropped
