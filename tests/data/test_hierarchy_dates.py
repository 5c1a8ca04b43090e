"""Dates by ever coarser units, against the calendar of the standard library."""

from __future__ import annotations

import datetime as dt

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


@given(days)
def test_labels_are_those_of_the_calendar(values):
    units = ("day", "month", "quarter", "year", "decade")
    tree = Dates(levels=units).build(pl.Series(values), column="born")

    assert list(tree.leaves) == [day.isoformat() for day in sorted(values)]
    for level, unit in enumerate(units, start=1):
        assert list(tree.labels(level)) == [expected(day, unit) for day in sorted(values)]
    assert set(tree.labels(len(units) + 1)) == {"*"}


@given(days)
def test_weeks_are_those_of_iso_and_belong_to_the_month_of_their_thursday(values):
    tree = Dates(levels=("week", "month")).build(pl.Series(values), column="born")

    for day, week, month in zip(sorted(values), tree.labels(1), tree.labels(2), strict=True):
        year, number, weekday = day.isocalendar()
        thursday = day + dt.timedelta(days=4 - weekday)
        assert week == f"{year:04}-W{number:02}"
        assert month == thursday.isoformat()[:7]


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
