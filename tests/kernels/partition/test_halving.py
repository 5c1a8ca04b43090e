"""Runs of neighbours."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.kernels.partition.halving import halve


@given(
    st.integers(1, 300),
    st.integers(1, 3),
    st.integers(1, 7),
    st.integers(1, 7),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_runs_are_of_the_sizes_asked_for(n, n_columns, unit, units, capped, seed):
    points = np.random.default_rng(seed).integers(0, 5, size=(n, n_columns)).astype(float)
    order = np.arange(n)
    starts = halve(points, order, unit * units, unit, capped)
    sizes = np.diff(starts)

    assert sorted(order) == list(range(n))
    assert starts[0] == 0
    assert starts[-1] == n
    assert sizes.min() > 0
    assert sizes.max() <= unit * units
    assert not (sizes[:-1] % unit).any()


def test_halves_don_t_overlap_in_the_column_that_differs_most():
    rng = np.random.default_rng(1)
    points = np.column_stack([rng.normal(size=1000), rng.normal(size=1000) * 10])
    order = np.arange(1000)
    starts = halve(points, order, 500, 1, False)

    assert starts.tolist() == [0, 500, 1000]
    assert points[order[:500], 1].max() <= points[order[500:], 1].min()


def test_runs_without_a_unit_are_of_half_the_size_at_least():
    points = np.random.default_rng(2).normal(size=(10_007, 2))
    sizes = np.diff(halve(points, np.arange(10_007), 300, 1, False))

    assert sizes.min() >= 150


@pytest.mark.parametrize("capped", [False, True])
def test_equal_points_are_halved_too(capped):
    starts = halve(np.zeros((100, 2)), np.arange(100), 30, 1, capped)

    assert [b - a for a, b in itertools.pairwise(starts.tolist())] == [25, 25, 25, 25]
