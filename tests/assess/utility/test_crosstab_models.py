"""Tests and regressions on tables: as other programs compute them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2_contingency

from crosstabs._tables import at, cells_of  # type: ignore[import-not-found] # of its own room
from halfmask._errors import ParameterError
from halfmask.assess.utility import crosstab_utility
from halfmask.crosstabs._pattern import PublishedCells

INNER = np.array([[12, 5, 9], [3, 14, 8]])


def published(cells, *, hidden=(), value=None):
    """Return cells with some hidden, or others than they are."""
    is_hidden = np.zeros(cells.n, dtype=bool)
    is_hidden[list(hidden)] = True
    shown = cells.value if value is None else value
    return PublishedCells(cells=cells, value=np.where(is_hidden, np.nan, shown), hidden=is_hidden)


def test_the_test_is_that_of_scipy():
    cells = cells_of(INNER, measure=None)
    found = crosstab_utility(published(cells), "t")
    expected = chi2_contingency(INNER, correction=False)
    assert found.test_before == found.test_after
    assert found.test_before is not None
    assert found.test_before.statistic == pytest.approx(expected.statistic)
    assert found.test_before.p_value == pytest.approx(expected.pvalue)
    assert found.test_before.degrees == expected.dof
    assert found.test_before.cramers_v == pytest.approx(np.sqrt(expected.statistic / INNER.sum()))
    assert (found.effects, found.lost, found.largest_difference) == (5, 0, 0.0)


def test_three_dimensions_are_tested_for_mutual_independence():
    inner = np.random.default_rng(0).poisson(8, (3, 2, 4))
    found = crosstab_utility(published(cells_of(inner, measure=None)), "t")
    expected = chi2_contingency(inner, correction=False)
    assert found.test_before is not None
    assert found.test_before.statistic == pytest.approx(expected.statistic)
    assert found.test_before.degrees == expected.dof
    assert found.test_before.cramers_v is None


def test_a_hidden_cell_leaves_quasi_independence():
    """The maximum of the likelihood over the cells that are published."""
    cells = cells_of(INNER, measure=None)
    found = crosstab_utility(published(cells, hidden=[at(cells, "a1", "b2")]), "t")
    used = np.ones(INNER.shape, dtype=bool)
    used[0, 1] = False

    def expected(effects):
        return np.exp(effects[0] + np.r_[0, effects[1]][:, None] + np.r_[0, effects[2:]][None, :])

    def loss(effects):
        return (expected(effects) - INNER * np.log(expected(effects)))[used].sum()

    best = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-10})
    fit = expected(best.x)
    assert found.test_after is not None
    assert found.test_after.degrees == 1
    statistic = ((INNER - fit) ** 2 / fit)[used].sum()
    assert found.test_after.statistic == pytest.approx(statistic, rel=1e-4)
    raw = np.log(INNER.sum(axis=0)) - np.log(INNER.sum(axis=0)).mean()
    own = np.r_[0, best.x[2:]]
    rows = np.log(INNER.sum(axis=1)) - np.log(INNER.sum(axis=1)).mean()
    own_rows = np.r_[0, best.x[1]] - best.x[1] / 2
    apart = np.abs(np.r_[rows - own_rows, raw - (own - own.mean())])
    assert found.largest_difference == pytest.approx(apart.max(), rel=1e-3)
    assert found.mean_difference == pytest.approx(apart.mean(), rel=1e-3)


def test_a_code_whose_cells_are_hidden_has_no_effect():
    cells = cells_of(INNER.astype(float))
    found = crosstab_utility(
        published(cells, hidden=[at(cells, "a1", "b2"), at(cells, "a2", "b2")]), "t"
    )
    assert (found.effects, found.lost) == (5, 1)
    assert found.test_before is None  # of sums
    assert found.to_dict()["change"]["hidden_cells"] == pytest.approx(2 / 12)


def test_tables_without_a_test():
    cells = cells_of(np.array([3, 4]), measure=None)
    found = crosstab_utility(published(cells), "t")
    assert (found.test_before, found.effects) == (None, 2)
    single = cells_of(np.array([[3]]), measure=None)
    found = crosstab_utility(published(single), "t")
    assert (found.test_before, found.lost) == (None, 0)
    with pytest.raises(ParameterError, match="no table 'x'"):
        crosstab_utility(published(cells), "x")
