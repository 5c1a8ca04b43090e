"""Donut: every direction and every spot of the ring alike, and addresses that are counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from halfmask._errors import DataError, ParameterError
from halfmask.geo import AreaMap, PointMap, Points
from halfmask.masks.geo._donut import Donut
from halfmask.masks.geo._gaussian import GaussianPoints

KEY = bytes(range(32))
N = 10_000
#: Of 10,000 bearings of MaskMyPy 1.1's donut, in 16 sectors; measured for the peer study.
MASKMYPY = [203, 586, 786, 920, 934, 820, 546, 179, 192, 554, 810, 941, 956, 826, 552, 195]


def moved(mask, x, y):
    """Return what is written for points, as two arrays."""
    table = pl.DataFrame(dict(zip(mask.columns, (x, y), strict=True)))
    return mask.fit(table, KEY).apply(table, 0).to_numpy().T


def donut(**given: Any) -> Donut:
    """Return a donut over x and y in metres."""
    usual = {"columns": ("x", "y"), "unit": "metres"}
    return Donut(**{**usual, **given})


def sectors(east, north):
    """Count bearings in 16 sectors."""
    turns = np.arctan2(east, north) / (2 * np.pi) % 1
    return np.bincount((turns * 16).astype(int), minlength=16)


def is_uniform(counts):
    """Return whether counts can be those of sectors with the same chance."""
    return stats.chisquare(counts).pvalue > 1e-6


@pytest.mark.parametrize("mask", [donut(radius=(100, 500)), GaussianPoints(
    columns=("x", "y"), unit="metres", sigma=300)])  # fmt: skip
def test_every_direction_has_the_same_chance(mask):
    """16 bearings; the peer's counts fail, and so do offsets of a square that are normalised."""
    x, y = np.arange(N, dtype=float), np.zeros(N)
    square = np.random.default_rng(1).uniform(-1, 1, (2, N))

    after = moved(mask, x, y)

    assert is_uniform(sectors(after[0] - x, after[1] - y))
    assert not is_uniform(MASKMYPY)
    assert not is_uniform(sectors(*(square / np.hypot(*square))))


@pytest.mark.parametrize(
    ("lon", "lat"), [(4.9, 52.4), (180.0, -17.0), (-180.0, 65.0), (0.0, 89.99)]
)
def test_directions_on_the_earth(lon, lat):
    """Where degrees of longitude are short, and where longitudes end."""
    lons = lon - (np.sign(lon) or 1) * np.linspace(0, 1e-3, N)
    mask = Donut(columns=("lon", "lat"), radius=(100, 500))

    after = moved(mask, lons, np.full(N, lat))

    assert np.abs(after[0]).max() <= 180
    colat, new = np.radians(90 - lat), np.radians(90 - after[1])
    turned = np.radians(after[0] - lons)
    # Great circles: bearing and distance by the sine and cosine rules.
    north = np.sin(colat) * np.cos(new) - np.cos(colat) * np.sin(new) * np.cos(turned)
    assert is_uniform(sectors(np.sin(new) * np.sin(turned), north))
    chord = np.sin((new - colat) / 2) ** 2 + np.sin(new) * np.sin(colat) * np.sin(turned / 2) ** 2
    far = 2 * 6_371_008.8 * np.arcsin(np.sqrt(chord))
    assert 98.8 < far.min() < 130
    assert 490 < far.max() < 506


def test_every_spot_of_the_ring_has_the_same_chance():
    """The mean square is half of a^2 + b^2, and the share within r is that of the areas."""
    x, y = np.arange(N, dtype=float), np.zeros(N)

    after = moved(donut(radius=(100, 500)), x, y)

    far = np.hypot(after[0] - x, after[1] - y)
    assert far.min() >= 100
    assert far.max() <= 500
    assert np.mean(far**2) == pytest.approx((100**2 + 500**2) / 2, rel=0.03)
    share = (far**2 - 100**2) / (500**2 - 100**2)
    assert stats.kstest(share, "uniform").pvalue > 1e-6
    assert stats.kstest((far - 100) / 400, "uniform").pvalue < 1e-6  # as of a uniform radius


