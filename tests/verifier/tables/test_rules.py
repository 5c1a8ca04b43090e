"""Levels of one class, by the papers' definitions written out for one class."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.verifier.tables._counting import ClassCells
from halfmask.verifier.tables._rules import (
    distinct_values,
    entropy_values,
    equal_distances,
    hierarchical_distances,
    ordered_distances,
    recursive_ratios,
)

M = 4
#: Counts of four values in each of some classes; no class is empty.
classes = st.lists(
    st.lists(st.integers(0, 6), min_size=M, max_size=M).filter(any), min_size=1, max_size=5
)


def cells_of(counts):
    table = np.array(counts)
    owners, values = np.nonzero(table)
    starts = np.searchsorted(owners, np.arange(len(counts) + 1))
    return ClassCells(starts, values, table[owners, values]), table.sum(axis=0)


@given(classes)
def test_diversity(counts):
    cells, _ = cells_of(counts)

    assert distinct_values(cells).tolist() == [sum(n > 0 for n in own) for own in counts]
    for own, level in zip(counts, entropy_values(cells), strict=True):
        shares = [n / sum(own) for n in own if n]
        assert level == pytest.approx(math.exp(-sum(p * math.log(p) for p in shares)))


@given(classes, st.integers(2, 5))
def test_recursive_ratios(counts, l):
    cells, _ = cells_of(counts)

    for own, ratio in zip(counts, recursive_ratios(cells, l), strict=True):
        falling = sorted(own, reverse=True)
        rest = sum(falling[l - 1 :])
        assert ratio == (falling[0] / rest if rest else math.inf)


@given(classes)
def test_distances_of_equal_and_ordered_values(counts):
    cells, totals = cells_of(counts)
    equal, ordered = equal_distances(cells, totals), ordered_distances(cells, totals)

    for i, own in enumerate(counts):
        gaps = [n / sum(own) - t / totals.sum() for n, t in zip(own, totals, strict=True)]
        assert equal[i] == pytest.approx(sum(map(abs, gaps)) / 2)
        steps = np.abs(np.cumsum(gaps))[:-1]
        assert ordered[i] == pytest.approx(steps.sum() / (M - 1), abs=1e-12)


@pytest.mark.slow
@given(classes)
def test_distances_in_a_tree_of_two_pairs(counts):
    """What a class has too much of in a pair climbs to the root, the rest half as high."""
    cells, totals = cells_of(counts)

    found = hierarchical_distances(cells, totals, [np.array([0, 0, 1, 1]), np.array([0, 0])])

    for i, own in enumerate(counts):
        gaps = [n / sum(own) - t / totals.sum() for n, t in zip(own, totals, strict=True)]
        pairs = [gaps[0] + gaps[1], gaps[2] + gaps[3]]
        equal = sum(map(abs, gaps)) / 2
        between = sum(map(abs, pairs)) / 2
        assert found[i] == pytest.approx((equal + between) / 2, abs=1e-12)


def test_one_value_has_no_distance():
    cells, totals = ClassCells(np.array([0, 1]), np.array([0]), np.array([3])), np.array([3])

    assert ordered_distances(cells, totals).tolist() == [0.0]
