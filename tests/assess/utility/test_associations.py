"""Covariances, correlations and Cramér's V, against polars and scipy pair by pair."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest
from scipy import stats

from halfmask._errors import ParameterError
from halfmask.assess.utility import (
    AssociationChange,
    correlation_change,
    covariance_change,
    cramers_v_change,
)


def gapped(seed: int, n: int = 200) -> np.ndarray:
    rng = np.random.default_rng(seed)
    table = rng.normal(1e6, 3, size=(n, 4)) @ rng.normal(size=(4, 4))
    table[rng.random(table.shape) < 0.1] = np.nan
    return table


def pairwise(table, i, j):
    both = ~np.isnan(table[:, i]) & ~np.isnan(table[:, j])
    return np.cov(table[both, i], table[both, j])


def test_correlations_are_over_rows_with_both_numbers():
    before, after = gapped(0), gapped(1)

    def r(table, i, j):
        matrix = pairwise(table, i, j)
        return matrix[0, 1] / np.sqrt(matrix[0, 0] * matrix[1, 1])

    apart = [abs(r(before, i, j) - r(after, i, j)) for i, j in combinations(range(4), 2)]
    found = correlation_change(before, after)
    assert found.pairs == 6
    assert (found.mean, found.largest) == pytest.approx((np.mean(apart), max(apart)))


def test_covariances_are_in_original_deviations():
    before, after = gapped(2), gapped(3)
    own = [np.nanvar(before[:, i], ddof=1) for i in range(4)]

    def c(table, i, j):
        return np.nanvar(table[:, i], ddof=1) if i == j else pairwise(table, i, j)[0, 1]

    apart = [
        abs(c(before, i, j) - c(after, i, j)) / np.sqrt(own[i] * own[j])
        for i, j in combinations_with_replacement(range(4), 2)
    ]
    found = covariance_change(before, after)
    assert (found.mean, found.largest) == pytest.approx((np.mean(apart), max(apart)))


def test_cramers_v_is_that_of_scipy():
    rng = np.random.default_rng(4)
    before = rng.integers(0, 3, size=(300, 3)).astype(float)
    after = before.copy()
    after[:, 0] = rng.permutation(after[:, 0])
    before[:, 1] = before[:, 0]

    def v(table, i, j):
        counts = stats.contingency.crosstab(table[:, i], table[:, j]).count
        return stats.contingency.association(counts, method="cramer")

    apart = [abs(v(before, i, j) - v(after, i, j)) for i, j in combinations(range(3), 2)]
    found = cramers_v_change(before, after)
    assert (found.mean, found.largest) == pytest.approx((np.mean(apart), max(apart)))
    assert max(apart) > 0.8


def test_equal_tables_don_t_differ():
    table = gapped(5)
    same = AssociationChange(pairs=6, mean=0.0, largest=0.0)
    assert correlation_change(table, table) == same
    assert covariance_change(table, table) == AssociationChange(pairs=10, mean=0.0, largest=0.0)


def test_constant_and_missing_columns_have_no_correlation():
    table = np.column_stack([np.arange(5.0), np.full(5, 0.1), np.full(5, np.nan)])

    assert correlation_change(table, table) == AssociationChange(pairs=0, mean=None, largest=None)
    assert cramers_v_change(table, table).pairs == 0


def test_no_columns_are_no_pairs_and_other_columns_are_refused():
    empty = np.empty((3, 0))
    assert correlation_change(empty, empty).pairs == 0
    for change in (correlation_change, covariance_change, cramers_v_change):
        with pytest.raises(ParameterError, match="same columns"):
            change(np.zeros((3, 1)), np.zeros((3, 2)))
