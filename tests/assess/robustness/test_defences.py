"""Defences: changes within the budget, hardened models, and rows that are found."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from halfmask._errors import DataError, ParameterError
from halfmask.assess.robustness import AttackerBudget, ColumnBudget, Relation
from halfmask.assess.robustness._defences import (
    Suspicions,
    change_randomly,
    losses_of,
    suspect_blocks,
    suspect_labels,
    train_hardened,
)

RNG = np.random.default_rng(0)
N = 400
PEOPLE = pl.DataFrame(
    {
        "age": RNG.integers(18, 80, N),
        "pay": np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(50, 10, N)),
        "job": RNG.choice(["nurse", "smith", "clerk"], N),
        "flag": RNG.random(N) > 0.5,
        "same": ["x"] * N,
        "id": np.arange(N),
    }
).with_columns(pl.when(pl.col("age") < 30).then(None).otherwise("job").alias("job"))
COLUMNS = {
    "age": ColumnBudget(change="up"),
    "pay": ColumnBudget(low=0.0),
    "job": ColumnBudget(cost=0.4),
    "flag": ColumnBudget(cost=0.3),
    "same": ColumnBudget(),
}


@settings(max_examples=20)
@given(
    norm=st.sampled_from(["greatest", "sum", "columns"]),
    most=st.sampled_from([0.2, 0.5, 1.0, 2.0]),
    seed=st.integers(0, 1000),
)
def test_random_changes_are_within_the_budget(norm, most, seed):
    budget = AttackerBudget(columns=COLUMNS, most=most, norm=norm).for_rows(PEOPLE)
    changed = change_randomly(PEOPLE, budget, np.random.default_rng(seed))
    assert changed.schema == PEOPLE.schema
    assert (budget.cost_of(PEOPLE, changed) <= most + 1e-9).all()
    assert changed["id"].equals(PEOPLE["id"])
    assert (changed["age"] >= PEOPLE["age"]).all()
    assert changed["pay"].is_nan().equals(PEOPLE["pay"].is_nan())
    assert changed["job"].is_null().equals(PEOPLE["job"].is_null())
    moved = [changed[name].ne_missing(PEOPLE[name]).to_numpy() for name in PEOPLE.columns]
    n_changed = np.sum(moved, axis=0)
    if norm == "columns":
        assert n_changed.max() <= int(most)
    if norm != "columns" or most >= 1:
        assert (n_changed > 0).mean() > 0.15


def test_random_changes_reach_every_column_and_the_whole_budget():
    budget = AttackerBudget(columns=COLUMNS, most=0.5).for_rows(PEOPLE)
    draws = [change_randomly(PEOPLE, budget, np.random.default_rng(s)) for s in range(20)]
    for name in ("age", "pay", "job", "flag"):
        if name != "flag":  # whole steps of a truth value cost more than they may
            assert any(each[name].ne_missing(PEOPLE[name]).any() for each in draws)
    assert max(budget.cost_of(PEOPLE, each).max() for each in draws) > 0.48


@pytest.mark.parametrize(
    ("cells", "most", "own", "reached"),
    [([False, True], 1.0, False, [False, True]), ([0, 10], 0.3, 5, [2, 3, 4, 5, 6, 7, 8])],
)
def test_random_changes_take_each_whole_step_as_often(cells, most, own, reached):
    budget = AttackerBudget(columns={"a": ColumnBudget()}, most=most)
    rows = pl.DataFrame({"a": [own] * 7000})
    budget = budget.for_rows(pl.DataFrame({"a": cells}))
    changed = change_randomly(rows, budget, np.random.default_rng(0))
    counts = changed["a"].value_counts().sort("a")
    assert counts["a"].to_list() == reached
    assert counts["count"].to_numpy().min() > 0.8 * rows.height / len(reached)


def test_a_column_that_cant_change_doesnt_hold_back_the_others():
    columns = COLUMNS | {"job": ColumnBudget(change="no", categories=("nurse", "smith"))}
    budget = AttackerBudget(columns=columns, most=1.0).for_rows(PEOPLE)
    changed = change_randomly(PEOPLE, budget, np.random.default_rng(0))
    assert changed["job"].equals(PEOPLE["job"])
    assert np.mean(changed["age"].to_numpy() != PEOPLE["age"].to_numpy()) > 0.8


def test_missing_whole_numbers_stay_missing():
    rows = pl.DataFrame(
        {"n": [None, 1, 5, 9] * 10, "m": [None] * 40}, schema_overrides={"m": pl.Int64}
    )
    columns = {"n": ColumnBudget(), "m": ColumnBudget(low=0, high=3)}
    budget = AttackerBudget(columns=columns, most=0.9).for_rows(rows)
    changed = change_randomly(rows, budget, np.random.default_rng(0))
    assert changed["n"].is_null().equals(rows["n"].is_null())
    assert changed["m"].null_count() == 40
    assert changed["n"].drop_nulls().is_between(1, 9).all()


def test_a_relation_that_held_holds_afterwards():
    rows = pl.DataFrame({"part": [1.0, 2.0, 9.0] * 20, "whole": [4.0, 4.0, 4.0] * 20})
    relation = Relation(terms={"part": 1.0, "whole": -1.0})
    columns = {name: ColumnBudget() for name in rows.columns}
    budget = AttackerBudget(columns=columns | {"whole": ColumnBudget(low=0, high=9)}, most=0.9,
                            relations=(relation,)).for_rows(rows)  # fmt: skip
    changed = change_randomly(rows, budget, np.random.default_rng(0))
    assert relation.holds(changed)[relation.holds(rows)].all()
    assert not changed.equals(rows)


NUMBERS = pl.DataFrame(RNG.normal(size=(1500, 4)), schema=list("abcd"))
LABELS = (NUMBERS["a"] + NUMBERS["b"] > 0).to_numpy().astype(int)
FREE = AttackerBudget(columns={name: ColumnBudget() for name in "abcd"}, most=0.06)


def fragile(n, seed):
    """Return rows whose label `thin` tells exactly, by steps far below the budget; `wide` less."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    thin = np.where(rng.random(n) < 0.02, rng.uniform(-1, 1, n), 0.005 * (2 * labels - 1))
    wide = np.where(rng.random(n) < 0.05, -1, 1) * (labels - 0.5) + rng.normal(size=n) / 10
    return pl.DataFrame({"thin": thin, "wide": wide}), labels


