"""Certified <= exact <= found, for random models and budgets: exact is the least of all rows."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import combinations, product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from halfmask.assess.robustness import AttackerBudget, ColumnBudget, Relation, cost_to_flip

VALUES = (1.0, 2.0, 4.0, 8.0, 16.0)
EDGES = np.array(sorted({(a + b) / 2 for a, b in combinations(VALUES, 2)}))
BESIDE, NEAR = 1e-5, 1e-4
WORDS = ("red", "green", "blue")
KINDS = {"real": pl.Float64, "count": pl.Int16, "flag": pl.Boolean, "word": pl.String}
SIDES = [float(it) for it in np.concatenate([EDGES - BESIDE, EDGES + BESIDE])]
CELLS = {"real": SIDES, "count": range(-1, 6), "flag": (False, True), "word": WORDS}
TREES: Any = [
    lambda seed: DecisionTreeClassifier(max_depth=5, random_state=seed),
    lambda seed: RandomForestClassifier(1 + seed % 7, random_state=seed),
    lambda seed: RandomForestClassifier(5, max_depth=3, class_weight="balanced", random_state=seed),
    lambda seed: GradientBoostingClassifier(n_estimators=1 + seed % 6, random_state=seed),
    lambda seed: HistGradientBoostingClassifier(max_iter=1 + seed % 6, min_samples_leaf=3),
]
OTHERS: Any = [
    *TREES,
    lambda seed: ExtraTreesClassifier(4, random_state=seed),
    lambda seed: LGBMClassifier(n_estimators=1 + seed % 6, min_child_samples=4, verbose=-1),
    lambda seed: LogisticRegression(C=10.0 ** (seed % 3)),
    lambda seed: RidgeClassifier(alpha=0.1 + seed),
    lambda _: KNeighborsClassifier(3),
]
if find_spec("xgboost"):  # no dependency of ours
    from xgboost import (  # type: ignore[import-not-found]
        XGBClassifier,
        XGBRFClassifier,
    )

    OTHERS += [
        lambda seed: XGBClassifier(n_estimators=1 + seed % 6, max_depth=3, n_jobs=1),
        lambda seed: XGBRFClassifier(n_estimators=4, max_depth=4, random_state=seed, n_jobs=1),
        lambda _: XGBClassifier(n_estimators=3, booster="dart", rate_drop=0.5, n_jobs=1),
        lambda _: XGBClassifier(n_estimators=3, booster="gblinear", n_jobs=1),
    ]


def _every(names):
    cells = list(product(*(CELLS[name] for name in names)))
    return pl.DataFrame(cells, schema={it: KINDS[it] for it in names}, orient="row")


def _drawn(names, rng, n):
    values = {**CELLS, "real": VALUES}
    columns = {it: rng.choice(np.array(values[it]), n).tolist() for it in names}
    return pl.DataFrame(columns, schema={it: KINDS[it] for it in names})


def _budget(draw, names, relations=()):
    costs = st.sampled_from([0.05, 0.1, 0.3, 0.7, 1.0])
    columns = {}
    for name in names:
        change: Any = draw(st.sampled_from(["any", "any", "up", "down", "no"]))
        if name == "word":
            words = draw(st.lists(st.sampled_from(WORDS), min_size=1, unique=True))
            columns[name] = ColumnBudget(cost=draw(costs), categories=tuple(words))
            continue
        most = 17.3 if name == "real" else 5.9
        low, high = sorted((draw(st.floats(-1, 5.9)), draw(st.floats(0, most))))
        columns[name] = ColumnBudget(change=change, low=low, high=high, cost=draw(costs))
    norm: Any = draw(st.sampled_from(["greatest", "sum", "columns"]))
    most = draw(st.floats(0.05, 2))
    return AttackerBudget(columns=columns, most=most, norm=norm, relations=relations)


def _cell(name, cells):
    return np.searchsorted(EDGES, cells) if name == "real" else cells


def _exact(model, rows, budget):
    """Return the least cost of each row: of all rows that a table can hold, on its way to them."""
    every = _every(rows.columns)
    told, own = model.predict(every), model.predict(rows)
    kept = np.ones((rows.height, every.height), dtype=bool)
    total = np.zeros((rows.height, every.height, rows.width))
    for c, name in enumerate(rows.columns):
        it = budget.columns[name]
        b = every[name].to_numpy()[None]
        a = rows[name].to_numpy()[:, None]
        same = _cell(name, a) == _cell(name, b)
        if name == "word":
            by, allowed = np.where(same, 0.0, 1.0), np.isin(b, it.categories)
        else:
            x, y = a.astype(float), b.astype(float)
            up, down = it.change in ("up", "any"), it.change in ("down", "any")
            low, high = (
                np.where(down, np.minimum(x, it.low), x),
                np.where(up, np.maximum(x, it.high), x),
            )
            by, allowed = np.where(same, 0.0, np.abs(x - y)), (low <= y) & (y <= high)
        kept &= same | allowed
        total[..., c] = by > 0 if budget.norm == "columns" else by * it.cost
    for relation in budget.relations:
        kept &= ~relation.holds(rows)[:, None] | relation.holds(every)[None]
    cost = total.max(axis=-1) if budget.norm == "greatest" else total.sum(axis=-1)
    return np.where(kept & (told != own[:, None]), cost, np.inf).min(axis=1)


def _fitted(make, scaler, encoder, names, seed):
    rng = np.random.default_rng(seed)
    rows = _drawn(names, rng, 60)
    labels = rng.integers(0, 2 + seed % 2, 60)
    numbers = [it for it in names if it != "word"]
    before = make_column_transformer((scaler, numbers), (encoder, ["word"]))
    return make_pipeline(before, make(seed)).fit(rows, labels), _drawn(names, rng, 8)


def _judged(model, rows, budget, seed, near=1e-9):
    costs = cost_to_flip(
        model, rows, budget, seen=_every(rows.columns), random_state=seed, effort=2
    )
    exact = _exact(model, rows, budget)
    certified = np.nan_to_num(costs.certified, nan=0.0)
    assert (certified <= exact + near).all()
    assert (costs.found >= exact - near).all()
    known = costs.exact
    np.testing.assert_allclose(costs.found[known], exact[known], atol=near)
    found = np.isfinite(costs.found)
    assert ((model.predict(costs.flipped) != model.predict(rows)) == found).all()
    np.testing.assert_array_equal(costs.found[found], budget.cost_of(rows, costs.flipped)[found])
    assert costs.flipped.schema == rows.schema
    return costs


SETTINGS = settings(
    max_examples=4, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
SCALERS: Any = st.sampled_from(["passthrough", StandardScaler(), MaxAbsScaler()])
ENCODERS: Any = st.sampled_from(
    [OneHotEncoder(sparse_output=False), OneHotEncoder(drop="first"), OrdinalEncoder()]
)


@pytest.mark.mostly_slow
@pytest.mark.parametrize("batch", range(5))
@SETTINGS
@given(
    data=st.data(),
    make=st.sampled_from(TREES),
    scaler=SCALERS,
    encoder=ENCODERS,
    seed=st.integers(0, 999),
)
def test_trees_on_real_and_whole_numbers(batch, data, make, scaler, encoder, seed):
    names, seed = ("real", "count", "flag", "word"), seed + 1000 * batch
    model, rows = _fitted(make, scaler, encoder, names, seed)
    budget = _budget(data.draw, names)
    _judged(model, rows, budget, seed, NEAR)


@pytest.mark.mostly_slow
@pytest.mark.parametrize("batch", range(5))
@SETTINGS
@given(
    data=st.data(),
    make=st.sampled_from(OTHERS),
    scaler=SCALERS,
    encoder=ENCODERS,
    seed=st.integers(0, 999),
)
def test_all_models_on_whole_numbers_with_relations(batch, data, make, scaler, encoder, seed):
    names, seed = ("count", "flag", "word"), seed + 1000 * batch
    model, rows = _fitted(make, scaler, encoder, names, seed)
    factors = st.sampled_from([-2.0, -1.0, 1.0, 2.0])
    relations = [
        Relation(
            terms={"count": data.draw(factors), "flag": data.draw(factors)},
            most=data.draw(st.integers(-3, 6)),
            is_equal=data.draw(st.booleans()),
        )
        for _ in range(data.draw(st.integers(0, 2)))
    ]
    _judged(model, rows, _budget(data.draw, names, tuple(relations)), seed)
