"""Dates by ever coarser units, against the calendar of the standard library."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import HierarchyError, ParameterError
from halfmask.data import Dates

days = st.lists(
    st.dates(dt.date(1, 1, 1), dt.date(9998, 12, 31)), min_size=1, max_size=8, unique=True
)


def expected(day, unit):
    return {
        "day": day.isoformat(),
        "month": day.isoformat()[:7],
        "quarter": f"{day.year:04}-Q{(day.month + 2) // 3}",
        "year": f"{day.year:04}",
        "decade": f"{day.year // 10 * 10:04}s",
    }[unit]


@pytest.mark.slow
@given(days)
def test_labels_are_those_of_the_calendar(values):
    units = ("day", "month", "quarter", "year", "decade")
    tree = Dates(levels=units).build(pl.Series(values), column="born")

    assert list(tree.leaves) == [day.isoformat() for day in sorted(values)]
    for level, unit in enumerate(units, start=1):
        assert list(tree.labels(level)) == [expected(day, unit) for day in sorted(values)]
    assert set(tree.labels(len(units) + 1)) == {"*"}


@pytest.mark.slow
@given(days)
def test_weeks_are_those_of_iso(values):
    tree = Dates(levels=("day", "week")).build(pl.Series(values), column="born")

    for day, week in zip(sorted(values), tree.labels(2), strict=True):
        year, number, _ = day.isocalendar()
        assert week == f"{year:04}-W{number:02}"


@pytest.mark.parametrize("above", ["month", "quarter", "year", "decade"])
def test_no_unit_stands_above_weeks(above):
    """29 February 2000 lies in the week of a Thursday in March."""
    with pytest.raises(ParameterError, match="weeks don't nest"):
        Dates(levels=("week", above))


def test_times_with_a_zone_have_the_day_of_its_clock():
    """Half past midnight in Berlin is the year before in UTC; a text states its own day."""
    berlin = ZoneInfo("Europe/Berlin")
    times = pl.Series(
        [dt.datetime(2021, 1, 1, 0, 30, tzinfo=berlin), dt.datetime(2021, 7, 1, tzinfo=berlin)]
    )
    for values in (times, times.cast(pl.String)):
        tree = Dates(levels=("day", "month", "year")).build(values, column="seen")

        assert [tree.labels(level) for level in (1, 2, 3)] == [
            ("2021-01-01", "2021-07-01"),
            ("2021-01", "2021-07"),
            ("2021", "2021"),
        ]


def test_text_is_read_in_the_declared_format():
    values = pl.Series(["03/01/2020", "12/31/2019"])

    tree = Dates(levels=("year",), format="%m/%d/%Y").build(values, column="visit")

    assert (tree.leaves, tree.labels(1)) == (("12/31/2019", "03/01/2020"), ("2019", "2020"))


@pytest.mark.parametrize("text", ["CANARY", "2020-02-30", "01/02/2020", "2020-01-01x"])
def test_a_text_that_is_no_date_is_counted_and_not_named(text):
    with pytest.raises(HierarchyError, match="'visit' has 1 values that are no dates") as error:
        Dates(levels=("year",)).build(pl.Series(["2020-01-01", text]), column="visit")
    assert text not in str(error.value)


@pytest.mark.parametrize(
    "levels", [(), "year", ("year", "month"), ("year", "year"), ("century",)], ids=str
)
def test_levels_grow_coarser(levels):
    with pytest.raises(ParameterError, match="levels"):
        Dates(levels=levels)
