"""Distances of rows: standardized numbers, and Gower's distance of mixed columns."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction
from statistics import median_low

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import DataError
from halfmask.kernels.partition.blocks import distance
from halfmask.masks._mixed_points import (
    MixedColumn,
    group_codes,
    group_means,
    mixed_points,
    standard_points,
)


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


groups = st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6), min_size=1)


def numbered(cells):
    return np.repeat(np.arange(len(cells)), [len(each) for each in cells])


def flat(cells):
    return [cell for each in cells for cell in each]


@pytest.mark.slow
@given(groups)
def test_means_of_integers_are_exact_and_rounded_half_to_even(cells):
    column = pl.Series("n", flat(cells), dtype=pl.Int64)

    found = group_means(column, numbered(cells), mask="m")

    assert found.dtype == pl.Int64
    assert found.to_list() == [round(Fraction(sum(each), len(each))) for each in cells]


@pytest.mark.slow
@given(groups)
def test_means_of_decimals_keep_the_last_place(cells):
    column = pl.Series("n", [Decimal(it).scaleb(-3) for it in flat(cells)], dtype=pl.Decimal(25, 3))

    found = group_means(column, numbered(cells), mask="m")

    assert found.dtype == pl.Decimal(25, 3)
    assert found.to_list() == [
        Decimal(round(Fraction(sum(each), len(each)))).scaleb(-3) for each in cells
    ]


@pytest.mark.parametrize(
    ("cells", "dtype", "mean"),
    [
        ([date(2020, 1, 1), date(2020, 1, 4)], pl.Date, date(2020, 1, 3)),
        (
            [datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 2, tzinfo=UTC)],
            pl.Datetime("ms", "UTC"),
            datetime(2020, 1, 1, 12, tzinfo=UTC),
        ),
        ([time(1), time(2)], pl.Time, time(1, 30)),
        ([2**64 - 1, 2**64 - 3], pl.UInt64, 2**64 - 2),
        ([-128, -127], pl.Int8, -128),
    ],
    ids=["date", "datetime", "time", "unsigned", "small"],
)
def test_means_have_the_type_of_the_column(cells, dtype, mean):
    column = pl.Series("n", [*cells, None], dtype=dtype)

    found = group_means(column, np.array([0, 0, 1]), mask="m")

    assert found.dtype == column.dtype
    assert found.to_list() == [mean, None]


@pytest.mark.slow
@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40), st.integers(1, 5))
def test_a_mean_of_floats_lies_between_the_ends_of_its_group(cells, n_groups):
    group = np.arange(len(cells)) % min(n_groups, len(cells))
    found = group_means(pl.Series("x", cells), group, mask="m").to_numpy()

    for g, mean in enumerate(found):
        own = np.array(cells)[group == g]
        assert own.min() <= mean <= own.max()
        assert np.isclose(mean, float(sum(map(Fraction, own.tolist())) / len(own)), atol=1e-6)
        assert not np.signbit(mean) or mean


def test_equal_floats_keep_their_digits():
    """0.1 + 0.1 + 0.1 is more than 0.3, and a third of it more than 0.1."""
    assert group_means(pl.Series("x", [0.1] * 3), np.zeros(3, int), mask="m").to_list() == [0.1]


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("pay", [1.7e308, 1.7e308]),
        pl.Series("pay", [Decimal("9e36")] * 2, dtype=pl.Decimal(38, 1)),
        pl.Series("pay", [-(2**125)] * 2, dtype=pl.Int128),
    ],
    ids=["float", "decimal", "whole"],
)
def test_a_sum_that_is_too_large_is_refused(column):
    with pytest.raises(DataError, match="'pay' has numbers whose sum") as caught:
        group_means(column, np.zeros(2, int), mask="microaggregation")
    assert not any(digit in str(caught.value) for digit in "179")


@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=7), min_size=1, max_size=6))
def test_codes_are_the_lower_median_or_the_first_of_the_most_frequent(cells):
    codes = np.array(flat(cells))

    middle = group_codes(codes, numbered(cells), is_ordered=True)
    frequent = group_codes(codes, numbered(cells), is_ordered=False)

    assert middle.tolist() == [median_low(each) for each in cells]
    assert frequent.tolist() == [max(sorted(set(each)), key=each.count) for each in cells]
