"""Ends of trips: nothing is kept near them, and the hole doesn't show where they are."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask.data import open_table
from halfmask.geo import Points
from halfmask.masks import CoarsenedDates, Donut, KeyedTokens, TrimmedEnds, mask_table

KEY = bytes(range(32))


def trips(n=60, seed=1, around=(5.0, 52.0)):
    """Return trips of 20 people, each from the person's home to somewhere."""
    rng = np.random.default_rng(seed)
    rows = []
    for trip in range(n):
        person = trip % 20
        home = np.random.default_rng(person).normal(0, 3000, 2)
        way = np.linspace(home, home + rng.normal(0, 4000, 2), 40)
        if trip % 3 == 0:
            way = np.concatenate([way, way[::-1] + 5])
        rows += [(person, trip, i, *each) for i, each in enumerate(way)]
    table = pl.DataFrame(rows, schema=["who", "trip", "at", "east", "north"], orient="row")
    start = Points(x=np.full(len(rows), around[0]), y=np.full(len(rows), around[1]))
    points = start.moved(table["east"].to_numpy(), table["north"].to_numpy())
    return table.select("who", "trip", "at", lon=points.x, lat=points.y).sample(
        fraction=1, shuffle=True, seed=seed
    )


def kept(table, **given):
    usual = {"columns": ("lon", "lat"), "trip": "trip", "time": "at", "metres": 400}
    mask = TrimmedEnds(**{**usual, **given})
    return mask.fit(table.select(mask.reads), table.height, KEY).kept(0, table.height)


def far_from_ends(table, by):
    """Return for each row how far the nearest end of a trip of `by` is, by a plain loop."""
    points = Points(x=table["lon"].to_numpy(), y=table["lat"].to_numpy())
    times = table.select(
        is_end=(pl.col("at") == pl.col("at").min().over("trip"))
        | (pl.col("at") == pl.col("at").max().over("trip"))
    )["is_end"].to_numpy()
    whose, nearest = table[by].to_numpy(), np.full(table.height, np.inf)
    for end in np.flatnonzero(times):
        mine = np.flatnonzero(whose == whose[end])
        far = points.take(mine).metres_to(points.take(np.full(len(mine), end)))
        nearest[mine] = np.minimum(nearest[mine], far)
    return nearest


@pytest.mark.parametrize("around", [(5.0, 52.0), (180.0, 5.0), (0.0, 89.99)])
@pytest.mark.parametrize(("by", "given"), [("trip", {}), ("who", {"person": "who"})])
def test_rows_near_ends_are_dropped_and_far_ones_kept(around, by, given):
    table = trips(around=around)
    stays, far = kept(table, **given).to_numpy(), far_from_ends(table, by)

    assert not stays[far <= 400].any()
    assert stays[far > 400 * (2.5 if around[1] < 80 else 4)].all()
    assert 0.2 < stays.mean() < 0.9


def test_the_hole_is_the_same_for_all_ends_in_a_square():
    """So what is missing doesn't show where in the square the home is."""
    along = np.arange(-3000.0, 3000, 7)
    holes = []
    for home in [(10.0, 10.0), (390.0, 200.0), (250.0, 399.0)]:
        x = np.concatenate([[home[0]], along, [9e4]])
        y = np.concatenate([[home[1]], np.full(len(along), 111.0), [9e4]])
        table = pl.DataFrame({"x": x, "y": y, "trip": 1, "at": range(len(x))})
        stays = kept(table, columns=("x", "y"), unit="metres")
        holes.append(stays[1:-1].to_list())
    assert holes[0] == holes[1] == holes[2]
    assert 0 < sum(holes[0]) < len(along)


def test_a_person_is_trimmed_near_the_home_on_every_trip():
    table = pl.DataFrame(
        {
            "who": ["a"] * 6 + ["b"] * 3,
            "trip": [1, 1, 1, 2, 2, 2, 3, 3, 3],
            "at": [1, 2, 3] * 3,
            "x": [0.0, 3e3, 9e3, 5e4, 10.0, 7e4, 6e5, 10.0, 7e5],
            "y": [0.0] * 9,
        }
    )
    given = {"columns": ("x", "y"), "unit": "metres"}

    # The second trip of a passes the home, and so does that of b, whose home it isn't.
    by_trip = [False, True, False, False, True, False, False, True, False]
    by_person = [False, True, False, False, False, False, False, True, False]
    assert kept(table, **given).to_list() == by_trip
    assert kept(table, **given, person="who").to_list() == by_person


def test_rows_without_a_place_stay_and_rows_of_no_trip_are_an_error():
    table = pl.DataFrame(
        {"trip": [1, 1, 1], "at": [1, 2, 3], "lon": [None, 5.0, 5.1], "lat": [None, 52.0, 52.0]}
    )

    assert kept(table).to_list() == [True, False, False]
    with pytest.raises(DataError, match="2 rows have a place"):
        kept(table.with_columns(trip=pl.lit(None, dtype=pl.Int64)))
    with pytest.raises(DataError, match="1 rows have a place"):
        kept(table.with_columns(at=pl.Series([0.5, 1.5, float("nan")])))
    with pytest.raises(SchemaError, match="orders the rows of a trip"):
        kept(table.with_columns(pl.col("at").cast(str)))
    with pytest.raises(ParameterError, match="'metres'"):
        kept(table, metres=0)


def behind(table, masks, table_masks):
    return mask_table(open_table(table), masks, key=KEY, table_masks=table_masks).read()


def test_ends_are_those_of_raw_places_and_times():
    table = trips().with_columns(day=pl.from_epoch(pl.col("at"), time_unit="d"))
    donut = Donut(columns=("lon", "lat"), radius=(100, 500), person="who")
    mask = TrimmedEnds(columns=("lon", "lat"), trip="trip", time="at", metres=400)

    found = behind(table, {"trip": KeyedTokens()}, [mask, donut])
    assert found.height == kept(table).sum()
    assert not set(found["lon"]) & set(table["lon"])
    with pytest.raises(ParameterError, match="'lon', which the mask 'donut' has changed"):
        behind(table, {}, [donut, mask])
    by_day = TrimmedEnds(columns=("lon", "lat"), trip="trip", time="day", metres=400)
    with pytest.raises(ParameterError, match="'day', which the mask"):
        behind(table, {"day": CoarsenedDates(to="year")}, [by_day])
