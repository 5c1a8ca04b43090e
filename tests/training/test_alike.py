"""Alike: rows that are equal, against sorting them whole and against sums that tell nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from halfmask.training._alike import alike

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
