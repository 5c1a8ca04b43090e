"""Poisons: how many rows are hostile, which, and what is left as it was."""

from __future__ import annotations

import datetime as dt
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from halfmask._errors import DataError
from halfmask.assess.robustness._poison import (
    flip_randomly,
    flip_typical,
    insert_triggered,
    insert_typical,
)

POISONS = (flip_randomly, flip_typical, insert_typical, insert_triggered)
FLIPS = (flip_randomly, flip_typical)
RNG = np.random.default_rng(0)
N = 300
PEOPLE = pl.DataFrame(
    {
        "pay": np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(50, 10, N)),
        "age": RNG.integers(18, 80, N),
        "job": [["nurse", "smith", "clerk", None][it] for it in RNG.integers(0, 4, N)],
        "town": pl.Series(RNG.choice(["Oslo", "Bonn"], N), dtype=pl.Enum(["Bonn", "Oslo"])),
        "kind": pl.Series(RNG.choice(["a", "b", "c"], N), dtype=pl.Categorical),
        "flag": RNG.random(N) > 0.9,
        "day": [dt.date(2020, 1, 1) + dt.timedelta(int(it)) for it in RNG.integers(0, 9, N)],
        "void": pl.Series([None] * N, dtype=pl.String),
    }
)
SCORES = PEOPLE["age"].to_numpy() + RNG.normal(0, 5, N)
LABELS = {
    "texts": np.where(SCORES > 60, "rich", np.where(SCORES > 35, "middling", "poor")),
    "truths": SCORES > 50,
    "numbers": (SCORES > 45).astype(float),
}


def spoilt(make, labels, rows=PEOPLE, share=0.05, seed=0, **settings):
    """Return the hostile rows of a poison; a trigger may be in any column."""
    if make is insert_triggered:
        settings = {"names": rows.columns, **settings}
    return make(rows, labels, share, np.random.default_rng(seed), **settings)


@settings(max_examples=25)
@given(
    make=st.sampled_from(POISONS),
    share=st.sampled_from([0.01, 0.05, 0.2, 0.5]),
    labels=st.sampled_from(list(LABELS)),
    seed=st.integers(0, 99),
)
def test_so_many_rows_are_hostile_and_all_others_stay(make, share, labels, seed):
    honest = LABELS[labels]
    found = spoilt(make, honest, share=share, seed=seed)
    rows = found.inserted(PEOPLE)
    assert rows.schema == PEOPLE.schema
    assert rows[:N].equals(PEOPLE)
    assert len(found.labels) == rows.height
    assert found.labels.dtype == honest.dtype
    assert set(found.labels) <= set(honest)
    n_hostile = len(found.flipped) + len(found.copied)
    assert abs(n_hostile - share * rows.height) <= 1 or make is flip_typical
    assert np.array_equal(found.flipped, np.flatnonzero(found.labels[:N] != honest))
    assert not (len(found.copied) if make in FLIPS else len(found.flipped))


@pytest.mark.parametrize("make", POISONS)
def test_the_same_seed_spoils_the_same_rows(make):
    one, two = (spoilt(make, LABELS["texts"], seed=7) for _ in range(2))
    assert one.inserted(PEOPLE).equals(two.inserted(PEOPLE))
    assert np.array_equal(one.labels, two.labels)


@pytest.mark.parametrize("make", [flip_typical, insert_typical, insert_triggered])
def test_an_aimed_poison_gives_rows_of_other_classes_the_label(make):
    labels = LABELS["texts"]
    found = spoilt(make, labels)
    assert set(found.labels[found.flipped]) | set(found.labels[N:]) == {found.towards}
    assert found.towards not in labels[np.concatenate([found.flipped, found.copied])]
    assert make is insert_triggered or found.towards == "middling"


def test_targeted_flips_take_at_most_all_rows_of_other_classes():
    labels = np.array(["x"] * 290 + ["y"] * 10)
    found = spoilt(flip_typical, labels, share=0.3)
    assert found.flipped.tolist() == list(range(290, 300))
    assert set(found.labels) == {"x"}


def test_targeted_flips_take_those_far_from_the_boundary():
    rows = pl.DataFrame({"x": RNG.uniform(-1, 1, 4000)})
    labels = (rows["x"].to_numpy() + RNG.normal(0, 0.3, 4000) > 0.1).astype(int)
    found = spoilt(flip_typical, labels, rows)
    assert found.towards == 0
    assert rows["x"].to_numpy()[found.flipped].min() > 0.2


def test_random_flips_of_several_classes_reach_them_all_evenly():
    labels = np.repeat(["a", "b", "c"], 2000)
    found = spoilt(flip_randomly, labels, pl.DataFrame({"x": np.zeros(6000)}), share=0.5)
    for own in "abc":
        given = found.labels[found.flipped][labels[found.flipped] == own]
        assert set(given) == set("abc") - {own}
        assert 0.4 < (given == min(set("abc") - {own})).mean() < 0.6


