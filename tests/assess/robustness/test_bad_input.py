"""What cost_to_flip does with rows, models and settings that aren't as they should be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from halfmask._errors import (
    ColumnNotFoundError,
    DataError,
    HalfmaskError,
    ParameterError,
    SchemaError,
)
from halfmask.assess import robustness
from halfmask.assess.robustness import AttackerBudget, ColumnBudget
from halfmask.kernels.attacks import flips

N = 120
NAMES = ("age", "pay", "job", "flag")
ANY = ColumnBudget()


def cost_to_flip(model, rows, budget, **settings) -> Any:
    return robustness.cost_to_flip(model, rows, budget, **settings)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 60, N),
            "pay": rng.random(N) * 10,
            "job": rng.choice(["alpha", "beta", "gamma"], N),
            "flag": rng.random(N) < 0.5,
        }
    )


@pytest.fixture
def labels(rows):
    noise = np.random.default_rng(1).normal(0, 0.3, N)
    return (rows["age"] / 40 + rows["pay"] / 10 + (rows["job"] == "beta") + noise > 2).to_numpy()


def _pipe(last):
    before = make_column_transformer(
        (StandardScaler(), ["age", "pay", "flag"]),
        (OneHotEncoder(handle_unknown="ignore"), ["job"]),
    )
    return make_pipeline(before, last)


def _tree():
    return DecisionTreeClassifier(max_depth=4, random_state=0)


def _budget(*names, **settings):
    return AttackerBudget(columns=dict.fromkeys(names or NAMES, ANY), most=0.3, **settings)


@pytest.mark.parametrize("kind", [bool, int, str])
@pytest.mark.parametrize("last", [_tree(), LogisticRegression(), SVC()], ids=str)
def test_classes_have_no_difference(rows, labels, last, kind):
    model = _pipe(last).fit(rows, labels.astype(kind))
    with pytest.raises(ParameterError, match="one of classes"):
        cost_to_flip(model, rows[:9], _budget(), seen=rows, difference=1)


@pytest.mark.parametrize("difference", [None, 0, -1, np.nan, np.inf, "a", True])
@pytest.mark.parametrize("last", [DecisionTreeRegressor(max_depth=3), Ridge()], ids=str)
def test_numbers_have_a_difference(rows, last, difference):
    model = _pipe(last).fit(rows, rows["pay"].to_numpy())
    with pytest.raises(ParameterError, match="difference"):
        cost_to_flip(model, rows[:9], _budget(), seen=rows, difference=difference)


@pytest.mark.parametrize("last", [_tree(), SVC()], ids=str)
@pytest.mark.parametrize(
    ("settings", "name"),
    [
        *[({"effort": it}, "effort") for it in (-1, 1.5, "a", None, True)],
        *[({"random_state": it}, "random_state") for it in (-1, 1.5, "a", None)],
        ({"budget": {"age": ANY}}, "budget"),
        ({"budget": None}, "budget"),
    ],
)
def test_settings_are_checked_whatever_the_model_is(rows, labels, last, settings, name):
    model = _pipe(last).fit(rows, labels)
    with pytest.raises(ParameterError, match=f"'{name}' parameter of cost_to_flip"):
        cost_to_flip(model, rows[:3], **{"budget": _budget(), "seen": rows, **settings})


@pytest.mark.parametrize("knows", ["model", "labels"])
def test_rows_and_seen_rows_are_of_one_kind_and_some(rows, labels, knows):
    model, budget = _pipe(_tree()).fit(rows, labels), _budget(knows=knows)
    other = rows.with_columns(job=pl.lit(1.0))
    with pytest.raises(SchemaError, match="'job'"):
        cost_to_flip(model, rows[:9], budget, seen=other)
    with pytest.raises(SchemaError, match="'age'"):
        cost_to_flip(model, rows[:9].cast({"age": pl.String}), budget, seen=rows)
    for given in ({"rows": rows.drop("job")}, {"seen": rows.drop("job")}):
        with pytest.raises(ColumnNotFoundError):
            cost_to_flip(model, **{"rows": rows[:9], "seen": rows, **given}, budget=budget)
    with pytest.raises(DataError, match="no rows to change"):
        cost_to_flip(model, rows[:0], budget, seen=rows)
    for few in (rows[:0], rows[:1]):
        with pytest.raises(ParameterError, match="nothing may be changed"):
            cost_to_flip(model, rows[:9], budget, seen=few)
    alone = cost_to_flip(model, rows[:1], budget, seen=rows)
    assert (alone.rows, np.isfinite(alone.found).all()) == (1, True)


@pytest.mark.parametrize(
    "answer",
    [
        lambda n: np.array([None, "a"] * n, dtype=object)[:n],
        lambda n: np.array([np.nan, "a"] * n, dtype=object)[:n],
        lambda n: np.array([pd.NA, "a"] * n, dtype=object)[:n],
        lambda n: np.array([1, "secret"] * n, dtype=object)[:n],
        lambda n: np.full(n, np.nan),
        lambda n: np.full(n, np.nan, dtype=object),
        lambda n: np.full(n, np.datetime64("NaT")),
        lambda n: np.zeros((n, 2)),
        lambda n: np.zeros(n + 1),
        lambda _: "secret",
        lambda _: int("secret"),
    ],
)
def test_answers_that_are_no_labels_are_refused(rows, answer):
    with pytest.raises(DataError) as caught:
        cost_to_flip(lambda it: answer(it.height), rows, _budget(), effort=0)
    told: BaseException | None = caught.value
    while told is not None:
        assert "secret" not in str(told)
        told = told.__cause__ or told.__context__


@pytest.mark.parametrize(
    "last", [_tree(), RandomForestClassifier(3), KNeighborsClassifier()], ids=str
)
def test_one_class_never_flips(rows, last):
    model = _pipe(last).fit(rows, np.zeros(N, dtype=int))
    costs = cost_to_flip(model, rows[:9], _budget(), seen=rows)
    assert np.isinf(costs.found).all()
    assert (costs.share_flipped, costs.median) == (0, None)
    assert costs.flipped.equals(rows[:9])
    is_known = not isinstance(last, KNeighborsClassifier)
    assert costs.share_proven == is_known
    assert ("100 % provably don't flip" in costs.sentence) == is_known


def test_predictions_that_are_all_one_number_never_move(rows):
    for last in (DecisionTreeRegressor(), Ridge()):
        model = _pipe(last).fit(rows, np.ones(N))
        assert cost_to_flip(model, rows[:9], _budget(), difference=0.5).share_proven == 1


def test_columns_that_the_model_does_not_use_flip_nothing(rows, labels):
    more = rows.with_columns(unread=pl.int_range(pl.len()))
    for last in (_tree(), LogisticRegression(), SVC()):
        model = _pipe(last).fit(rows, labels)
        costs = cost_to_flip(model, more[:9], _budget("unread"), seen=more, effort=1)
        assert np.isinf(costs.found).all()
        both = cost_to_flip(model, more[:9], _budget("unread", *NAMES), seen=more, effort=1)
        assert not both.changed[:, both.columns.index("unread")].any()


def test_sparse_weights_are_read(rows, labels):
    dense = _pipe(LogisticRegression()).fit(rows, labels)
    expected = cost_to_flip(dense, rows[:9], _budget()).found
    dense[-1].sparsify()
    found = cost_to_flip(dense, rows[:9], _budget())
    assert found.exact.all()
    np.testing.assert_allclose(found.found, expected)


class WeightsAlone(RidgeClassifier):  # type: ignore[misc] # scikit-learn has no types
    """A classifier with weights and no scores, as XGBoost's linear booster."""

    decision_function = None

    def __getattribute__(self, name):
        if name == "decision_function":
            raise AttributeError
        return super().__getattribute__(name)

    def predict(self, X):
        return self.classes_[np.int64(np.ravel(X @ self.coef_.T + self.intercept_) > 0)]


