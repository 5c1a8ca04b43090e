"""The best groups of sorted numbers, beside all ways there are and a naive program."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.kernels.partition.univariate import sorted_groups


def error(values):
    """The squared error of a group, exactly."""
    exact = [Fraction(value) for value in values]
    mean = sum(exact) / len(exact)
    return sum((value - mean) ** 2 for value in exact)


def error_of(values, group):
    return sum(error(values[group == g]) for g in range(group.max() + 1))


def least_of_all_ways(values, k):
    """Look at every way to cut the numbers into runs of k and more."""
    if len(values) < 2 * k:
        return error(values)
    cut = (
        error(values[:size]) + least_of_all_ways(values[size:], k)
        for size in range(k, len(values) - k + 1)
    )
    return min(error(values), *cut)


def least_by_a_table(values, k):
    """Dynamic programming over all runs, each error summed from its definition."""
    least = {0: 0.0}
    for stop in range(k, len(values) + 1):
        least[stop] = min(
            least[start] + float(((values[start:stop] - values[start:stop].mean()) ** 2).sum())
            for start in range(stop - k + 1)
            if start in least
        )
    return least[len(values)]


whole = st.lists(st.integers(-30, 30), min_size=2, max_size=11)


@given(whole, st.integers(2, 4))
def test_no_way_to_cut_has_less_error(values, k):
    k = min(k, len(values))
    values = np.sort(np.array(values, dtype=float))
    group = sorted_groups(values, k)
    sizes = np.bincount(group)

    assert sizes.min() >= k
    assert sizes.max() < 2 * k
    assert (np.diff(group) >= 0).all()
    assert float(error_of(values, group)) == float(least_of_all_ways(values, k))


@pytest.mark.slow
@given(st.integers(2, 90), st.integers(2, 12), st.integers(0, 2**32 - 1))
def test_longer_lists_have_the_least_error_too(n, k, seed):
    k = min(k, n)
    values = np.sort(np.random.default_rng(seed).lognormal(0, 2, n))
    found = float(error_of(values, sorted_groups(values, k)))

    assert np.isclose(found, least_by_a_table(values, k), rtol=1e-9, atol=1e-12)


def test_large_numbers_that_differ_by_little_keep_their_digits():
    """Sums of squares near 1e18 would lose differences of 1."""
    values = 1e9 + np.array([0.0, 1.0, 10.0, 11.0, 20.0, 21.0])

    assert sorted_groups(values, 2).tolist() == [0, 0, 1, 1, 2, 2]


def test_a_greedy_cut_would_be_worse():
    """Groups of three from the left would tear 10, 11 and 12 apart."""
    values = np.array([1.0, 2.0, 3.0, 4.0, 10.0, 11.0, 12.0])

    assert sorted_groups(values, 3).tolist() == [0, 0, 0, 0, 1, 1, 1]
