"""Flips by labels alone: they flip, keep the budget, and come near what brute force finds."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask.assess.robustness import AttackerBudget, ColumnBudget, Relation
from halfmask.assess.robustness import _black_box as black_box
from halfmask.assess.robustness._black_box import predictions

N = 80
ANY = ColumnBudget()


def flip_by_labels(model, rows, budget, **settings) -> Any:
    return black_box.flip_by_labels(model, rows, budget, **settings)


def _table(seed=0):
    rng = np.random.default_rng(seed)
    rows = pl.DataFrame(
        {
            "age": rng.integers(20, 26, N),
            "pay": rng.integers(0, 5, N).astype(float),
            "job": rng.choice(["x", "y", "z"], N),
            "id": np.arange(N),
        }
    )
    score = rows["age"] / 5 + rows["pay"] / 4 + (rows["job"] == "y") + rng.normal(0, 0.3, N)
    return rows, (score > score.median()).cast(int).to_numpy()


def _model(rows, labels, last=None):
    columns = make_column_transformer(
        (StandardScaler(), ["age", "pay"]), (OneHotEncoder(), ["job"])
    )
    last = last or DecisionTreeClassifier(max_depth=4, random_state=0)
    return make_pipeline(columns, last).fit(rows, labels)


def _budget(norm, rows, **settings):
    columns = {"age": ColumnBudget(change="up"), "pay": ANY, "job": ColumnBudget(cost=0.6)}
    columns = settings.pop("columns", columns)
    return AttackerBudget(columns=columns, most=0.5, norm=norm, **settings).for_rows(rows)


def _cheapest(model, rows, budget):
    """The cheapest flip of each row among all combinations of values that occur."""
    base = predictions(model, rows)
    each = [rows[it].unique().to_list() if it in budget.columns else [None] for it in rows.columns]
    best = np.full(rows.height, np.inf)
    for cells in product(*each):
        changed = rows.with_columns(
            pl.lit(cell, dtype=rows.schema[name]).alias(name)
            for name, cell in zip(rows.columns, cells, strict=True)
            if cell is not None
        )
        flips = predictions(model, changed) != base
        best = np.minimum(best, np.where(flips, budget.cost_of(rows, changed), np.inf))
    return best


@pytest.mark.mostly_slow
@pytest.mark.parametrize("norm", ["greatest", "sum", "columns"])
@pytest.mark.parametrize("last", [None, LogisticRegression(), SVC()], ids=["tree", "logit", "svc"])
def test_flips_cost_about_what_brute_force_finds(norm, last):
    rows, labels = _table()
    model, budget = _model(rows, labels, last), _budget(norm, rows)
    found = flip_by_labels(model, rows, budget, effort=12)
    best = _cheapest(model, rows, budget)
    assert (found.found >= best - 1e-9).all()
    assert np.isfinite(best).sum() == np.isfinite(found.found).sum()
    assert np.isclose(found.found, best).mean() > 0.95
    flipped, hits = found.flipped, np.isfinite(found.found)
    assert ((predictions(model, flipped) != predictions(model, rows)) == hits).all()
    np.testing.assert_allclose(budget.cost_of(rows, flipped)[hits], found.found[hits])
    assert flipped.filter(~hits).equals(rows.filter(~hits))
    differs = np.column_stack([(flipped[it] != rows[it]).to_numpy() for it in found.columns])
    assert (differs == found.changed).all()
    assert np.isnan(found.certified).all()
    assert not found.exact.any()


def test_more_effort_never_costs_more():
    rows, labels = _table(1)
    model, budget = _model(rows, labels, SVC()), _budget("sum", rows)
    costs = [flip_by_labels(model, rows, budget, effort=it).found for it in (0, 1, 4)]
    assert (costs[0] >= costs[1] - 1e-12).all()
    assert (costs[1] >= costs[2] - 1e-12).all()


@pytest.mark.parametrize("seed", [0, 7])
def test_what_is_found_is_of_the_seed_alone(seed):
    rows, labels = _table()
    model, budget = _model(rows, labels), _budget("greatest", rows)
    found = [
        flip_by_labels(model, rows[:5], budget, seen=rows, effort=1, random_state=seed).found
        for _ in range(2)
    ]
    assert (found[0] == found[1]).all()


def test_relations_are_kept():
    rng = np.random.default_rng(3)
    rows = pl.DataFrame({"a": rng.uniform(0, 1, 300), "b": rng.uniform(0, 1, 300)})
    rows = rows.with_columns(total=pl.col("a") + pl.col("b"), limit=pl.col("a") + 0.2)
    model = LogisticRegression(C=100).fit(rows, (rows["total"] > 1).to_numpy())
    relations = (
        Relation(terms={"a": 1, "b": 1, "total": -1}, is_equal=True),
        Relation(terms={"a": 1, "limit": -1}),
    )
    budget = AttackerBudget(columns=dict.fromkeys(rows.columns, ANY), most=1, relations=relations)
    found = flip_by_labels(model, rows[:60], budget, seen=rows)
    assert np.isfinite(found.found).all()
    for relation in relations:
        assert relation.holds(found.flipped).all()
    assert (predictions(model, found.flipped) != predictions(model, rows[:60])).all()
    free = flip_by_labels(
        model, rows[:60], _budget("greatest", rows, columns=budget.columns), seen=rows
    )
    assert np.median(free.found) < np.median(found.found)


@pytest.mark.parametrize("norm", ["greatest", "sum"])
def test_relations_with_a_column_that_stays_are_kept(norm):
    rows, labels = _table()
    below = Relation(terms={"pay": 1, "id": -0.1})
    model, budget = _model(rows, labels), _budget(norm, rows, relations=(below,))
    found, best = flip_by_labels(model, rows, budget, effort=12), _cheapest(model, rows, budget)
    assert below.holds(found.flipped)[below.holds(rows)].all()
    assert (np.isfinite(found.found) >= np.isfinite(best)).all()
    assert (found.found <= best + 1e-9).mean() > 0.95
    assert not below.holds(_flipped_without(model, rows, budget)).all()


def _flipped_without(model, rows, budget):
    free = AttackerBudget(columns=budget.columns, most=1, norm=budget.norm)
    held = budget.relations[0].holds(rows)
    return flip_by_labels(model, rows, free, effort=1).flipped.filter(held)


@pytest.mark.parametrize("related", [False, True])
def test_whole_numbers_stay_whole(related):
    rows, labels = _table(2)
    rows = rows.select("age", "pay")
    relations = (Relation(terms={"pay": 1, "age": -1}),) if related else ()
    budget = AttackerBudget(columns={"age": ANY, "pay": ANY}, most=1, relations=relations)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(rows, labels)
    found = flip_by_labels(model, rows, budget, only_seen=False)
    assert found.flipped.schema == rows.schema
    assert (found.flipped["age"].is_in(range(20, 27))).all()
    differs = np.column_stack([(found.flipped[it] != rows[it]).to_numpy() for it in rows.columns])
    assert (differs == found.changed).all()
    only_seen = flip_by_labels(model, rows, budget)
    assert found.found.mean() <= only_seen.found.mean()


@pytest.mark.parametrize("table", ["rows", "seen"])
def test_tables_that_do_not_fit_are_refused(table):
    rows, labels = _table()
    model, budget = _model(rows, labels), _budget("sum", rows)
    for wrong in (rows.drop("pay"), rows.with_columns(pl.col("age").cast(pl.String))):
        with pytest.raises(SchemaError):
            flip_by_labels(model, **{"rows": rows, "seen": rows, table: wrong}, budget=budget)


def test_regressors_move_by_a_difference():
    rows = pl.DataFrame({"a": np.linspace(0, 1, 101), "b": np.zeros(101)})
    model = LinearRegression().fit(rows.to_numpy(), 10 * rows["a"].to_numpy())
    budget = _budget("greatest", rows, columns={"a": ANY})
    found = flip_by_labels(model, rows, budget, difference=2.0)
    np.testing.assert_allclose(found.found, 0.2, atol=0.011)
    assert found.share_flipped == 1
    none = flip_by_labels(model, rows, budget, difference=20.0)
    assert np.isinf(none.found).all()
    assert none.median is None
    with pytest.raises(ParameterError, match="difference"):
        flip_by_labels(model, rows, budget)
    with pytest.raises(ParameterError, match="difference"):
        flip_by_labels(model, rows, budget, difference=0)
    table, labels = _table()
    for classes in (labels, labels.astype(str), labels.astype(bool)):
        with pytest.raises(ParameterError, match="one of classes"):
            flip_by_labels(_model(table, classes), table, _budget("sum", table), difference=1)
    counts = flip_by_labels(
        lambda it: it["age"].to_numpy().astype(np.uint8),
        table,
        _budget("sum", table, columns={"age": ANY}),
        difference=2,
    )
    assert np.nanmax(np.where(np.isfinite(counts.found), counts.found, np.nan)) == pytest.approx(
        0.4
    )


def test_infinite_cells_stay():
    rows, labels = _table()
    rows = rows.with_columns(pay=pl.when(pl.col("id") % 9 > 0).then("pay").otherwise(np.inf))
    model = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5)
    model.fit(rows.select("age", "pay"), labels)
    budget = _budget("sum", rows, columns={"age": ANY, "pay": ANY})
    found = flip_by_labels(model, rows, budget, effort=1)
    assert found.flipped["pay"].is_infinite().equals(rows["pay"].is_infinite())
    assert np.isfinite(found.found).any()


def test_missing_cells_stay_missing():
    rows, labels = _table()
    model = DecisionTreeClassifier(random_state=0).fit(rows.select("age", "pay"), labels)
    rows = rows.with_columns(pay=pl.when(pl.col("id") % 3 > 0).then("pay"))
    budget = _budget("sum", rows, columns={"age": ANY, "pay": ANY})
    found = flip_by_labels(model, rows, budget, effort=1)
    assert found.flipped["pay"].is_null().equals(rows["pay"].is_null())
    assert np.isfinite(found.found).any()


def test_columns_that_the_model_does_not_read_are_not_changed():
    rows, labels = _table()
    columns = {"id": ANY, "age": ANY, "pay": ANY}
    model = DecisionTreeClassifier(max_depth=3).fit(rows.select("age", "pay"), labels)
    found = flip_by_labels(model, rows, _budget("sum", rows, columns=columns))
    assert not found.changed[:, found.columns.index("id")].any()
    unread = flip_by_labels(model, rows, _budget("sum", rows, columns={"id": ANY}))
    assert np.isinf(unread.found).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda it: it.to_pandas(),
        lambda it: it.to_arrow(),
        lambda it: it.lazy(),
    ],
    ids=["pandas", "arrow", "lazy"],
)
def test_frames_of_any_library_give_the_same(make):
    rows, labels = _table()
    model, budget = _model(rows, labels), _budget("sum", rows)
    expected = flip_by_labels(model, rows, budget, effort=1)
    found = flip_by_labels(model, make(rows), budget, effort=1)
    np.testing.assert_array_equal(found.found, expected.found)


def test_functions_one_label_and_no_rows():
    rows, _ = _table()
    budget = _budget("sum", rows)
    found = flip_by_labels(lambda it: (it["pay"] > 2).to_numpy(), rows, budget)
    assert np.isfinite(found.found).all()
    same = flip_by_labels(lambda it: np.zeros(it.height, dtype=int), rows, budget)
    assert np.isinf(same.found).all()
    assert same.share_flipped == 0
    with pytest.raises(DataError, match="no rows"):
        flip_by_labels(lambda it: (it["pay"] > 2).to_numpy(), rows[:0], budget, seen=rows)


def test_a_category_that_the_model_refuses_or_nan_is_an_error_without_cells():
    rows, labels = _table()
    model = _model(rows, labels)
    odd = rows.with_columns(job=pl.lit("secret"))
    with pytest.raises(DataError) as caught:
        flip_by_labels(model, odd, _budget("sum", rows))
    assert "secret" not in str(caught.value)
    for wrong in (np.full(N, np.nan), np.zeros(3), np.zeros((N, 2))):
        with pytest.raises(DataError, match="one value"):
            flip_by_labels(lambda _, wrong=wrong: wrong, rows, _budget("sum", rows))
