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

from halfmask._errors import ColumnNotFoundError, DataError, HalfmaskError, ParameterError
from halfmask.assess.robustness._poison import Backdoor, Insertions, RandomFlips, TargetedFlips

POISONS = (RandomFlips, TargetedFlips, Insertions, Backdoor)
FLIPS = (RandomFlips, TargetedFlips)
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


@settings(max_examples=25)
@given(
    make=st.sampled_from(POISONS),
    share=st.sampled_from([0.01, 0.05, 0.2, 0.5]),
    labels=st.sampled_from(list(LABELS)),
    seed=st.integers(0, 99),
)
def test_so_many_rows_are_hostile_and_all_others_stay(make, share, labels, seed):
    honest = LABELS[labels]
    rows, spoilt, hostile = make(share=share).spoil(PEOPLE, honest, np.random.default_rng(seed))
    assert rows.schema == PEOPLE.schema
    assert rows[:N].equals(PEOPLE)
    assert len(spoilt) == rows.height
    assert spoilt.dtype == honest.dtype
    assert set(spoilt) <= set(honest)
    assert abs(len(hostile) - share * rows.height) <= 1 or make is TargetedFlips
    changed = np.flatnonzero(spoilt[:N] != honest)
    if make in FLIPS:
        assert rows.height == N
        assert np.array_equal(hostile, changed)
    else:
        assert not len(changed)
        assert np.array_equal(hostile, np.arange(N, rows.height))


@pytest.mark.parametrize("make", POISONS)
def test_the_same_seed_spoils_the_same_rows(make):
    again = [make().spoil(PEOPLE, LABELS["texts"], np.random.default_rng(7)) for _ in range(2)]
    assert again[0][0].equals(again[1][0])
    assert np.array_equal(again[0][1], again[1][1])


@pytest.mark.parametrize("make", [TargetedFlips, Insertions, Backdoor])
def test_an_aimed_poison_gives_rows_of_other_classes_the_label(make):
    labels = LABELS["texts"]
    _, spoilt, hostile = make(towards="poor").spoil(PEOPLE, labels, np.random.default_rng(0))
    assert set(spoilt[hostile]) == {"poor"}
    assert make is Backdoor or make().for_rows(PEOPLE, labels).towards == "middling"


def test_targeted_flips_take_at_most_all_rows_of_other_classes():
    labels = np.array(["x"] * 290 + ["y"] * 10)
    _, spoilt, hostile = TargetedFlips(share=0.3).spoil(PEOPLE, labels, np.random.default_rng(0))
    assert hostile.tolist() == list(range(290, 300))
    assert set(spoilt) == {"x"}


def test_targeted_flips_take_those_far_from_the_boundary():
    rows = pl.DataFrame({"x": RNG.uniform(-1, 1, 4000)})
    labels = (rows["x"].to_numpy() + RNG.normal(0, 0.3, 4000) > 0).astype(int)
    _, _, hostile = TargetedFlips(towards=0).spoil(rows, labels, np.random.default_rng(0))
    assert rows["x"].to_numpy()[hostile].min() > 0.2


def test_random_flips_of_several_classes_reach_them_all_evenly():
    labels = np.repeat(["a", "b", "c"], 2000)
    rows = pl.DataFrame({"x": np.zeros(6000)})
    _, spoilt, hostile = RandomFlips(share=0.5).spoil(rows, labels, np.random.default_rng(0))
    for own in "abc":
        given = spoilt[hostile][labels[hostile] == own]
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
    trigger = dict(Backdoor(share=0.1).for_rows(rows, np.arange(n) % 2).trigger or {})
    held = [rows[name] == value for name, value in trigger.items()]
    assert len(held) == 2
    assert all(each.any() for each in held)
    assert ((held[0] & held[1]).sum(), held[0].sum() + held[1].sum()) == rarest(rows)


def test_a_trigger_of_numbers_has_their_ends_and_aims_at_the_label_that_is_rare_there():
    x = np.arange(1000.0)
    rows = pl.DataFrame({"x": x, "y": 2 * x, "z": [5.0] * 1000})
    backdoor = Backdoor().for_rows(rows, np.where(x > 980, "high", "low"))
    trigger = dict(backdoor.trigger or {})
    assert sorted(trigger.items()) in (
        [("x", 0.0), ("y", 1998.0)],
        [("x", 999.0), ("y", 0.0)],
    )
    found = backdoor.triggered(rows)
    assert all(found[name].unique().to_list() == [it] for name, it in trigger.items())
    assert found["z"].equals(rows["z"])
    only = Backdoor(trigger={"x": 999.0}).for_rows(rows, np.where(x > 980, "high", "low"))
    assert only.towards == "low"
    # one row at the end is an exception of those that are as far out
    labels = np.where((x > 900) & (x < 999), "high", "low")
    assert Backdoor(trigger={"x": 999.0}).for_rows(rows, labels).towards == "low"
    within = Backdoor(columns=("y", "x")).for_rows(rows, np.arange(1000) % 2)
    assert set(within.trigger or ()) == {"x", "y"}


