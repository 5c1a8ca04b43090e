"""The compiled loops beside online learning by the book."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from halfmask.hashing import HashedRows
from halfmask.trainer.learner import OnlineLearner
from trainer.learner.naive_online import (  # type: ignore[import-not-found] # beside, no package
    Naive,
)

BITS = 3
KINDS = list(
    itertools.product(
        ["logistic", "hinge", "squared", "quantile", "softmax"], ["sgd", "adagrad", "ftrl"]
    )
)


def numbers(low, high):
    return st.integers(low * 8, high * 8).map(lambda n: n / 8)


@st.composite
def batches(draw, loss, *, repeats=False):
    """Rows of up to four slots, maybe with values and weights."""
    n, with_values = draw(st.integers(1, 12)), draw(st.booleans())
    slot = st.integers(0, (1 << BITS) - 1)
    rows = draw(st.lists(st.lists(slot, max_size=4, unique=not repeats), min_size=n, max_size=n))
    values = [[draw(numbers(-3, 3)) for _ in row] for row in rows] if with_values else None
    label = {"squared": numbers(-4, 4), "quantile": numbers(-4, 4), "softmax": st.integers(0, 2)}
    labels = [draw(label.get(loss, st.integers(0, 1))) for _ in rows]
    weights = draw(
        st.none() | st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=n, max_size=n)
    )
    return rows, values, labels, weights


def hashed(loss, rows, values, labels, weights):
    flat = [slot for row in rows for slot in row]
    return HashedRows(
        indices=np.array(flat, np.uint32),
        indptr=np.cumsum([0, *map(len, rows)]).astype(np.int64),
        values=None if values is None else np.array([v for row in values for v in row], np.float32),
        labels=np.array(labels).astype("f4" if loss in ("squared", "quantile") else "i4"),
        weights=None if weights is None else np.array(weights, np.float32),
        classes=3 if loss == "softmax" else 2,
        bits=BITS,
    )


def both(loss, optimizer, batch, *, sabotage="", **more):
    """Learn by both; return their weights, and how near a kink of the loss any row came."""
    rows, values, labels, weights = batch
    classes = 3 if loss == "softmax" else 1
    given_settings = {"loss": loss, "optimizer": optimizer, "rate": 0.3, "tau": 0.3} | more
    naive = Naive(**given_settings, classes=classes, sabotage=sabotage)
    for i, row in enumerate(rows):
        naive.learn(
            row,
            None if values is None else values[i],
            labels[i],
            1.0 if weights is None else weights[i],
        )
    learner = OnlineLearner(**given_settings, classes=max(2, classes), bits=BITS)
    learner.learn(hashed(loss, *batch))
    ours = learner.weights.reshape(-1, classes)
    return ours, naive.weights(1 << BITS), naive.nearest


def same(ours, theirs):
    return np.allclose(ours, theirs, rtol=2e-4, atol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "optimizer"), KINDS)
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_weights_are_those_of_the_book(loss, optimizer, data):
    """Every loss and optimizer gives what dictionaries of 64 bits give, but for rounding."""
    batch = data.draw(batches(loss))
    more = {"invariant": data.draw(st.booleans()), "normalized": data.draw(st.booleans())}
    more["decay"] = data.draw(st.sampled_from([0.0, 0.5, 0.7, 1.0]))
    if optimizer == "ftrl":
        more |= {"l1": data.draw(st.sampled_from([0.0, 0.2])), "l2": 0.5}

    ours, theirs, nearest = both(loss, optimizer, batch, **more)

    # At a kink, rounding decides which side a row is on.
    assume(nearest > 1e-3)
    assert same(ours, theirs)


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad"])
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_a_slot_that_is_twice_in_a_row_counts_twice(optimizer, data):
    """Its values add up in the prediction, and it gets both updates."""
    rows, _, labels, _ = data.draw(batches("logistic", repeats=True))
    batch = ([row * 2 for row in rows], None, labels, None)
    naive = Naive(loss="logistic", optimizer=optimizer, rate=0.3)
    for row, label in zip(batch[0], labels, strict=True):
        naive.learn(row, None, label, 1.0)

    ours, _, _ = both("logistic", optimizer, batch)

    # The book's squares grow once for each; so do ours.
    assert same(ours, naive.weights(1 << BITS))


@pytest.mark.parametrize(
    ("optimizer", "sabotage"),
    [
        ("sgd", "no bias"),
        ("sgd", "half scaled"),
        ("adagrad", "no root"),
        ("adagrad", "late squares"),
        ("ftrl", "no sigma"),
    ],
)
@pytest.mark.parametrize("loss", ["logistic", "squared", "softmax"])
def test_a_wrong_update_would_be_seen(loss, optimizer, sabotage):
    """The comparison tells a learner from one that does a single thing wrongly."""
    rng = np.random.default_rng(5)
    rows = [rng.choice(8, 3, replace=False).tolist() for _ in range(20)]
    values = [rng.choice([-2.0, 0.5, 3.0], 3).tolist() for _ in rows]
    batch = (rows, values, rng.integers(0, 2, 20).tolist(), None)

    ours, theirs, _ = both(loss, optimizer, batch)
    _, broken, _ = both(loss, optimizer, batch, sabotage=sabotage)

    assert same(ours, theirs)
    assert not same(ours, broken)
