"""Representatives: of their class, and together distributed as the rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.stats import ks_2samp

from halfmask._errors import ParameterError
from halfmask.training import REPRESENTATIVES
from halfmask.training._representatives import (
    CHOSEN,
    alike,
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


FEW = st.sampled_from([-1.5, -0.0, 0.0, 0.1, 1.0, 1e300])


def ranks(values):
    """Return each row's place among the different ones, by Python's own order of tuples."""
    rows = [tuple(row) for row in values.tolist()]
    places = {row: place for place, row in enumerate(sorted(set(rows)))}
    return [places[row] for row in rows]


@given(arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=12), elements=FEW))
def test_rows_are_numbered_in_their_order(values):
    assert alike(values).tolist() == ranks(values)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [1, 7, 64, 221])
def test_many_rows_of_many_columns_are_numbered_however_they_lie_in_memory(columns):
    rng = np.random.default_rng(columns)
    different = rng.normal(size=(50, columns)) * 10.0 ** rng.integers(-8, 8, size=columns)
    values = different[rng.integers(50, size=5_003)]
    assert alike(values).tolist() == ranks(values)
    assert alike(np.asfortranarray(values)).tolist() == ranks(values)


class Nothing:
    """Draws weights that tell no rows apart."""

    @staticmethod
    def standard_normal(size):
        return np.zeros(size)


class ByPlace:
    """Weights that give each row a sum of its own, whatever it holds."""

    __array_ufunc__ = None

    @staticmethod
    def standard_normal(_size):
        return ByPlace()

    def __rmatmul__(self, values):
        return np.arange(len(values), dtype=float)


@given(arrays(np.float64, (9, 2), elements=FEW))
def test_equal_rows_of_different_sums_are_brought_together(values):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np.random, "default_rng", lambda _seed: ByPlace())
        assert alike(values).tolist() == ranks(values)


@given(arrays(np.float64, (9, 2), elements=FEW))
def test_different_rows_of_one_sum_are_still_told_apart(values):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np.random, "default_rng", lambda _seed: Nothing())
        assert alike(values).tolist() == ranks(values)


def test_what_is_not_a_number_is_like_nothing():
    values = np.array([[np.nan, 1.0], [np.nan, 1.0], [2.0, 1.0], [2.0, 1.0]])
    found = alike(values)
    assert found[2] == found[3]
    assert len(set(found.tolist())) == 3


def test_infinite_rows_are_told_apart():
    values = np.array([[np.inf, 1.0], [-np.inf, np.inf], [np.inf, 1.0], [0.0, 1.0]])
    assert alike(values).tolist() == ranks(values)