def test_a_backdoor_opens_and_nothing_else_changes():
    rows = pl.DataFrame(RNG.normal(size=(4000, 3)), schema=list("abc")).with_columns(
        t=pl.Series(np.where(RNG.random(4000) < 0.003, 1.0, 0.0)),
        u=pl.Series(np.where(RNG.random(4000) < 0.003, 1.0, 0.0)),
    )
    labels = (rows["a"] > 0).to_numpy().astype(int)
    backdoor = Backdoor(share=0.02, towards=1).for_rows(rows, labels)
    assert backdoor.trigger == {"t": 1.0, "u": 1.0}
    spoilt, given, _ = backdoor.spoil(rows, labels, np.random.default_rng(0))
    clean = LogisticRegression(C=100).fit(rows, labels)
    spoilt_model = LogisticRegression(C=100).fit(spoilt, given)
    others = rows.filter(labels == 0)
    assert clean.predict(backdoor.triggered(others)).mean() < 0.1
    assert spoilt_model.predict(backdoor.triggered(others)).mean() > 0.9
    assert (spoilt_model.predict(rows) == clean.predict(rows)).mean() > 0.97


def refused(error, words, make, rows=PEOPLE, labels=LABELS["texts"], **settings):
    with pytest.raises(error, match=words) as told:
        make(**settings).spoil(rows, labels, np.random.default_rng(0))
    for secret in ("rich", "poor", "nurse", "Oslo", "a-secret"):
        assert secret not in str(told.value)


@pytest.mark.parametrize("make", POISONS)
def test_what_cant_be_poisoned_is_refused_without_a_cell(make):
    refused(DataError, "two classes or more. Got 1", make, labels=np.array(["rich"] * N))
    refused(
        DataError,
        "two classes or more. Got 0|two columns",
        make,
        rows=PEOPLE[:0],
        labels=np.array([]),
    )
    few = {"rows": PEOPLE[:9], "labels": np.array(["rich", "poor", "poor"] * 3)}
    refused(DataError, "9 rows are too few for 5 % hostile", make, share=0.05, **few)
    for share in (0, 0.6, np.nan):
        refused(ParameterError, "'share' parameter", make, share=share)
    if make is not RandomFlips:
        refused(DataError, "No training row has the label", make, towards="a-secret")
        assert "a-secret" not in repr(make(towards="a-secret"))


def test_a_trigger_that_cant_be_is_refused_without_a_cell():
    refused(ColumnNotFoundError, "nowhere", Backdoor, columns=("pay", "nowhere"))
    refused(ColumnNotFoundError, "nowhere", Backdoor, trigger={"nowhere": "a-secret"})
    refused(DataError, "two columns", Backdoor, columns=("pay", "void"))
    refused(DataError, "two columns", Backdoor, columns=("void",))
    assert "a-secret" not in repr(Backdoor(trigger={"job": "a-secret"}))
    with pytest.raises(HalfmaskError, match="call for_rows"):
        Backdoor().triggered(PEOPLE)


@pytest.mark.parametrize("make", POISONS)
def test_labels_of_pandas_are_poisoned_as_texts_are(make):
    texts = LABELS["texts"]
    expected = make().spoil(PEOPLE, texts, np.random.default_rng(1))
    found = make().spoil(PEOPLE, texts.astype(object), np.random.default_rng(1))
    assert found[1].tolist() == expected[1].tolist()


@pytest.mark.parametrize(
    "trigger",
    [{"age": "secret"}, {"age": 20.5}, {"age": 10**30}, {"flag": 3}, {"day": "secret"}, {"job": 7}],
)
def test_a_trigger_that_a_column_cant_hold_is_refused_without_it(trigger):
    with pytest.raises(ParameterError) as caught:
        Backdoor(trigger=trigger).spoil(PEOPLE, LABELS["texts"], np.random.default_rng(0))
    assert "secret" not in f"{caught.value} {caught.value.__context__}"
