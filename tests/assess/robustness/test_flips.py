"""Costs to flip of linear models and trees, judged by every cell of a grid and by programs."""

from __future__ import annotations

import json
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import polars as pl
import pytest
from lightgbm import LGBMClassifier, LGBMRegressor
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from halfmask._errors import ParameterError
from halfmask.assess.robustness import (
    AttackerBudget,
    ColumnBudget,
    Norm,
    Relation,
    _flips,
    cost_to_flip,
)
from halfmask.assess.robustness._black_box import flip_by_labels

NUMBERS, WORDS = ("first", "second"), ("red", "green", "blue")
VALUES = (1, 2, 4, 8, 16, 32)  # no value is halfway between two others, as all cuts are
MEAN = 10.5  # LightGBM cuts at 0, which is the mean of scaled numbers
EDGES = sorted({MEAN, *((a + b) / 2 for a, b in combinations(VALUES, 2))})
CELLS = [*zip([VALUES[0], *EDGES], [*EDGES, VALUES[-1]], strict=True), (MEAN, MEAN)]


def flip_by_model(model, rows, budget, **settings) -> Any:
    return _flips.flip_by_model(model, rows, budget, **settings)


def _grid():
    """Return all rows that there can be, and labels with noise."""
    every = list(product(VALUES, VALUES, WORDS))
    kinds = dict.fromkeys(NUMBERS, pl.Float64) | {"colour": pl.String}
    rows = pl.DataFrame(every * 4, schema=kinds, orient="row")
    first, second, colour = (rows[it].to_numpy() for it in rows.columns)
    score = np.log2(first) + 2 * (colour == "red") - 0.7 * np.log2(second)
    return rows, score + np.random.default_rng(7).normal(0, 1, rows.height)


def _fitted(model, encoder=None, labels=2):
    rows, score = _grid()
    is_number = hasattr(model, "predict") and type(model).__name__.endswith(("Regressor", "Ridge"))
    y = (
        score
        if is_number
        else np.digitize(score, np.quantile(score, np.arange(1, labels) / labels - 0.03))
    )
    before = make_column_transformer(
        (StandardScaler(), list(NUMBERS)),
        (encoder or OneHotEncoder(sparse_output=False), ["colour"]),
    )
    return make_pipeline(before, model).fit(rows, y)


def _budget(norm="greatest", **columns):
    given = {"first": ColumnBudget(), "second": ColumnBudget(cost=0.08), "colour": ColumnBudget()}
    return AttackerBudget(columns=given | columns, most=0.5, norm=norm)


UNITS = {"first": 1 / 31, "second": 0.08, "colour": 1.0}


def _expected(model, rows, norm, allowed=None, difference=None):
    """Return each row's cost by trying every cell: it costs the way to the cell's nearer edge."""
    every = list(product(range(len(CELLS)), range(len(CELLS)), WORDS))
    inside = [sum(cell) / 2 for cell in CELLS]
    points = [(inside[a], inside[b], word) for a, b, word in every]
    labels = model.predict(pl.DataFrame(points, schema=rows.columns, orient="row"))
    costs = []
    for row, own in zip(rows.rows(), model.predict(rows), strict=True):
        best = np.inf
        flips = labels != own if difference is None else np.abs(labels - own) >= difference - 1e-9
        for i in np.flatnonzero(flips):
            if allowed is not None and not allowed(row, points[i]):
                continue
            ends = [CELLS[it] for it in every[i][:2]]
            away = [max(0, low - x, x - high) for x, (low, high) in zip(row, ends, strict=False)]
            each = [by * UNITS[name] for by, name in zip(away, NUMBERS, strict=True)]
            each.append(UNITS["colour"] * (row[2] != points[i][2]))
            cost = {"greatest": max(each), "sum": sum(each), "columns": np.count_nonzero(each)}
            best = min(best, cost[norm])
        costs.append(best)
    return np.array(costs)


TREES = {
    "tree": lambda: DecisionTreeClassifier(max_depth=5, random_state=0),
    "forest": lambda: RandomForestClassifier(7, max_depth=4, random_state=0),
    "grown": lambda: RandomForestClassifier(6, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=9, random_state=0),
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=9),
    "lightgbm": lambda: LGBMClassifier(n_estimators=9, min_child_samples=5, verbose=-1),
}


