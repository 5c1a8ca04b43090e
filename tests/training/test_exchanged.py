"""Exchanged labels: each class keeps its counts, and only what the guide is sure of moves."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from halfmask.training._exchanged import exchanged


def drawn(seed, n_labels, n=60, n_classes=4):
    rng = np.random.default_rng(seed)
    labels = np.array(["a", "b", "c"])[rng.permutation(np.arange(n) % n_labels)]
    guide = rng.dirichlet(np.ones(n_labels), size=n)
    return labels, rng.integers(n_classes, size=n), guide


@given(st.integers(0, 10_000), st.integers(2, 3), st.floats(0, 1))
def test_each_class_keeps_as_many_rows_of_each_label(seed, n_labels, sure):
    labels, classes, guide = drawn(seed, n_labels)
    found = exchanged(labels, classes, guide, sure=sure)
    assert found.dtype == labels.dtype
    for cell in range(4):
        assert sorted(found[classes == cell]) == sorted(labels[classes == cell])


@given(st.integers(0, 10_000))
def test_where_nothing_is_sure_enough_labels_stay(seed):
    labels, classes, guide = drawn(seed, 2)
    assert exchanged(labels, classes, guide, sure=1.0).tolist() == labels.tolist()


@given(st.integers(0, 10_000), st.floats(0, 0.9))
def test_no_pair_is_left_that_the_guide_would_exchange(seed, sure):
    labels, classes, guide = drawn(seed, 2)
    found = exchanged(labels, classes, guide, sure=sure)
    # an oracle that shares no code: rows that got "b" are likelier "b" than rows that didn't,
    # but for the head start of those that had it
    head_start = guide[:, 1] + sure * (labels == "b")
    for cell in range(4):
        got, others = (head_start[(classes == cell) & (found == each)] for each in "ba")
        if len(got) and len(others):
            assert got.min() >= others.max() - 1e-12


def test_two_rows_that_stand_the_wrong_way_round_are_exchanged():
    labels, classes = np.array([1, 0, 1, 0]), np.array([0, 0, 1, 1])
    likely = np.array([0.1, 0.9, 0.4, 0.6])
    guide = np.column_stack([1 - likely, likely])
    assert exchanged(labels, classes, guide).tolist() == [0, 1, 1, 0]


def test_a_guide_that_gives_no_probabilities_of_labels_exchanges_none():
    labels, classes = np.array([1, 0]), np.zeros(2, dtype=int)
    for guide in (np.array([[0.1], [0.9]]), np.array([[9.0, 0.1], [0.1, 9.0]])):
        assert exchanged(labels, classes, guide).tolist() == [1, 0]