def test_weights_without_scores_are_asked_for_labels(rows, labels):
    model = _pipe(WeightsAlone()).fit(rows, labels)
    costs = cost_to_flip(model, rows[:9], _budget(), seen=rows, effort=1)
    assert np.isnan(costs.certified).all()
    assert np.isfinite(costs.found).all()


PANDAS = {
    "nullable": {"age": "Int64", "flag": "boolean", "job": "string", "pay": "Float64"},
    "category": {"job": "category"},
    "object": {"age": object, "job": object},
    "arrow": {"age": "int64[pyarrow]", "job": "string[pyarrow]"},
    "narrow": {"age": "int8", "pay": "float32"},
}
POLARS = {
    "categorical": {"job": pl.Categorical},
    "enum": {"job": pl.Enum(["gamma", "beta", "alpha"])},
    "narrow": {"age": pl.UInt8, "pay": pl.Float32},
    "decimal": {"pay": pl.Decimal(12, 9)},
}


@pytest.mark.mostly_slow
@pytest.mark.parametrize("knows", ["model", "labels"])
@pytest.mark.parametrize("kinds", PANDAS)
def test_types_of_pandas_cost_the_same(rows, labels, kinds, knows):
    model = _pipe(_tree()).fit(rows, labels)
    expected = cost_to_flip(model, rows[:20], _budget(knows=knows), effort=2)
    frame = rows.to_pandas().astype(PANDAS[kinds])
    costs = cost_to_flip(model, frame[:20], _budget(knows=knows), effort=2)
    np.testing.assert_allclose(costs.found, expected.found, atol=1e-6)
    assert (costs.exact == expected.exact).all()


