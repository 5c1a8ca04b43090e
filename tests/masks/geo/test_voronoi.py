"""Edges of Voronoi cells: as far from two places, and no place is nearer."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from halfmask._errors import DataError, ParameterError
from halfmask.geo import PointMap, Points
from halfmask.masks import VoronoiEdges

KEY = bytes(range(32))


def moved(table, unit="metres", **given):
    mask = VoronoiEdges(columns=("x", "y"), unit=unit, **given)
    return mask.fit(table, KEY).apply(table, 0)


def apart(one, other):
    return np.hypot(*(one[i].to_numpy()[:, None] - other[i].to_numpy()[None] for i in "xy"))


def town(n, seed):
    rng = np.random.default_rng(seed)
    size = rng.choice([5.0, 60, 4000], n)
    return pl.DataFrame({i: (rng.normal(0, 1, n) * size).round(2) for i in "xy"})


def test_homes_move_half_way_to_the_next_home():
    homes = town(700, 1)
    found = moved(homes)

    between = apart(homes, homes)
    between[between == 0] = np.inf
    away = np.hypot(*(found[i].to_numpy() - homes[i].to_numpy() for i in "xy"))
    assert np.allclose(away, between.min(axis=1) / 2, atol=0.01)


def test_points_are_as_far_from_two_addresses_and_further_from_all_others():
    """And no shorter way leads to such a spot: tried in 64 directions."""
    homes, addresses = town(300, 2), town(500, 3)
    points = Points(x=addresses["x"].to_numpy(), y=addresses["y"].to_numpy(), unit="metres")
    maps = {"all": PointMap(points=points, people=np.ones(500))}
    found = moved(homes, addresses="all", maps=maps)

    near = np.sort(apart(found, addresses), axis=1)
    assert np.allclose(near[:, 0], near[:, 1], atol=0.03)
    away = np.hypot(*(found[i].to_numpy() - homes[i].to_numpy() for i in "xy"))
    own = apart(homes, addresses).argmin(axis=1)
    for turn in np.linspace(0, 2 * np.pi, 64):
        shorter = np.maximum(away - 0.05, 0)
        spot = homes.select(
            x=pl.col("x") + shorter * np.cos(turn), y=pl.col("y") + shorter * np.sin(turn)
        )
        assert (apart(spot, addresses).argmin(axis=1) == own).all()


@pytest.mark.parametrize("centre", [(5.0, 52.0), (180.0, 10.0), (30.0, 89.999)])
def test_on_the_earth(centre):
    """Three homes about 100 m from each other, with longitudes that end, and at the pole."""
    start = Points(x=np.full(3, centre[0]), y=np.full(3, centre[1]))
    homes = start.moved(np.array([0.0, 100, 0]), np.array([0.0, 0, 300]))
    table = pl.DataFrame({"x": homes.x, "y": homes.y})
    found = moved(table, unit="degrees")

    spots = Points(x=found["x"].to_numpy(), y=found["y"].to_numpy())
    assert np.allclose(spots.metres_to(homes), [50, 50, 150], atol=0.05)
    assert spots.metres_to(spots.take(np.array([1, 0, 2])))[0] < 0.05


def test_one_place_and_areas_are_refused_and_missing_places_stay():
    table = pl.DataFrame({"x": [0.0, 0.0, None], "y": [0.0, 0.0, None]})

    with pytest.raises(DataError, match="two different places"):
        moved(table)
    assert moved(table[2:]).rows() == [(None, None)]
    with pytest.raises(ParameterError, match="no 'within'"):
        moved(table, within="areas")
