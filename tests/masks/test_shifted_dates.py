"""Dates shifted by person: intervals kept, shifts keyed and never zero."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError, SchemaError
from halfmask.data import open_table
from halfmask.masks import KeyedTokens, ShiftedDates, mask_table
from masks.masking import KEY  # type: ignore[import-not-found] # beside, not in a package

MASK = ShiftedDates(columns=("came", "left"), person="id", max_days=100)
DATES = st.dates(dt.date(1800, 1, 1), dt.date(2200, 1, 1))


def moved(table, mask=MASK, key=KEY):
    return mask.fit(table.clear(), key).apply(table, 0)


def stays(rows):
    schema = {"id": pl.Int64, "came": pl.Date, "left": pl.Date}
    return pl.DataFrame(rows, schema=schema, orient="row")


@pytest.mark.slow
@settings(deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 3), st.none() | DATES, st.none() | DATES), min_size=1, max_size=20
    )
)
def test_all_dates_of_a_person_move_by_the_same_days(rows):
    """In both columns and all rows, by 1 to 100 days; missing cells stay missing."""
    found = moved(stays(rows)).rows()

    shifts: dict[int, set[int]] = {}
    for (person, *dates), after in zip(rows, found, strict=True):
        for one, other in zip(dates, after, strict=True):
            assert (one is None) == (other is None)
            if one is not None:
                shifts.setdefault(person, set()).add((other - one).days)
    assert all(len(it) == 1 for it in shifts.values())
    assert all(1 <= abs(it) <= 100 for each in shifts.values() for it in each)


def test_each_number_of_days_has_the_same_chance():
    """A chi-squared test of 60,000 people over the six numbers of at most three days."""
    people = pl.DataFrame({"id": range(60_000), "came": [dt.date(2020, 1, 1)] * 60_000})
    mask = ShiftedDates(columns=("came",), person="id", max_days=3)

    days = (moved(people, mask)["came"] - people["came"]).dt.total_days()

    found = Counter(days.to_list())
    assert set(found) == {-3, -2, -1, 1, 2, 3}

    def distance(counts):
        return sum((it - 10_000) ** 2 / 10_000 for it in counts)

    assert distance(found.values()) < 25.7  # 0.9999 of chi-squared with five degrees
    # Power: where zero becomes one, one would be twice as frequent as the others of seven.
    biased = [60_000 / 7] * 5 + [120_000 / 7]
    assert distance(biased) > 1000


def test_batches_keys_and_domains():
    """A person moves the same in other batches, and tables of one domain."""
    visits = stays([(1, dt.date(2020, 1, 1), None), (2, None, dt.date(2021, 1, 1))])
    bills = pl.DataFrame({"who": ["1", "2"], "due": [dt.date(2020, 1, 1), dt.date(2021, 1, 1)]})

    def of(table, columns, person, key=KEY, **more):
        mask = ShiftedDates(columns=columns, person=person, max_days=100, **more)
        source = mask_table(open_table(table), {}, table_masks=[mask], key=key)
        whole = source.read()
        assert pl.concat(list(source.batches(1))).equals(whole)
        return whole.select(pl.max_horizontal(columns)).to_series().to_list()

    visiting = of(visits, ("came", "left"), "id", domain="patient")
    assert visiting == of(bills, ("due",), "who", domain="patient")
    others = [
        of(bills, ("due",), "who"),
        of(bills, ("due",), "who", domain="other"),
        of(bills, ("due",), "who", key=bytes(32), domain="patient"),
    ]
    assert visiting not in others


def test_times_keep_their_type_and_time_of_day():
    """With any unit and zone."""
    table = pl.DataFrame(
        {
            "id": ["a"],
            "ns": pl.Series(["2020-01-02T03:04:05.000678"]).str.to_datetime(time_unit="ns"),
            "ms": pl.Series(["2020-01-02T03:04:05"]).str.to_datetime(time_unit="ms"),
            "utc": pl.Series([dt.datetime(2020, 1, 2, 3, tzinfo=dt.UTC)]),
        }
    )
    mask = ShiftedDates(columns=("ns", "ms", "utc"), person="id", max_days=100)

    found = moved(table, mask)

    assert found.schema == {it: table.schema[it] for it in ("ns", "ms", "utc")}
    assert mask.written(table.schema) == dict(found.schema)
    for name in found.columns:
        assert found[name][0].time() == table[name][0].time()
    assert len({(found[it][0].date() - table[it][0].date()).days for it in found.columns}) == 1


def test_midnights_of_a_zone_stay_midnights():
    """Summer time is an hour ahead; the days between two dates stay."""
    days = pl.date_range(dt.date(2021, 1, 1), dt.date(2021, 12, 31), eager=True)
    midnights = days.cast(pl.Datetime("us")).dt.replace_time_zone("Europe/Berlin")
    table = pl.DataFrame({"id": "a", "came": midnights, "left": midnights})

    found = moved(table)["came"]

    assert found.dt.time().unique().to_list() == [dt.time()]
    assert (found.dt.date() - days).n_unique() == 1


@pytest.mark.parametrize(
    ("cell", "dtype"),
    [
        ("9999-12-31", pl.Date()),
        ("0001-01-01", pl.Date()),
        ("2262-04-11", pl.Datetime("ns")),
        ("1677-09-22", pl.Datetime("ns")),
    ],
)
def test_dates_that_would_leave_their_type_are_counted(cell, dtype):
    """9999-12-31 stands for "never" and would reveal the days; nanoseconds wrap around."""
    table = pl.DataFrame(
        {"id": range(50), "came": pl.Series([cell] * 50).str.to_date().cast(dtype)}
    )
    mask = ShiftedDates(columns=("came",), person="id", max_days=400)

    with pytest.raises(DataError, match=r"'came' has \d+ dates") as refused:
        moved(table, mask)
    assert cell[:4] not in str(refused.value)


def test_rows_without_a_person_are_counted():
    """Unless they have no dates."""
    table = stays([(None, dt.date(2020, 1, 1), None), (None, None, None), (1, None, None)])
    with pytest.raises(DataError, match="'id' is missing in 1 rows"):
        moved(table)
    assert moved(table.tail(2)).null_count().row(0) == (2, 2)


def test_columns_and_types_are_checked():
    """By name; categories stay out of messages."""
    with pytest.raises(SchemaError, match=r"'came'.*for dates") as refused:
        MASK.written({"id": pl.Int64(), "came": pl.Enum(["canary"]), "left": pl.Date()})
    assert "canary" not in str(refused.value)
    with pytest.raises(ColumnNotFoundError, match="left"):
        MASK.written({"id": pl.Int64(), "came": pl.Date()})
    with pytest.raises(SchemaError, match="'id' names a person"):
        MASK.written({"id": pl.List(pl.Int64()), "came": pl.Date(), "left": pl.Date()})


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_days": 0},
        {"max_days": 40_000},
        {"columns": ()},
        {"columns": ("id",)},
        {"scope": "planet"},
    ],
)
def test_parameters_are_checked(wrong):
    """When the policy is read."""
    given_ = {"columns": ("came",), "person": "id", "max_days": 10}
    with pytest.raises(ParameterError):
        ShiftedDates(**given_ | wrong)


def test_the_person_may_have_a_token_and_no_plan_shows_its_key():
    """Masks of single columns come first: a person is then known by the token."""
    table = stays([(1, dt.date(2020, 1, 1), None), (1, dt.date(2020, 2, 1), None)])
    found = mask_table(open_table(table), {"id": KeyedTokens()}, table_masks=[MASK], key=KEY).read()

    assert (found["came"][1] - found["came"][0]).days == 31
    assert "key" not in repr(MASK.fit(table.clear(), KEY))
