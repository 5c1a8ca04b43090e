"""Overlap of confidence intervals, against scipy's regression and a loop."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from halfmask._errors import DataError, ParameterError
from halfmask.assess.utility import interval_overlap


def people(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)) * [1.0, 100.0, 0.01]
    return x, x @ [2.0, 0.03, -50.0] + rng.normal(size=n)


def naive_interval(x, y):
    """Return the interval of a slope by scipy's simple regression."""
    fit = stats.linregress(x, y)
    half = stats.t.ppf(0.975, len(x) - 2) * fit.stderr
    return fit.slope - half, fit.slope + half, fit.stderr, fit.slope


def test_one_slope_is_that_of_scipy():
    (x, y), (z, w) = people(80, 0), people(60, 1)
    before, after = naive_interval(x[:, 0], y), naive_interval(z[:, 0], w)
    shared = max(0.0, min(before[1], after[1]) - max(before[0], after[0]))
    expected = (shared / (before[1] - before[0]) + shared / (after[1] - after[0])) / 2

    found = interval_overlap((x[:, :1], y), (z[:, :1], w))

    assert found.mean == found.least == pytest.approx(expected)
    assert 0 < expected < 1
    assert found.shift == pytest.approx(abs(before[3] - after[3]) / before[2])
    assert (found.coefficients, found.rows, found.masked_rows) == (1, 80, 60)


def test_several_slopes_are_those_of_the_normal_equations():
    (x, y), (z, w) = people(90, 2), people(90, 3)

    def ends(features, target):
        design = np.column_stack([np.ones(len(features)), features])
        slopes, residue, *_ = np.linalg.lstsq(design, target, rcond=None)
        sigma = residue[0] / (len(features) - 4)
        errors = np.sqrt(sigma * np.diag(np.linalg.inv(design.T @ design)))
        half = stats.t.ppf(0.975, len(features) - 4) * errors
        return (slopes - half)[1:], (slopes + half)[1:]

    (low, high), (lower, higher) = ends(x, y), ends(z, w)
    shared = np.maximum(0, np.minimum(high, higher) - np.maximum(low, lower))
    expected = (shared / (high - low) + shared / (higher - lower)) / 2
    found = interval_overlap((x, y), (z, w))
    assert (found.mean, found.least) == pytest.approx((expected.mean(), expected.min()))


def test_equal_tables_overlap_wholly_and_more_noise_overlaps_less():
    x, y = people(500, 4)
    rng = np.random.default_rng(5)
    noise = rng.normal(size=x.shape) * x.std(axis=0)

    assert interval_overlap((x, y), (x, y)).mean == 1.0
    found = [interval_overlap((x, y), (x + size * noise, y)).mean for size in (0.05, 0.1, 0.2)]
    assert found[0] > found[1] > found[2]


def test_repeated_features_are_compared_once():
    x, y = people(50, 6)
    more = np.column_stack([x, x[:, 0] - 3, np.ones(50)])

    assert interval_overlap((more, y), (more, y)).coefficients == 3


def test_what_masking_made_constant_overlaps_by_nothing():
    x, y = people(50, 7)
    masked = x.copy()
    masked[:, 1] = 0.0

    found = interval_overlap((x, y), (masked, y))

    assert found.least == 0.0
    assert found.shift is None
    assert interval_overlap((x, y), (masked * np.nan, y)).mean == 0.0


def test_rows_with_missing_cells_are_left_out():
    x, y = people(50, 8)
    gapped = x.copy()
    gapped[:7, 0] = np.nan

    found = interval_overlap((gapped, y), (x[7:], y[7:]))

    assert found.mean == 1.0
    assert found.rows == 43


def test_what_can_not_be_fitted_is_refused():
    x, y = people(50, 9)
    with pytest.raises(ParameterError, match="same features"):
        interval_overlap((x, y), (x[:, :2], y))
    with pytest.raises(ParameterError, match="same rows"):
        interval_overlap((x, y[:-1]), (x, y))
    with pytest.raises(DataError, match="too few complete rows"):
        interval_overlap((x[:4], y[:4]), (x, y))
    with pytest.raises(DataError, match="no feature that varies"):
        interval_overlap((np.ones((9, 1)), y[:9]), (np.ones((9, 1)), y[:9]))
    with pytest.raises(ParameterError, match="confidence"):
        interval_overlap((x, y), (x, y), confidence=1.0)


def test_weights_are_used_on_each_side_and_refused_where_they_are_none():
    (x, y), (z, w) = people(80, 11), people(80, 12)
    sizes = np.random.default_rng(1).uniform(1, 9, 80)

    plain = interval_overlap((x, y), (z, w))
    found = interval_overlap((x, y), (z, w), weights=(sizes, sizes[::-1]))
    gaps = np.r_[np.nan, y[1:]]
    less = interval_overlap((x, gaps), (z, w), weights=(sizes, sizes))

    assert found.mean != pytest.approx(plain.mean, rel=1e-3)
    assert less.rows == 79
    with pytest.raises(ParameterError, match="above 0"):
        interval_overlap((x, y), (z, w), weights=(sizes, sizes - 5))


def test_a_fit_without_error_has_no_shift():
    x = [[float(i)] for i in range(6)]
    found = interval_overlap((x, [0.0] * 6), (x, [0.0] * 6))
    assert (found.mean, found.shift) == (1.0, None)