@pytest.mark.parametrize("kinds", POLARS)
def test_types_of_polars_cost_the_same_and_are_kept(rows, labels, kinds):
    model, expected = _pipe(_tree()).fit(rows, labels), None
    expected = cost_to_flip(model, rows[:20], _budget())
    given = rows.cast(POLARS[kinds])
    costs = cost_to_flip(model, given[:20], _budget())
    np.testing.assert_allclose(costs.certified, expected.certified, atol=1e-6)
    np.testing.assert_allclose(costs.found, expected.found, atol=1e-6)
    numbers = ["age", "pay", "flag"]
    assert costs.flipped.select(numbers).schema == given.select(numbers).schema


def test_a_cost_that_a_column_cant_hold_is_not_exact(rows, labels):
    model = _pipe(_tree()).fit(rows, labels)
    free = cost_to_flip(model, rows[:30], _budget("pay"), seen=rows)
    whole = rows.cast({"pay": pl.Decimal(9, 0)})
    coarse = cost_to_flip(model, whole[:30], _budget("pay"), seen=whole)
    assert free.exact.all()
    assert not coarse.exact.any()
    assert (coarse.certified <= coarse.found + 1e-9).all()


def test_dates_can_be_there_and_not_be_changed(rows, labels):
    more = rows.with_columns(
        day=pl.date(2020, 1, 1) + pl.duration(days=pl.int_range(pl.len())),
    )
    model = _pipe(_tree()).fit(rows, labels)
    costs = cost_to_flip(model, more[:9], _budget(), seen=more)
    assert costs.flipped.select("day").equals(more[:9].select("day"))
    with pytest.raises(SchemaError, match="'day'"):
        cost_to_flip(model, more[:9], _budget("day", "age"), seen=more)


def test_unchanged_cells_of_a_changed_column_keep_their_own_value(rows):
    big = rows.select(big=pl.int_range(pl.len()) + 2**55, pay="pay")
    model = DecisionTreeClassifier(max_depth=2).fit(big, np.arange(N) > N / 2)
    few = pl.concat([big[:9], big[-9:]]).with_columns(pay=pl.lit(3.0))
    costs = cost_to_flip(model, few, _budget("pay", "big"), seen=big)
    rest = costs.flipped.filter(~costs.changed[:, costs.columns.index("big")])
    assert rest["big"].is_in(few["big"].to_list()).all()
    assert few.equals(pl.concat([big[:9], big[-9:]]).with_columns(pay=pl.lit(3.0)))


@pytest.mark.parametrize("hole", [None, float("nan"), float("inf")])
@pytest.mark.parametrize("knows", ["model", "labels"])
def test_missing_and_infinite_cells_stay_and_hold_back_no_other_row(rows, labels, hole, knows):
    holes = rows.with_columns(
        pay=pl.when(pl.int_range(pl.len()) % 4 == 0).then(pl.lit(hole, pl.Float64)).otherwise("pay")
    )
    model = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=3)
    before = make_column_transformer(("passthrough", ["age", "pay"]), (OneHotEncoder(), ["job"]))
    model = make_pipeline(before, model).fit(holes, labels)
    few, budget = holes[:12], _budget("age", "pay", "job", knows=knows)
    costs = cost_to_flip(model, few, budget, seen=holes, effort=1)
    assert np.isfinite(costs.found).all()
    stays = costs.flipped["pay"][::4]
    assert stays.null_count() + stays.is_infinite().sum() == 3
    flips = model.predict(costs.flipped) != model.predict(few)
    assert flips.all()