@pytest.mark.mostly_slow
@pytest.mark.parametrize("norm", ["greatest", "sum", "columns"])
@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("name", TREES)
def test_trees_cost_what_the_cheapest_cell_of_all_does(name, labels, norm):
    model = _fitted(TREES[name](), labels=labels)
    rows = _grid()[0][:108:5]
    costs = flip_by_model(model, rows, _budget(norm), seen=_grid()[0], effort=2000)
    expected = _expected(model, rows, norm)
    assert costs.exact.all()
    np.testing.assert_allclose(costs.certified, expected, atol=1e-6)
    np.testing.assert_allclose(costs.found, expected, atol=1e-6)
    flipped = model.predict(costs.flipped) != model.predict(rows)
    assert (flipped == np.isfinite(costs.found)).all()


def _cell(x):
    return np.searchsorted(EDGES, x)


def test_what_may_not_change_stays_and_directions_hold():
    model = _fitted(TREES["forest"](), OrdinalEncoder())
    rows = _grid()[0][:108:4]
    columns = {
        "first": ColumnBudget(change="up", high=11.0, cost=UNITS["first"]),
        "colour": ColumnBudget(categories=("green",)),
    }
    costs = flip_by_model(model, rows, _budget("sum", **columns), seen=_grid()[0], effort=2000)

    def allowed(row, other):
        return (
            _cell(other[0]) >= _cell(row[0])
            and (_cell(other[0]) <= max(_cell(11), _cell(row[0])))
            and other[2] in (row[2], "green")
        )

    expected = _expected(model, rows, "sum", allowed)
    np.testing.assert_allclose(costs.found, expected, atol=1e-6)
    assert (costs.flipped["first"] >= rows["first"]).all()
    assert np.isinf(costs.certified[np.isinf(expected)]).all()


REGRESSORS = {
    "tree": lambda: DecisionTreeRegressor(max_depth=4, random_state=0),
    "forest": lambda: RandomForestRegressor(5, max_depth=3, random_state=0),
    "boosting": lambda: GradientBoostingRegressor(n_estimators=9, random_state=0),
    "histograms": lambda: HistGradientBoostingRegressor(max_iter=9),
    "lightgbm": lambda: LGBMRegressor(n_estimators=9, min_child_samples=5, verbose=-1),
}


@pytest.mark.mostly_slow
@pytest.mark.parametrize("name", REGRESSORS)
def test_a_prediction_is_moved_by_a_difference(name):
    model = _fitted(REGRESSORS[name]())
    rows = _grid()[0][:108:5]
    told = flip_by_model(model, rows, _budget(), seen=_grid()[0], difference=1.5, effort=2000)
    np.testing.assert_allclose(
        told.found, _expected(model, rows, "greatest", difference=1.5), atol=1e-6
    )
    assert told.exact.all()


def _least_by_programs(model, rows, norm):
    """Return a linear model's costs: a linear program for each category."""
    hot, scaler = (model[0].named_transformers_[it] for it in ("onehotencoder", "standardscaler"))
    slopes = model[-1].coef_[0][:2] / scaler.scale_
    costs = []
    for row in rows.rows():
        best, sign = (
            np.inf,
            np.sign(
                model.decision_function(pl.DataFrame([row], schema=rows.columns, orient="row"))[0]
            ),
        )
        for word in hot.categories_[0]:
            fixed = pl.DataFrame([(row[0], row[1], word)], schema=rows.columns, orient="row")
            score = sign * model.decision_function(fixed)[0]
            base = UNITS["colour"] * (word != row[2])
            # away and towards of both numbers, and the greatest cost: the score must fall to 0
            units = np.array([UNITS[it] for it in NUMBERS])
            goal = [0, 0, 0, 0, 1] if norm == "greatest" else [*units, *units, 0]
            falls = [*(sign * slopes), *(-sign * slopes), 0]
            most = [[units[0], 0, units[0], 0, -1], [0, units[1], 0, units[1], -1], falls]
            ends = (
                [(0, 32 - x) for x in row[:2]]
                + [(0, x - 1) for x in row[:2]]
                + [(base if norm == "greatest" else 0, None)]
            )
            found = linprog(goal, A_ub=most, b_ub=[0, 0, -score], bounds=ends)
            if found.success:
                best = min(best, found.fun + (base if norm == "sum" else 0))
        costs.append(best)
    return np.array(costs)


@pytest.mark.parametrize("norm", ["greatest", "sum"])
def test_linear_models_cost_what_programs_say(norm):
    model, rows = _fitted(LogisticRegression()), _grid()[0][:108:6]
    costs = flip_by_model(model, rows, _budget(norm), seen=_grid()[0])
    np.testing.assert_allclose(costs.found, _least_by_programs(model, rows, norm), atol=1e-6)
    assert costs.exact.all()
    assert (model.predict(costs.flipped) != model.predict(rows)).all()