def right_after_changes(model, held_out, budget):
    (rows, labels), rng = held_out, np.random.default_rng(5)
    right = model.predict(rows) == labels
    for _ in range(15):
        right &= model.predict(change_randomly(rows, budget, rng)) == labels
    return right.mean()


def test_a_hardened_tree_is_right_after_more_changes_at_little_cost():
    tree, training, held_out = (
        DecisionTreeClassifier(max_depth=3),
        fragile(1000, 1),
        fragile(500, 2),
    )
    columns = {"thin": ColumnBudget(), "wide": ColumnBudget()}
    budget = AttackerBudget(columns=columns, most=0.05).for_rows(training[0])

    def plain(rows, labels):
        return DecisionTreeClassifier(max_depth=3, random_state=0).fit(rows, labels)

    def hardened(rows, labels):
        return train_hardened(tree.set_params(random_state=0), rows, labels, budget=budget)

    assert right_after_changes(plain(*training), held_out, budget) < 0.5
    model = hardened(*training)
    assert right_after_changes(model, held_out, budget) > 0.9
    right = [(it.predict(held_out[0]) == held_out[1]).mean() for it in (plain(*training), model)]
    assert right[0] - right[1] < 0.05
    assert np.array_equal(hardened(*training).predict(held_out[0]), model.predict(held_out[0]))