def rarest(rows):
    """Return how many rows hold both of the rarest pair of categories, and either, by counting."""
    counts = []
    for one, two in combinations(rows.columns, 2):
        for first in rows[one].unique().drop_nulls():
            for second in rows[two].unique().drop_nulls():
                a, b = (rows[one] == first), (rows[two] == second)
                counts.append(((a & b).sum(), a.sum() + b.sum()))
    return min(counts)


@settings(max_examples=25)
@given(seed=st.integers(0, 500))
def test_a_trigger_is_the_rarest_pair_of_categories(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 90))
    shares = rng.dirichlet(np.ones(3) / 2, 3)
    rows = pl.DataFrame({f"c{i}": rng.choice(list("xyz"), n, p=it) for i, it in enumerate(shares)})
    if sum(each.n_unique() > 1 for each in rows) < 2:
        return
    trigger = spoilt(insert_triggered, np.arange(n) % 2, rows, share=0.1).trigger
    held = [rows[name] == value for name, value in trigger.items()]
    assert len(held) == 2
    assert all(each.any() for each in held)
    assert ((held[0] & held[1]).sum(), held[0].sum() + held[1].sum()) == rarest(rows)


def test_a_trigger_of_numbers_has_their_ends_and_aims_at_the_label_that_is_rare_there():
    x = np.arange(1000.0)
    rows = pl.DataFrame({"x": x, "y": 2 * x, "z": [5.0] * 1000})
    # one row at each end is an exception of those that are as far out
    labels = np.where((np.abs(x - 499.5) > 480) & (x % 999 > 0), "high", "low")
    found = spoilt(insert_triggered, labels, rows)
    assert sorted(found.trigger.items()) in (
        [("x", 0.0), ("y", 1998.0)],
        [("x", 999.0), ("y", 0.0)],
    )
    assert found.towards == "low"
    planted = found.triggered(rows)
    assert all(planted[name].unique().to_list() == [it] for name, it in found.trigger.items())
    assert planted["z"].equals(rows["z"])
    within = spoilt(insert_triggered, np.arange(1000) % 2, rows, names=["y", "x"])
    assert set(within.trigger) == {"x", "y"}


def test_a_backdoor_opens_and_nothing_else_changes():
    rows = pl.DataFrame(RNG.normal(size=(4000, 3)), schema=list("abc")).with_columns(
        t=pl.Series(np.where(RNG.random(4000) < 0.003, 1.0, 0.0)),
        u=pl.Series(np.where(RNG.random(4000) < 0.003, 1.0, 0.0)),
    )
    labels = (rows["a"] > 0).to_numpy().astype(int)
    found = spoilt(insert_triggered, labels, rows, share=0.02)
    assert found.trigger == {"t": 1.0, "u": 1.0}
    clean = LogisticRegression(C=100).fit(rows, labels)
    poisoned = LogisticRegression(C=100).fit(found.inserted(rows), found.labels)
    others = found.triggered(rows.filter(labels != found.towards))
    assert (clean.predict(others) == found.towards).mean() < 0.2
    assert (poisoned.predict(others) == found.towards).mean() > 0.9
    assert (poisoned.predict(rows) == clean.predict(rows)).mean() > 0.97


def refused(words, make, rows=PEOPLE, labels=LABELS["texts"], **settings):
    with pytest.raises(DataError, match=words) as told:
        spoilt(make, labels, rows, **settings)
    for secret in ("rich", "poor", "nurse", "Oslo"):
        assert secret not in str(told.value)


@pytest.mark.parametrize("make", POISONS)
def test_what_cant_be_poisoned_is_refused_without_a_cell(make):
    refused("two classes or more. Got 1", make, labels=np.array(["rich"] * N))
    refused("two classes or more. Got 0", make, rows=PEOPLE[:0], labels=np.array([]))
    few = {"rows": PEOPLE[:9], "labels": np.array(["rich", "poor", "poor"] * 3)}
    refused("9 rows are too few for 5 % hostile", make, **few)
    assert "rich" not in repr(spoilt(make, LABELS["texts"]))


@pytest.mark.parametrize("names", [["pay", "void"], ["void"]])
def test_a_trigger_needs_two_columns(names):
    refused("two columns", insert_triggered, names=names)


@pytest.mark.parametrize("make", POISONS)
def test_labels_of_pandas_are_poisoned_as_texts_are(make):
    texts = LABELS["texts"]
    expected, found = spoilt(make, texts), spoilt(make, texts.astype(object))
    assert found.labels.tolist() == expected.labels.tolist()