@pytest.mark.parametrize("norm", ["greatest", "sum", "columns"])
def test_columns_that_gain_nothing_stay(norm):
    rows = pl.DataFrame(
        {"pay": [0.0, 1.0, 2.0, 3.0], "idle": [1.0, 2.0, 3.0, 4.0], "job": [*"abab"]}
    )
    before = make_column_transformer(
        ("passthrough", ["pay", "idle"]), (OneHotEncoder(sparse_output=False), ["job"])
    )
    model = make_pipeline(before, Ridge()).fit(rows, [0.0, 1.0, 2.0, 3.0])
    model[-1].coef_, model[-1].intercept_ = np.array([1.0, 0.0, -5.0, 5.0]), 0.0
    # Who has "b" may write "a" alone; it lowers what is predicted, and pay raises it.
    columns = {it: ColumnBudget() for it in ("pay", "idle")}
    columns |= {"job": ColumnBudget(categories=("a",), cost=9.0)}
    budget = AttackerBudget(columns=columns, most=1.0, norm=norm)
    costs = flip_by_model(model, rows, budget, difference=0.5)
    assert costs.exact.all()
    assert costs.flipped["idle"].equals(rows["idle"])
    assert norm == "columns" or costs.flipped["job"].equals(
        rows["job"]
    )  # one is as dear as another
    assert costs.found.tolist() == pytest.approx([1.0 if norm == "columns" else 0.5 / 3] * 4)


def test_the_distance_of_a_linear_model_is_the_score_over_the_norm():
    """|w x + b| / ||w||_1 is the least greatest change, / max |w| the least sum of changes."""
    rng = np.random.default_rng(0)
    rows = pl.DataFrame(rng.normal(size=(200, 3)), schema=["a", "b", "c"])
    model = LogisticRegression().fit(
        rows.to_numpy(), (rows["a"] - rows["b"] > 0.2 * rows["c"]).to_numpy()
    )
    columns = {name: ColumnBudget(cost=1.0, low=-100.0, high=100.0) for name in rows.columns}
    score, weights = np.abs(model.decision_function(rows.to_numpy())), np.abs(model.coef_[0])
    divisors: dict[Norm, float] = {"greatest": weights.sum(), "sum": weights.max()}
    for norm, divisor in divisors.items():
        budget = AttackerBudget(columns=columns, most=1.0, norm=norm)
        costs = flip_by_model(model, rows, budget)
        np.testing.assert_allclose(costs.found, score / divisor, rtol=1e-6)


def _forest_program(forest, row, target):  # noqa: C901 # one program
    """Solve Kantchelian's program of a forest of two classes: the least greatest change."""
    trees = [each.tree_ for each in forest.estimators_]
    cuts = sorted(
        {(f, c) for t in trees for f, c in zip(t.feature, t.threshold, strict=True) if f >= 0}
    )
    at = {cut: i for i, cut in enumerate(cuts)}  # whether the feature is at most the cut
    leaves = [
        (t, n)
        for t, tree in enumerate(trees)
        for n in range(tree.node_count)
        if tree.feature[n] < 0
    ]
    n, size = len(cuts), len(cuts) + len(leaves) + 1
    rows, least, most = [], [], []

    def held(terms, low, high):
        line = np.zeros(size)
        for i, factor in terms:
            line[i] += factor
        rows.append(line)
        least.append(low)
        most.append(high)

    for (f, a), (g, b) in pairwise(cuts):
        if f == g:
            held([(at[f, a], 1), (at[g, b], -1)], -np.inf, 0)
    place = {leaf: n + i for i, leaf in enumerate(leaves)}
    gains = []
    for t, tree in enumerate(trees):
        held([(place[leaf], 1) for leaf in leaves if leaf[0] == t], 1, 1)

        def below(node, t=t, tree=tree):
            if tree.feature[node] < 0:
                return [place[t, node]]
            left, right = below(tree.children_left[node]), below(tree.children_right[node])
            cut = at[tree.feature[node], tree.threshold[node]]
            held([(cut, -1), *[(i, 1) for i in left]], -np.inf, 0)
            held([(cut, 1), *[(i, 1) for i in right]], -np.inf, 1)
            return left + right

        below(0)
        for node in range(tree.node_count):
            if tree.feature[node] < 0:
                share = tree.value[node, 0]
                gains.append((place[t, node], 10 * (share[target] - share[1 - target])))
    held(gains, 1e-5 if target else -1e-5, np.inf)  # of equals, the first class is predicted
    for (f, c), i in at.items():
        by = c - row[f]
        if by < 0:  # the feature falls to the cut
            held([(i, -by), (size - 1, -1)], -np.inf, 0)
        else:  # it rises above the cut
            held([(i, -by), (size - 1, -1)], -np.inf, -by)
    goal = np.zeros(size)
    goal[-1] = 1
    found = milp(
        goal,
        integrality=[*[1] * (size - 1), 0],
        bounds=Bounds(0, [*[1] * (size - 1), np.inf]),
        constraints=LinearConstraint(np.array(rows), least, most),
    )
    return np.inf if found.x is None else found.fun


