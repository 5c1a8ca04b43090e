"""Spread: each class's point is of its values, and together they have the rows' distribution."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from halfmask.anonymize.training._points import medians
from halfmask.anonymize.training._spread import spread


@given(st.integers(0, 10_000))
def test_each_quasi_identifier_is_one_of_the_class(rows_of, seed):
    rows = rows_of(seed, n=60, n_classes=7)
    for cell, point in enumerate(spread(rows)):
        own = rows.encoded[rows.classes == cell]
        for part in rows.parts:
            assert (own[:, part] == point[part]).all(axis=1).any()


@pytest.mark.parametrize("column", [0, 1])
def test_together_they_are_spread_like_the_rows_and_medians_are_not(rows_of, column):
    rows = rows_of(0, n=2000, n_classes=200)

    def apart(points):
        return ks_2samp(points[:, column], rows.encoded[:, column]).statistic

    assert apart(spread(rows)) < 0.12
    assert apart(medians(rows)) > 0.2


def test_categories_have_their_shares(rows_of):
    rows = rows_of(1, n=1000, n_classes=100)
    shares = spread(rows)[:, 2:].mean(axis=0)
    assert shares == pytest.approx(rows.encoded[:, 2:].mean(axis=0), abs=0.08)


def test_classes_that_are_predicted_alike_are_spread_too(rows_of):
    """A third of the classes, those with the least predictions, has the same distribution."""
    rows = rows_of(2, n=1000, n_classes=100)
    least = np.argsort(rows.means(rows.guide)[:, -1])[:33]
    assert ks_2samp(spread(rows)[least, 0], rows.encoded[:, 0]).statistic < 0.2


def test_a_quasi_identifier_that_the_model_does_not_see_is_left_alone(rows_of):
    rows = replace(rows_of(4), parts=(np.array([0]), np.array([], dtype=np.int64)))
    assert np.isfinite(spread(rows)).all()