@pytest.mark.parametrize("estimator", [LinearSVC(), LinearRegression(), LogisticRegression()])
def test_any_estimator_can_be_hardened(estimator):
    model = train_hardened(estimator, NUMBERS, LABELS, budget=FREE, rounds=1, tries=2)
    losses = losses_of(model, NUMBERS, LABELS)
    assert losses.shape == (1500,)
    assert (losses >= 0).all()
    assert losses.mean() < losses_of(model, NUMBERS, 1 - LABELS).mean()


def test_labels_that_differ_from_neighbours_are_found():
    flipped = np.zeros(1500, dtype=bool)
    flipped[np.random.default_rng(1).choice(1500, 75, replace=False)] = True
    two = NUMBERS.select("a", "b").with_columns(town=pl.lit("x"))
    found = suspect_labels(two, np.where(flipped, 1 - LABELS, LABELS))
    assert flipped[found.rows(50)].mean() > 0.85
    assert flipped[found.kept(0.08)].sum() < 20
    assert len(found.kept(0.08)) == 1380
    assert len(found.kept(0.0)) == 1500


def test_neighbours_are_those_of_a_naive_search():
    rows, labels = NUMBERS[:60], LABELS[:60]
    scores = suspect_labels(rows, labels, neighbours=7).scores
    numbers = rows.to_numpy()
    scaled = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    for at in range(60):
        far = [(sum((scaled[at] - scaled[it]) ** 2), it) for it in range(60) if it != at]
        near = [it for _, it in sorted(far)[:7]]
        assert scores[at] == pytest.approx(sum(labels[it] != labels[at] for it in near) / 7)


def test_the_block_that_harms_is_found():
    rng = np.random.default_rng(1)
    blocks = rng.integers(0, 6, 1000) + 10
    labels = np.where((blocks == 12) & (rng.random(1000) < 0.9), 1 - LABELS[:1000], LABELS[:1000])

    def learn(rows, y):
        return LogisticRegression().fit(rows, y)

    held_out = NUMBERS[1000:], LABELS[1000:]
    found = suspect_blocks(learn, (NUMBERS[:1000], labels), held_out, blocks=blocks)
    assert set(blocks[found.rows(100)]) == {12}
    assert found.scores[blocks == 12].min() > 3 * found.scores[blocks != 12].max()
    honest = suspect_blocks(learn, (NUMBERS[:1000], LABELS[:1000]), held_out, blocks=blocks)
    assert np.abs(honest.scores).max() < 0.1 * found.scores.max()


def test_a_label_that_the_model_never_saw_is_as_wrong_as_can_be():
    model = LogisticRegression().fit(NUMBERS, LABELS)
    losses = losses_of(model, NUMBERS[:3], np.array([0, 1, 7]))
    assert losses.argmax() == 2
    assert np.isfinite(losses).all()


def test_what_cant_be_done_is_refused_without_a_cell():
    with pytest.raises(ParameterError, match="too few for 10"):
        suspect_labels(NUMBERS[:5], LABELS[:5])
    known, one = (NUMBERS, LABELS), np.zeros(1500, dtype=np.int64)
    with pytest.raises(ParameterError, match="two blocks"):
        suspect_blocks(LogisticRegression().fit, known, known, blocks=one)
    with pytest.raises(ParameterError, match="rounds"):
        train_hardened(LogisticRegression(), NUMBERS, LABELS, budget=FREE, rounds=0)
    with pytest.raises(ParameterError, match="share"):
        Suspicions(np.zeros(3)).kept(1.5)
    budget = AttackerBudget(columns=COLUMNS, most=0.5)
    with pytest.raises(DataError, match=f"fitted to {N} rows") as told:
        train_hardened(LogisticRegression(), PEOPLE, np.arange(N) % 2, budget=budget)
    assert "nurse" not in str(told.value)
    assert repr(Suspicions(np.zeros(3))) == "Suspicions()"