@pytest.mark.mostly_slow
@pytest.mark.parametrize("seed", range(10))
def test_forests_cost_what_highs_finds(seed):
    rng = np.random.default_rng(seed)
    n, depth = (300, 4) if seed < 5 else (60, None)  # pure leaves: trees vote, and may be equal
    rows = pl.DataFrame(rng.random((n, 4)), schema=["a", "b", "c", "d"])
    score = (rows["a"] * rows["b"] + 0.3 * rows["c"] > 0.4).to_numpy() ^ (rng.random(n) < 0.1)
    forest = ExtraTreesClassifier if seed % 2 else RandomForestClassifier
    model = forest(8 if depth else 4, max_depth=depth, random_state=seed).fit(
        rows.to_numpy(), score
    )
    columns = {name: ColumnBudget(cost=1.0, low=-9.0, high=9.0) for name in rows.columns}
    some = rows[:6]
    costs = flip_by_model(model, some, AttackerBudget(columns=columns, most=1.0), effort=3000)
    expected = [
        _forest_program(model, row, int(not label))
        for row, label in zip(some.rows(), model.predict(some.to_numpy()), strict=True)
    ]
    np.testing.assert_allclose(costs.found, expected, atol=1e-5)
    np.testing.assert_allclose(costs.certified, expected, atol=1e-5)


def test_the_cheaper_change_of_both_searches_counts():
    rng = np.random.default_rng(0)
    x = rng.random((300, 4))
    rows = pl.DataFrame(x, schema=["a", "b", "c", "d"])
    model = RandomForestClassifier(25, random_state=0)
    model.fit(rows, x.sum(axis=1) + rng.normal(0, 0.4, 300) > 2)
    budget = AttackerBudget(columns=dict.fromkeys(rows.columns, ColumnBudget()), most=0.1)
    known = flip_by_model(model, rows[:30], budget, seen=rows)
    asked = flip_by_labels(model, rows[:30].filter(~known.exact), budget, seen=rows)
    cheaper = asked.found < known.found[~known.exact] - 1e-9
    assert cheaper.any()
    assert not cheaper.all()
    costs = cost_to_flip(model, rows[:30], budget, seen=rows)
    expected = known.found.copy()
    expected[~known.exact] = np.minimum(expected[~known.exact], asked.found)
    np.testing.assert_array_equal(costs.found, expected)
    np.testing.assert_array_equal(costs.certified, known.certified)
    assert (model.predict(costs.flipped) != model.predict(rows[:30])).all()
    np.testing.assert_allclose(budget.for_rows(rows).cost_of(rows[:30], costs.flipped), costs.found)


def test_more_effort_brings_certified_and_found_costs_nearer():
    rng = np.random.default_rng(1)
    rows = pl.DataFrame(rng.random((300, 4)), schema=["a", "b", "c", "d"])
    labels = (rows["a"] * rows["b"] > 0.3).to_numpy() ^ (rng.random(300) < 0.2)
    model = RandomForestClassifier(30, random_state=1).fit(rows.to_numpy(), labels)
    budget = AttackerBudget(columns=dict.fromkeys(rows.columns, ColumnBudget()), most=1.0)
    told = [
        flip_by_model(model, rows[:40], budget, seen=rows, effort=effort)
        for effort in (0, 2, 8, 64)
    ]
    for less, more in pairwise(told):
        assert (less.certified <= more.certified + 1e-9).all()
        assert (more.found <= less.found + 1e-9).all()
    assert (told[0].certified < told[-1].certified).any()


