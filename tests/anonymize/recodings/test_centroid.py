"""The middle of a class."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import polars as pl
import pytest

from halfmask._errors import ParameterError
from halfmask.anonymize import Centroid

MEAN, MEDIAN = Centroid(), Centroid(numeric="median")


def test_the_mean_of_numbers(write):
    assert write(MEAN, [1, 2, 6], [10], [1, 2]).to_list() == [3.0, 10.0, 1.5]


def test_the_lower_median_of_numbers(write):
    written = write(MEDIAN, [1, 2, 90], [4, 3, 1, 2], [10])

    assert written.to_list() == [2, 2, 10]
    assert written.dtype == pl.Int64


def test_missing_cells_do_not_count(write):
    assert write(MEAN, [1, None, 3], [None, None]).to_list() == [2.0, None]
    assert write(MEDIAN, [1, None, 3, None, None], [None]).to_list() == [1, None]


def test_the_mode_of_categories(write):
    written = write(MEAN, ["b", "a", "b"], ["c", None], [None], kind="categorical")

    assert written.to_list() == ["b", "c", None]


def test_of_two_modes_the_first_in_order_is_written(write):
    assert write(MEAN, ["b", "a"], ["c", "b", "c", "b"], kind="categorical").to_list() == ["a", "b"]
    assert write(MEDIAN, ["b", "a"], kind="categorical").to_list() == ["a"]


def test_the_mean_of_dates_is_a_date(write):
    days = [dt.date(2020, 1, 1), dt.date(2020, 1, 4)]

    written = write(MEAN, days, days[:1], kind="datetime")

    assert written.dtype == pl.Date
    assert written.to_list()[1] == days[0]
    assert days[0] < written.to_list()[0] < days[1]
    assert write(MEDIAN, days, kind="datetime").to_list() == days[:1]


def test_the_mean_of_times_of_day(write):
    assert write(MEAN, [dt.time(1), dt.time(3)], kind="datetime").to_list() == [dt.time(2)]


def test_the_mean_of_decimals_keeps_the_point(write):
    written = write(MEAN, [Decimal("1.10"), Decimal("1.30")], dtype=pl.Decimal(10, 2))

    assert written.to_list() == pytest.approx([1.2])


def test_large_integers_have_a_mean(write):
    assert write(MEAN, [2**62, 2**62 + 2**40]).to_list() == pytest.approx([2.0**62 + 2.0**39])


def test_another_middle_is_refused():
    with pytest.raises(ParameterError, match="numeric"):
        Centroid(numeric="mode")  # type: ignore[arg-type] # that is the point
