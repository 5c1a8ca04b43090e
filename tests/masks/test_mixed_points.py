"""Distances of rows: standardized numbers, and Gower's distance of mixed columns."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from halfmask._errors import DataError
from halfmask.kernels.partition.blocks import distance
from halfmask.masks._mixed_points import MixedColumn, mixed_points, standard_points


def number(*cells):
    column = pl.Series("n", cells, strict=False)
    return MixedColumn.of(column, order=None, is_number=True, mask="m")


def category(*cells, order=None):
    return MixedColumn.of(pl.Series("c", cells), order=order, is_number=False, mask="m")


def gowers(points, a, b):
    return distance(points[a], points[b], True)


def test_numbers_are_standardized():
    points = standard_points([number(1, 2, 3, 6), number(10.0, 10.0, 10.0, 10.0)])

    assert np.allclose(points[:, 0], (np.array([1, 2, 3, 6]) - 3) / np.std([1, 2, 3, 6]))
    assert not points[:, 1].any()


def test_numbers_of_any_size_are_standardized():
    """Their squares would be too large, or nothing."""
    large, small = standard_points([number(1e300, -1e300), number(1e-300, -1e-300)]).T

    assert large.tolist() == [1.0, -1.0]
    assert small.tolist() == [1.0, -1.0]


def test_a_missing_number_is_three_deviations_away():
    points = standard_points([number(1.0, 3.0, 2.0, None, None)])

    assert distance(points[3], points[4], False) == 0
    assert distance(points[3], points[2], False) == 9
    assert distance(points[3], points[0], False) > 9


def test_gowers_distance_adds_shares_of_ranges_and_differences_of_categories():
    columns = [number(0, 5, 10), category("a", "b", "a"), category("l", "m", "h", order="lmh")]
    points, kinds = mixed_points(columns)

    assert gowers(points, 0, 1) == 0.5 + 1 + 0.5
    assert gowers(points, 0, 2) == 1 + 0 + 1
    assert kinds.averages.tolist() == [0, 2, 1]


def test_two_missing_cells_are_equal_and_one_is_as_far_as_can_be():
    columns = [
        number(0, 10, None, None),
        category("a", "b", None, None),
        category("l", "h", None, None, order="lmh"),
    ]
    points, _ = mixed_points(columns)

    assert gowers(points, 2, 3) == 0
    assert gowers(points, 0, 2) == 3
    assert gowers(points, 1, 2) == 3


def test_a_column_without_cells_is_equal_everywhere():
    points, _ = mixed_points([number(None, None), category(None, None)])

    assert gowers(points, 0, 1) == 0
    assert not standard_points([number(None, None)])[0, 0]


def test_values_outside_of_the_order_are_counted_and_not_shown():
    with pytest.raises(DataError, match="has 2 cells that its order") as caught:
        category("l", "canary", "canary", order="lmh")
    assert "canary" not in f"{caught.value} {caught.value.hint}"


def test_infinite_numbers_are_refused():
    with pytest.raises(DataError, match="'n' has infinite numbers"):
        number(1.0, float("inf"))


def test_the_representation_shows_no_cell():
    assert repr(category("canary", "canary")) == "MixedColumn('c', 'mode', 2 rows)"
