"""Places of others: real ones, within the radii, of another person, keyed, each as likely."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from halfmask._errors import DataError, ParameterError
from halfmask.geo import PointMap, Points
from halfmask.masks import LocationSwap

KEY = bytes(range(32))


def town(n=400, seed=1):
    """Return homes in degrees, some of them twice."""
    rng = np.random.default_rng(seed)
    x, y = 5 + rng.uniform(0, 0.04, n).round(5), 52 + rng.uniform(0, 0.02, n).round(5)
    return pl.DataFrame({"lon": np.append(x, x[:40]), "lat": np.append(y, y[:40])})


def swapped(table, key=KEY, **given):
    mask = LocationSwap(**{"columns": ("lon", "lat"), "radius": (100, 800), **given})
    return mask.fit(table, key).apply(table, 0)


def points_of(table, unit="degrees"):
    x, y = table.get_columns()[:2]
    return Points(x=x.to_numpy(), y=y.to_numpy(), unit=unit)


def test_each_place_is_another_one_of_the_table_between_the_radii():
    homes = town()
    found = swapped(homes)

    far = points_of(homes).metres_to(points_of(found))
    assert far.min() >= 100
    assert far.max() <= 800
    assert set(found.rows()) <= set(homes.rows())
    assert found[400:].rows() == found[:40].rows()
    assert swapped(homes, key=bytes(32)).rows() != found.rows()
    assert swapped(homes, radius=(100, 900)).rows() != found.rows()


def test_with_addresses_a_home_has_the_same_place_whatever_the_other_rows_are():
    places = town(900, seed=2)
    maps = {"homes": PointMap(points=points_of(places), people=np.ones(places.height))}
    homes = town()
    whole, part = (swapped(it, addresses="homes", maps=maps) for it in (homes, homes[100:150]))

    assert part.rows() == whole[100:150].rows()
    assert set(whole.rows()) <= set(places.rows())


def test_the_order_of_rows_and_of_addresses_chooses_nothing():
    """Two releases of one table in another order are no two draws."""
    homes, places = town(), town(900, seed=2)
    found = swapped(homes)
    assert swapped(homes.reverse()).reverse().rows() == found.rows()
    owned = homes.with_columns(p=pl.int_range(pl.len()) % 90)
    found = swapped(owned, person="p")
    assert swapped(owned.reverse(), person="p").reverse().rows() == found.rows()
    maps = (
        {"homes": PointMap(points=points_of(it), people=np.ones(it.height))}
        for it in (places, places.reverse())
    )
    one, other = (swapped(homes, addresses="homes", maps=it) for it in maps)
    assert one.rows() == other.rows()


def test_each_person_nearby_has_the_same_chance():
    maps = {
        "homes": PointMap(
            points=Points(x=np.array([0.0, 200, -300, 2000]), y=np.zeros(4), unit="metres"),
            people=np.array([5.0, 1, 3, 9]),
        )
    }
    table = pl.DataFrame({"x": [0.0] * 4000, "y": [0.0] * 4000, "id": range(4000)})
    given = {"columns": ("x", "y"), "unit": "metres", "addresses": "homes", "maps": maps}
    found = swapped(table, person="id", **given)["x"].value_counts()

    counts = dict(found.iter_rows())
    assert set(counts) == {200.0, -300.0}
    assert abs(counts[200.0] - 1000) < 5.5 * (4000 * 0.25 * 0.75) ** 0.5


def test_nobody_gets_a_place_of_their_own():
    """Two homes of one person, and one other: always the other."""
    table = pl.DataFrame({"x": [0.0, 10, 20] * 9, "y": [k * 1e4 for k in range(9) for _ in "abc"]})
    table = table.with_columns(id=pl.Series([f"{k}{'aab'[i]}" for k in range(9) for i in range(3)]))
    found = swapped(table, columns=("x", "y"), unit="metres", radius=(0, 50), person="id")

    assert found["x"].to_list()[0::3] == found["x"].to_list()[1::3] == [20.0] * 9


def test_places_alone_are_counted_and_missing_ones_stay_missing():
    table = pl.DataFrame({"x": [0.0, 200, 9000, None], "y": [0.0, 0, 0, None]})
    given = {"columns": ("x", "y"), "unit": "metres"}

    with pytest.raises(DataError, match="1 of 3 places have no other one from 100 to 800 metres"):
        swapped(table, **given)
    assert swapped(table[[0, 1, 3]], **given).rows() == [(200, 0), (0, 0), (None, None)]
    assert swapped(table[[3, 3]], **given).rows() == [(None, None)] * 2
    near = swapped(table[[0, 1, 3]], **given, radius=(0, 800))  # its own place is at 0
    assert near.rows() == [(200, 0), (0, 0), (None, None)]
    with pytest.raises(DataError, match="no people"):
        swapped(
            table,
            **given,
            addresses="none",
            maps={"none": PointMap(points=points_of(table[:2], "metres"), people=np.zeros(2))},
        )
    with pytest.raises(ParameterError, match="'radius'"):
        swapped(table, **given, radius=(800, 100))
    with pytest.raises(ParameterError, match="the map 'homes', one PointMap"):
        swapped(table, **given, addresses="homes")