@pytest.mark.parametrize("norm", ["greatest", "sum", "columns"])
@pytest.mark.parametrize("name", ["tree", "logistic", "forest"])
def test_what_breaks_a_relation_is_certified_and_not_found(name, norm):
    made = LogisticRegression() if name == "logistic" else TREES[name]()
    model, rows = _fitted(made), _grid()[0][:108:7]
    relation = Relation(terms={"first": 1.0, "second": -1.0}, most=0.5)
    budget = AttackerBudget(columns=_budget().columns, most=1.0, norm=norm, relations=(relation,))
    costs = flip_by_model(model, rows, budget, seen=_grid()[0])
    kept = ~relation.holds(rows) | relation.holds(costs.flipped)
    assert np.isinf(costs.found[~kept]).all()
    free = flip_by_model(model, rows, _budget(norm), seen=_grid()[0])
    np.testing.assert_allclose(costs.certified, free.certified)
    assert not costs.exact[~kept].any()


@pytest.mark.parametrize("norm", ["greatest", "sum", "columns"])
def test_labels_alone_find_nothing_below_what_is_certified(norm):
    model, rows = _fitted(RandomForestClassifier(20, random_state=3)), _grid()[0][:108:3]
    costs = flip_by_model(model, rows, _budget(norm), seen=_grid()[0], effort=4)
    labels = flip_by_labels(model, rows, _budget(norm), seen=_grid()[0], effort=2)
    assert (costs.certified <= labels.found + 1e-9).all()
    assert costs.certified.min() > 0


def test_missing_cells_and_unseen_categories_stay():
    rows, score = _grid()
    holes = rows.with_columns(
        pl.when(pl.int_range(pl.len()) % 5 == 0).then(None).otherwise("first").alias("first")
    )
    before = make_column_transformer(
        ("passthrough", list(NUMBERS)),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["colour"]),
    )
    unseen = holes[:100].with_columns(
        pl.when(pl.int_range(pl.len()) % 3 == 0)
        .then(pl.lit("grey"))
        .otherwise("colour")
        .alias("colour")
    )
    for each in (TREES["forest"](), TREES["histograms"](), TREES["lightgbm"]()):
        model = make_pipeline(before, each).fit(holes, score > 0)
        costs = flip_by_model(model, unseen, _budget("sum"), seen=rows, effort=500)
        assert (unseen["first"].is_null() == costs.flipped["first"].is_null()).all()
        found = np.isfinite(costs.found)
        assert found.mean() > 0.9
        assert (model.predict(costs.flipped) != model.predict(unseen))[found].all()
        assert set(costs.flipped["colour"]) <= {*WORDS, "grey"}


@pytest.mark.parametrize("model", [PoissonRegressor(), GaussianNB(), TREES["tree"]()])
def test_other_models_and_numbers_as_categories_have_no_costs(model):
    rows, score = _grid()
    y = np.abs(score) if isinstance(model, PoissonRegressor) else score > 0
    coded = make_column_transformer((OneHotEncoder(sparse_output=False), ["first"]))
    is_tree = isinstance(model, DecisionTreeClassifier)
    fitted = (make_pipeline(coded, model) if is_tree else model).fit(rows.select(NUMBERS), y)
    budget = AttackerBudget(columns={"first": ColumnBudget()}, most=1.0)
    difference = 1.0 if isinstance(model, PoissonRegressor) else None
    assert flip_by_model(fitted, rows.select(NUMBERS), budget, difference=difference) is None
    if difference is None:
        with pytest.raises(ParameterError, match="one of classes"):
            flip_by_model(fitted, rows.select(NUMBERS), budget, difference=1.0)


class XGBModel:
    """As XGBoost's regressor of counts: it predicts the exponential of what its trees sum up to."""

    n_features_in_ = 1

    def get_booster(self):
        return self

    def save_raw(self, _):
        sides = {"left_children": [1, -1, -1], "right_children": [2, -1, -1]}
        cuts = {"split_conditions": [0.5, 0.0, 2.0], "split_indices": [0] * 3}
        tree = sides | cuts | {"default_left": [1, 0, 0], "split_type": [0] * 3}
        trees = {"name": "gbtree", "model": {"tree_info": [0], "trees": [tree]}}
        return json.dumps({"learner": {"gradient_booster": trees}})

    def predict(self, rows, *, output_margin=False):
        sums = np.where(np.asarray(rows)[:, 0] < 0.5, 0.0, 2.0)
        return sums if output_margin else np.exp(sums)


def test_sums_of_leaves_that_are_not_what_is_predicted_certify_nothing():
    rows = pl.DataFrame({"a": [0.0, 0.2, 0.7, 1.0]})
    budget = AttackerBudget(columns={"a": ColumnBudget()}, most=0.5)
    assert flip_by_model(XGBModel(), rows, budget, difference=3.0) is None


def test_a_regressor_needs_a_difference():
    with pytest.raises(ParameterError, match="by how much"):
        flip_by_model(_fitted(Ridge()), _grid()[0][:5], _budget())
