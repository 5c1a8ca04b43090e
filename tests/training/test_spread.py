"""Spread: each class's point is of its values, and together they have the rows' distribution."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from halfmask.training._points import medians
from halfmask.training._spread import spread, spread_over


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


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_of_several_points_each_is_of_the_class_and_the_first_is_the_one(rows_of, seed, points):
    rows = rows_of(seed, n=60, n_classes=7)
    several = spread_over(rows, points, seed=seed)
    assert np.array_equal(several[0], spread(rows_of(seed, n=60, n_classes=7)))
    assert np.array_equal(several[0], spread(rows))
    assert several.shape == (points, 7, 5)
    for cell in range(7):
        own = rows.encoded[rows.classes == cell]
        for point in several[:, cell]:
            for part in rows.parts:
                assert (own[:, part] == point[part]).all(axis=1).any()


def test_points_that_are_remembered_stay_what_they_are_if_others_are_moved(rows_of):
    rows = rows_of(0, n=60, n_classes=7)
    several = spread_over(rows, 4, seed=0)
    first = several[0].copy()
    several += 1
    assert np.array_equal(spread(rows), first)
    moved = spread(rows)
    moved += 1
    assert np.array_equal(spread(rows), first)


def test_in_each_column_several_points_stand_at_equal_steps_of_the_class(rows_of):
    """Of 100 rows one point is in each quarter, wherever the quarter starts."""
    classes = np.repeat(np.arange(5), 100)
    rows = replace(
        rows_of(0, n=496, n_classes=4),
        classes=classes,
        encoded=np.random.default_rng(0).normal(size=(500, 5)),
        guide=np.random.default_rng(1).random((500, 1)),
        parts=tuple(np.arange(5)[:, None]),
    )
    several = spread_over(rows, 4, seed=3)
    for cell in range(5):
        own = np.sort(rows.encoded[classes == cell], axis=0)
        for column in range(5):
            ranks = np.sort(np.searchsorted(own[:, column], several[:, cell, column]))
            assert np.abs(np.diff(ranks) - 25).max() <= 1


def test_columns_of_several_points_take_their_steps_in_orders_of_their_own(rows_of):
    def orders(seed):
        rows = replace(rows_of(0), encoded=np.random.default_rng(0).normal(size=(44, 24)))
        rows = replace(rows, parts=tuple(np.arange(24)[:, None]))
        return {tuple(np.argsort(each)) for each in spread_over(rows, 4, seed=seed)[:, 0].T}

    assert len(orders(0)) > 6
    again = rows_of(0)
    drawn = [spread_over(again, 4, seed=seed) for seed in (0, 0, 1)]
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])
