"""Maps of features: what a pipeline makes of columns, as the pipeline itself makes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from halfmask._errors import DataError
from halfmask.assess.robustness import AttackerBudget, ColumnBudget
from halfmask.assess.robustness import _features as features

ROWS = pl.DataFrame(
    {
        "age": [20.0, 31, 45, 60, 33, 52],
        "pay": [5, 9, 7, 3, 4, 8],
        "job": ["x", "y", "z", "x", "y", "x"],
        "code": ["1", "2", "1", "3", "3", "2"],
    }
)
LABELS = [0, 1, 0, 1, 1, 0]


def map_features(model, rows, **columns) -> Any:
    free = dict.fromkeys(rows.columns, ColumnBudget()) | columns
    return features.map_features(model, rows, AttackerBudget(columns=free, most=1).for_rows(rows))


def _computed(found, rows):
    """Features by the map alone."""
    features = np.zeros((rows.height, found.n_features))
    for each in found.numbers:
        features[:, each.feature] = each.scale * rows[each.column].to_numpy() + each.shift
    for group in found.categories:
        codes = [group.categories.index(it) for it in rows[group.column]]
        features[:, group.features] = group.values[codes]
    return features


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        MinMaxScaler(),
        RobustScaler(),
        MaxAbsScaler(),
        StandardScaler(with_mean=False),
        RobustScaler(with_scaling=False),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(),
        OneHotEncoder(drop="first"),
        OrdinalEncoder(),
        OneHotEncoder(min_frequency=2, handle_unknown="infrequent_if_exist"),
        OneHotEncoder(max_categories=2, drop="first"),
        OneHotEncoder(drop="if_binary"),
    ],
    ids=str,
)
def test_the_map_makes_the_features_that_the_pipeline_makes(scaler, encoder):
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), scaler), ["age", "pay"]),
        (make_pipeline(encoder, MaxAbsScaler()), ["code", "job"]),
        sparse_threshold=0,
    )
    model = make_pipeline(columns, LogisticRegression()).fit(ROWS, LABELS)
    last, found = map_features(model, ROWS)
    assert last is model[-1]
    assert found.columns == ("age", "pay", "job", "code")
    expected = np.asarray(model[:-1].transform(ROWS))
    np.testing.assert_array_equal(found.features(ROWS), expected)
    np.testing.assert_allclose(_computed(found, ROWS), expected, atol=1e-12)


def test_columns_by_number_mask_slice_and_remainder_keep_their_places():
    rows = ROWS.select("job", "age", "pay", "code")
    columns = make_column_transformer(
        (StandardScaler(), slice(1, 2)),
        (OneHotEncoder(), [0]),
        ("drop", [False, False, False, True]),
        remainder="passthrough",
    )
    model = make_pipeline(columns, StandardScaler(with_mean=False), LogisticRegression())
    _, found = map_features(model.fit(rows, LABELS), rows)
    assert [(it.column, it.feature) for it in found.numbers] == [("age", 0), ("pay", 4)]
    assert [(it.column, it.features) for it in found.categories] == [("job", (1, 2, 3))]
    np.testing.assert_allclose(_computed(found, rows), model[:-1].transform(rows))


def test_a_bare_model_reads_its_own_columns_in_its_own_order():
    model = LogisticRegression().fit(ROWS.select("pay", "age"), LABELS)
    last, found = map_features(model, ROWS)
    assert last is model
    assert [(it.column, it.feature) for it in found.numbers] == [("age", 1), ("pay", 0)]
    np.testing.assert_array_equal(found.features(ROWS), ROWS.select("pay", "age").to_numpy())
    unnamed = LogisticRegression().fit(ROWS.select("pay", "age").to_numpy(), LABELS)
    assert map_features(unnamed, ROWS) is None  # of which columns?
    assert map_features(unnamed, ROWS.select("pay", "age")) is not None


def test_a_search_stands_for_its_best_model():
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["job"]), remainder="passthrough"
    )
    search = GridSearchCV(make_pipeline(columns, LogisticRegression()), {}, cv=2)
    last, found = map_features(search.fit(ROWS, LABELS), ROWS)
    assert isinstance(last, LogisticRegression)
    assert set(found.columns) == set(ROWS.columns)


def test_categories_that_the_steps_refuse_are_not_written():
    columns = make_column_transformer((OneHotEncoder(), ["job"]))
    model = make_pipeline(columns, LogisticRegression()).fit(ROWS, LABELS)
    told = ColumnBudget(categories=("w", "x", "v", "y", "z", "u"))
    _, found = map_features(model, ROWS, job=told)
    assert found.categories[0].categories == ("x", "y", "z")
    odd = ROWS.with_columns(job=pl.Series(["x", None, "w", "z", "x", "x"]))
    with pytest.raises(DataError, match="failed on 6 rows"):
        found.features(odd)


def test_categories_that_the_steps_do_not_know_are_written_where_they_are_let_through():
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["job"]))
    model = make_pipeline(columns, LogisticRegression()).fit(ROWS, LABELS)
    _, found = map_features(model, ROWS, job=ColumnBudget(categories=("w", "x")))
    assert found.categories[0].categories == ("x", "y", "z", "w")
    np.testing.assert_array_equal(found.categories[0].values[3], [0, 0, 0])


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    "columns",
    [
        make_column_transformer((FunctionTransformer(np.log), ["age"])),
        make_column_transformer((OneHotEncoder(), ["pay"]), ("passthrough", ["pay"])),
        make_column_transformer((make_pipeline(MinMaxScaler(), OneHotEncoder()), ["age"])),
        make_column_transformer((MinMaxScaler(clip=True), ["age"])),
        make_column_transformer((SimpleImputer(missing_values=-1), ["age"])),
    ],
    ids=["function", "twice", "scaled first", "clipped", "numbers imputed"],
)
def test_other_steps_have_no_map(columns):
    rows = ROWS.with_columns(age=pl.Series([20.0, 31, 45, 60, 33, 52]))
    model = make_pipeline(columns, LogisticRegression()).fit(rows, LABELS)
    assert map_features(model, rows) is None


def test_categories_of_scaled_numbers_have_no_map_for_numbers_that_the_encoder_ignores():
    coder = make_pipeline(StandardScaler(), OneHotEncoder(handle_unknown="ignore"))
    model = make_pipeline(make_column_transformer((coder, ["pay"])), LogisticRegression())
    unknown = ROWS.with_columns(pay=pl.Series([6, 10] * 3))
    assert map_features(model.fit(ROWS, LABELS), unknown) is None


def test_text_without_an_encoder_has_no_map():
    assert map_features(LogisticRegression(), ROWS) is None


def test_imputed_cells_stay_missing_in_the_map():
    rows = ROWS.with_columns(age=pl.Series([20.0, None, 45, 60, 33, 52]))
    columns = make_column_transformer((SimpleImputer(), ["age"]), ("passthrough", ["pay"]))
    _, found = map_features(make_pipeline(columns, LogisticRegression()).fit(rows, LABELS), rows)
    assert found.features(rows)[1, 0] == 42
    assert found.numbers[0].scale == 1
    columns = make_column_transformer((SimpleImputer(add_indicator=True), ["age"]))
    _, found = map_features(make_pipeline(columns, LogisticRegression()).fit(rows, LABELS), rows)
    assert found.n_features == 2
    assert [it.feature for it in found.numbers] == [0]  # whether a cell is missing stays so


def test_nothing_is_shown_of_categories():
    columns = make_column_transformer((OneHotEncoder(), ["job"]))
    model = make_pipeline(columns, LogisticRegression()).fit(
        ROWS.with_columns(job=pl.Series(["secret"] * 3 + ["hidden"] * 3)), LABELS
    )
    found = map_features(model, ROWS.with_columns(job=pl.lit("secret")))
    assert "secret" not in repr(found)
    assert "hidden" not in repr(found)


class MaxAbsScalerOfOthers(MaxAbsScaler):  # type: ignore[misc] # scikit-learn has no types
    """A step with the name and fields of a scaler that does more."""

    def transform(self, X):  # scikit-learn's name
        return super().transform(X) ** 2


def test_a_step_that_does_something_else_has_no_map():
    kind = type("MaxAbsScaler", (MaxAbsScalerOfOthers,), {})
    model = make_pipeline(make_column_transformer((kind(), ["age"])), LogisticRegression())
    assert map_features(model.fit(ROWS, LABELS), ROWS) is None