@pytest.mark.parametrize("radius", [(0, 1), (500, 500), (0.001, 0.002)])
def test_rings_without_room_for_rounding(radius):
    after = moved(donut(radius=radius), np.arange(50.0), np.zeros(50))

    far = np.hypot(after[0] - np.arange(50.0), after[1])
    assert far.min() >= radius[0] - 0.01
    assert far.max() <= radius[1] + 0.01


def test_gaussian_steps_have_their_deviation():
    x, y = np.arange(N, dtype=float), np.zeros(N)
    mask = GaussianPoints(columns=("x", "y"), unit="metres", sigma=300)

    after = moved(mask, x, y)

    for step in (after[0] - x, after[1] - y):
        assert stats.kstest(step, "norm", args=(0, 300)).pvalue > 1e-6
        assert stats.kstest(step, "norm", args=(0, 360)).pvalue < 1e-6


@pytest.fixture(scope="module")
def town():
    """Two thousand homes, crowded in one corner, some at one point."""
    rng = np.random.default_rng(2)
    at = np.round(rng.gamma(2.0, 400.0, (2, 2000)), 1)
    at[:, 100:130] = at[:, :1]
    return at


def naive_k(homes, masked, addresses):
    """Count addresses at most as far from each masked point as its home is, one by one."""
    return [
        int((np.hypot(*(addresses - one[:, None])) <= np.hypot(*(one - home)) * (1 + 1e-9)).sum())
        for home, one in zip(homes.T, masked.T, strict=True)
    ]


def test_k_addresses_are_as_near_as_the_home(town):
    """Counted for 2,000 homes one by one; a radius alone would have fewer for some."""
    addresses = PointMap(points=Points(x=town[0], y=town[1], unit="metres"), people=np.ones(2000))
    by_k = donut(k=(5, 50), addresses="homes", maps={"homes": addresses})

    after = moved(by_k, *town)
    fixed = moved(donut(radius=(10, 60)), *town)

    assert min(naive_k(town, after, town)) >= 5
    assert min(naive_k(town, fixed, town)) < 5
    far = np.hypot(*(after - town))
    ordered = np.sort(np.hypot(*(town[:, :, None] - town[:, None])), axis=1)
    assert (far >= ordered[:, 4] - 0.01).all()
    assert (far <= ordered[:, 49] + 0.01).all()


def test_a_new_address_gives_another_bearing():
    """One bearing for two radii would show the line to the home, in two releases of one key."""
    bearings = []
    for extra in (50.0, 49.0):
        x = np.array([0.0, 10.0, -20.0, 30.0, extra])
        homes = PointMap(points=Points(x=x, y=np.zeros(5), unit="metres"), people=np.ones(5))
        by_k = donut(k=(2, 5), addresses="homes", maps={"homes": homes})
        bearings.append(np.arctan2(*moved(by_k, np.zeros(1), np.zeros(1))))

    assert abs(bearings[0] - bearings[1]) > 1e-3


def test_k_in_degrees_with_addresses_in_another_unit(town):
    """Kilometres of the map are metres of the table; degrees are neither."""
    km = Points(x=town[0] / 1000, y=town[1] / 1000, unit="kilometres")
    maps: Any = {"homes": PointMap(points=km, people=np.ones(2000))}

    after = moved(donut(k=(5, 50), addresses="homes", maps=maps), *town)

    assert min(naive_k(town, after, town)) >= 5
    degrees = Donut(columns=("lon", "lat"), k=(5, 50), addresses="homes", maps=maps)
    with pytest.raises(ValueError, match="in common"):
        moved(degrees, np.array([4.0]), np.array([52.0]))