def test_where_columns_are_counted_an_infinite_number_is_changed_like_any_other():
    known = pl.DataFrame({"a": np.linspace(-1, 1, 100)})
    model = HistGradientBoostingClassifier(max_iter=5).fit(known.to_numpy(), known["a"] > 0)
    rows = pl.DataFrame({"a": [np.inf, -np.inf]})
    budget = AttackerBudget(columns={"a": ColumnBudget()}, most=1.0, norm="columns")
    costs = cost_to_flip(model, rows, budget, seen=known)
    assert costs.exact.all()
    assert costs.found.tolist() == costs.certified.tolist() == [1.0, 1.0]


def test_a_cut_that_missing_cells_alone_pass_costs_no_time(rows):
    holes = rows.with_columns(pay=pl.when(pl.int_range(pl.len()) % 4 > 0).then("pay"))
    noise = np.random.default_rng(2).random(N) < 0.1
    model = _pipe(RandomForestClassifier(20, random_state=0))
    model.fit(holes, holes["pay"].is_null().to_numpy() ^ noise)
    cuts = np.concatenate([it.tree_.threshold for it in model[-1].estimators_])
    assert np.isinf(cuts).any()
    costs = cost_to_flip(model, holes[:20], _budget(norm="sum"), seen=holes)
    assert np.isfinite(costs.certified).all()
    assert (costs.certified > 0).all()


def test_searches_are_compiled_once_for_all_columns(rows, labels):
    model = _tree()
    for kinds in (["age"], ["pay"], ["flag"], ["age", "pay", "flag"]):
        few = rows.select(kinds)
        cost_to_flip(model.fit(few, labels), few[:2], _budget(*kinds), seen=few, effort=0)
    kernel: Any = flips.flip_rows  # what numba made of it
    assert len(kernel.signatures) == 1


@pytest.mark.parametrize("norm", ["greatest", "sum", "columns"])
def test_a_row_at_a_cut_costs_nothing_and_holds_back_no_other_row(norm):
    rng = np.random.default_rng(0)
    seen = pl.DataFrame({"a": rng.choice([0.0, 2.0, 4.0, 6.0], 400), "b": rng.random(400)})
    model = HistGradientBoostingClassifier(max_iter=3)
    model.fit(seen, (seen["a"] > 2).to_numpy() ^ (rng.random(400) < 0.05))
    rows = pl.DataFrame({"a": [3.0, 1.0, 5.0, 0.0, 6.0, 3.0, 2.0], "b": [0.5] * 7})
    costs = cost_to_flip(model, rows, _budget("a", "b", norm=norm), seen=seen, effort=2)
    expected = [0, 2 / 6, 2 / 6, 3 / 6, 3 / 6, 0, 1 / 6]
    if norm == "columns":
        expected = [1.0] * 7
    np.testing.assert_allclose(costs.certified, expected, atol=1e-9)
    np.testing.assert_allclose(costs.found, expected, atol=1e-9)
    assert (model.predict(costs.flipped) != model.predict(rows)).all()


def test_no_error_quotes_a_cell(rows, labels):
    model = _pipe(_tree()).fit(rows, labels)
    strict = make_pipeline(make_column_transformer((OneHotEncoder(), ["job"])), _tree())
    strict.fit(rows, labels)
    odd = rows.with_columns(job=pl.lit("secret"), age=pl.lit(98765))
    tried = [
        lambda: cost_to_flip(strict, odd, _budget("age", "job"), seen=rows),
        lambda: cost_to_flip(strict, odd, _budget("age", "job"), seen=odd),
        lambda: cost_to_flip(model, odd.cast({"age": pl.String}), _budget(), seen=rows),
        lambda: cost_to_flip(model, odd.to_pandas().set_index("job"), _budget()),
        lambda: cost_to_flip(model, odd.to_numpy(), _budget()),
        lambda: cost_to_flip(model, ["secret", 98765], _budget()),
        lambda: cost_to_flip(model, odd, _budget("job", "day")),
        lambda: AttackerBudget(columns={"job": ColumnBudget(low=98765)}, most=1).for_rows(odd),
        lambda: ColumnBudget(low=98765, high=9),
        lambda: AttackerBudget.from_toml("most = 1\nsecret = 98765\n[columns.age]"),
    ]
    for each in tried:
        with pytest.raises(HalfmaskError) as caught:
            each()
        told = f"{caught.value} {caught.value!r}"
        assert "secret" not in told
        assert "98765" not in told
