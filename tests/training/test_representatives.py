"""Representatives: of their class, and together distributed as the rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from halfmask._errors import ParameterError
from halfmask.training import REPRESENTATIVES
from halfmask.training._representatives import (
    CHOSEN,
    centroids,
    quantile_spread,
    representative_named,
)


@given(st.integers(0, 10_000))
def test_a_centroid_is_the_mean_of_its_class(rows_of, seed):
    rows = rows_of(seed, n=60, n_classes=7)
    means = [rows.encoded[rows.classes == cell].mean(axis=0) for cell in range(7)]
    assert np.allclose(centroids(rows), [means])


@given(st.integers(0, 10_000))
def test_of_four_each_value_is_one_of_the_class(rows_of, seed):
    rows = rows_of(seed, n=60, n_classes=7)
    found = quantile_spread(rows)
    assert found.shape == (4, 7, 5)
    for cell in range(7):
        own = rows.encoded[rows.classes == cell]
        for point in found[:, cell]:
            for part in rows.parts:
                assert (own[:, part] == point[part]).all(axis=1).any()


@pytest.mark.parametrize("column", [0, 1])
def test_together_they_are_spread_like_the_rows_and_centroids_are_not(rows_of, column):
    rows = rows_of(0, n=2000, n_classes=200)

    def apart(points):
        values = points[:, :, column].ravel()
        return ks_2samp(values, rows.encoded[:, column]).statistic

    assert apart(quantile_spread(rows)) < 0.06
    assert apart(centroids(rows)) > 0.2


def test_categories_have_their_shares(rows_of):
    rows = rows_of(1, n=1000, n_classes=100)
    shares = quantile_spread(rows)[:, :, 2:].mean(axis=(0, 1))
    assert shares == pytest.approx(rows.encoded[:, 2:].mean(axis=0), abs=0.05)


def test_classes_that_are_predicted_alike_are_spread_too(rows_of):
    """A third of the classes, those with the least predictions, has the same distribution."""
    rows = rows_of(2, n=1000, n_classes=100)
    least = np.argsort(rows.means(rows.order[:, None])[:, 0])[:33]
    values = quantile_spread(rows)[:, least, 0].ravel()
    assert ks_2samp(values, rows.encoded[:, 0]).statistic < 0.15


def test_in_each_column_the_four_stand_at_equal_steps_of_the_class(rows_of):
    """Of 100 rows one value is in each quarter, wherever the quarter starts."""
    rows = replace(
        rows_of(0, n=496, n_classes=4),
        classes=np.repeat(np.arange(5), 100),
        encoded=np.random.default_rng(0).normal(size=(500, 5)),
        order=np.random.default_rng(1).random(500),
        parts=tuple(np.arange(5)[:, None]),
    )
    found = quantile_spread(rows)
    for cell in range(5):
        own = np.sort(rows.encoded[rows.classes == cell], axis=0)
        for column in range(5):
            ranks = np.sort(np.searchsorted(own[:, column], found[:, cell, column]))
            assert np.abs(np.diff(ranks) - 25).max() <= 1


def test_the_seed_decides_the_orders_of_columns(rows_of):
    rows = replace(rows_of(0), encoded=np.random.default_rng(0).normal(size=(44, 24)))
    rows = replace(rows, parts=tuple(np.arange(24)[:, None]))
    assert len({tuple(np.argsort(each)) for each in quantile_spread(rows)[:, 0].T}) > 6
    again, other = quantile_spread(rows), quantile_spread(replace(rows, seed=1))
    assert np.array_equal(again, quantile_spread(rows))
    assert not np.array_equal(again, other)


def test_a_quasi_identifier_that_the_model_does_not_see_is_left_alone(rows_of):
    rows = replace(rows_of(4), parts=(np.array([0]), np.array([], dtype=np.int64)))
    assert np.isfinite(quantile_spread(rows)).all()


@pytest.mark.parametrize("name", [*REPRESENTATIVES, CHOSEN])
def test_names_are_those_and_others_are_refused(name):
    assert representative_named(name) == name
    for wrong in (name.upper(), None, [name]):
        with pytest.raises(ParameterError, match="'representative' parameter"):
            representative_named(wrong)