def test_too_few_addresses():
    one = PointMap(points=Points(x=np.zeros(1), y=np.zeros(1), unit="metres"), people=np.ones(1))
    far = PointMap(
        points=Points(x=np.array([-9.0, 9.0]), y=np.zeros(2), unit="metres"), people=np.ones(2)
    )

    with pytest.raises(DataError, match="1 people, and k is 2"):
        moved(donut(k=(2, 3), addresses="a", maps={"a": one}), np.zeros(1), np.zeros(1))
    with pytest.raises(DataError, match=r"1 of 1 places .* asks for 2 addresses as near"):
        moved(donut(k=(2, 2), addresses="a", maps={"a": far}), np.zeros(1), np.zeros(1))


def squares(people=None):
    """Return two squares of a kilometre, side by side."""
    shapely = pytest.importorskip("shapely")
    shapes = np.array([shapely.box(0, 0, 1000, 1000), shapely.box(1000, 0, 2000, 1000)])
    counts = None if people is None else np.array(people, dtype=float)
    names = pl.Series(["west", "east"])
    return AreaMap(names=names, shapes=shapes, people=counts, unit="metres")


def test_within_an_area():
    """Near its border, too; all directions that stay are alike."""
    x = np.linspace(1, 1999, 400)
    y = np.full(400, 5.0)

    after = moved(donut(radius=(50, 200), within="land", maps={"land": squares()}), x, y)

    assert ((after[0] < 1000) == (x < 1000)).all()
    assert (after[1] >= 0).all()
    far = np.hypot(after[0] - x, after[1] - y)
    assert far.min() >= 50


def test_reach_brings_places_into_an_area_and_lets_none_out():
    """A home drawn 50 m off the coast is of the land, and nobody is moved into the sea."""
    land: Any = {"land": replace(squares(), reach=300.0)}
    x, y = np.linspace(20, 980, 200), np.full(200, -50.0)

    after = moved(donut(radius=(60, 250), within="land", maps=land), x, y)

    assert after[1].min() >= 0


def test_areas_in_which_no_place_is_found():
    mask = donut(radius=(3000, 4000), within="land", maps={"land": squares()})

    with pytest.raises(DataError, match=r"2 of 2 places .* the same area of 'land'"):
        moved(mask, np.array([5.0, 1500.0]), np.array([5.0, 5.0]))
    with pytest.raises(DataError, match="1 of 2 places lie in no area"):
        moved(mask, np.array([5.0, 2500.0]), np.array([5.0, 5.0]))
    points = PointMap(points=Points(x=np.zeros(1), y=np.zeros(1)), people=np.ones(1))
    with pytest.raises(ParameterError, match=r"one AreaMap\. Got a PointMap"):
        moved(donut(radius=(1, 2), within="land", maps={"land": points}), np.zeros(1), np.zeros(1))


def test_radii_by_density():
    """100 people a square kilometre: 50 live in a circle of 399 m, 200 in one of 798 m."""
    x, y = np.full(3000, 500.0) + np.arange(3000) / 1e4, np.full(3000, 500.0)
    maps: Any = {"towns": squares([100, 40_000])}

    thin = moved(donut(people=(50, 200), density="towns", maps=maps), x, y)
    dense = moved(donut(people=(50, 200), density="towns", maps=maps), x + 1000, y)

    for after, home, rate in ((thin, x, 100e-6), (dense, x + 1000, 0.04)):
        far = np.hypot(after[0] - home, after[1] - y)
        low, high = (np.sqrt(it / (np.pi * rate)) for it in (50, 200))
        assert low <= far.min() < 1.05 * low
        assert 0.95 * high < far.max() <= high


def test_where_nobody_lives():
    maps: Any = {"towns": squares([0, 10]), "bare": squares()}

    with pytest.raises(DataError, match="1 of 1 places lie where so few"):
        moved(donut(people=(5, 9), density="towns", maps=maps), np.zeros(1), np.zeros(1))
    with pytest.raises(ParameterError, match="has no people"):
        moved(donut(people=(5, 9), density="bare", maps=maps), np.zeros(1), np.zeros(1))
