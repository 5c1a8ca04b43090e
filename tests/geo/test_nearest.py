"""People near points equal counts by brute force, on the earth and in a plane."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import DataError, SchemaError
from halfmask.geo import AreaMap, PointMap, Points
from halfmask.geo.nearest import Neighbours, k_by_areas


def on_line(*x):
    return Points(x=np.array(x, dtype=float), y=np.zeros(len(x)), unit="metres")


def at(*pairs, unit="metres"):
    return Points(
        x=np.array([float(x) for x, _ in pairs]), y=np.array([y for _, y in pairs]) * 1.0, unit=unit
    )


def spread(n, seed, *, unit="degrees", around=(5.0, 52.0)):
    """Return clustered points, so that boxes of the tree differ in size."""
    rng = np.random.default_rng(seed)
    size = rng.choice([0.001, 0.03, 0.5], n) * (1 if unit == "degrees" else 1e5)
    x, y = around[0] + rng.normal(0, 1, n) * size, around[1] + rng.normal(0, 1, n) * size
    if unit == "degrees":
        x, y = (x + 180) % 360 - 180, np.clip(y, -90, 90)
    return Points(x=x, y=y, unit=unit)


def straight(one, other):
    """Return straight lines between all points: the formula of WGS84 once more."""
    found = []
    for each in (one, other):
        if each.unit != "degrees":
            found.append(np.stack([each.x, each.y, 0 * each.x], axis=-1))
            continue
        lon, lat = np.deg2rad(each.x), np.deg2rad(each.y)
        e2 = 0.0066943799901413165
        n = 6378137 / np.sqrt(1 - e2 * np.sin(lat) ** 2)
        found.append(
            np.stack(
                [
                    n * np.cos(lat) * np.cos(lon),
                    n * np.cos(lat) * np.sin(lon),
                    n * (1 - e2) * np.sin(lat),
                ],
                axis=-1,
            )
        )
    return np.linalg.norm(found[0][:, None] - found[1][None], axis=2)


def test_actual_k_has_the_values_of_maskmypy_where_the_home_is_on_the_map():
    near = Neighbours(PointMap(points=on_line(0, 1, 2, 3, 4, 5, 7), people=np.ones(7)))
    assert near.actual_k(on_line(0, 0, 0), on_line(1, 2, 3)).tolist() == [3, 5, 6]
    # MaskMyPy adds the home to the addresses of the circle: 2 and 8. An address that isn't on the
    # map can be a geocoded home some metres off one that is: adding it would count it twice.
    assert near.actual_k(on_line(0, -7), on_line(-1, 0)).tolist() == [1, 7]
    whole = Neighbours(PointMap(points=on_line(-7, 0, 1, 2, 3, 4, 5, 7), people=np.ones(8)))
    assert whole.actual_k(on_line(-7), on_line(0)).tolist() == [8]


@pytest.mark.parametrize("around", [(5, 52), (180, -40), (0, 89.9), (30, -90)])
def test_k_of_2000_points_equals_a_count_by_brute_force(around):
    addresses, people = (
        spread(3000, 1, around=around),
        np.random.default_rng(2).integers(0, 4, 3000),
    )
    homes = addresses.take(np.random.default_rng(3).integers(0, 3000, 2000))
    east, north = np.random.default_rng(4).normal(0, 400, (2, 2000))
    masked = homes.moved(east, north)
    near = Neighbours(PointMap(points=addresses, people=people.astype(float)))
    apart = straight(masked, addresses)
    # Of the same numbers: no rounding between a home and its address.
    mine = np.array([straight(masked.take([i]), homes.take([i]))[0, 0] for i in range(2000)])
    counted = ((apart <= mine[:, None] * (1 + 1e-12)) * people).sum(axis=1)
    assert near.actual_k(homes, masked).tolist() == counted.tolist()
    assert len(set(counted.tolist())) > 100


@pytest.mark.parametrize("k", [1, 7, 2.5, 500])
def test_radius_to_k_people_is_the_smallest_that_has_them(k):
    addresses, homes = spread(2000, 5, unit="metres"), spread(300, 6, unit="metres")
    people = np.random.default_rng(7).choice([0, 1, 1, 2.5, 40], 2000)
    near = Neighbours(PointMap(points=addresses, people=people))
    found = near.radius_to(homes, k)
    apart = straight(homes, addresses)
    order = np.argsort(apart, axis=1, kind="stable")
    enough = (np.cumsum(people[order], axis=1) >= k).argmax(axis=1)
    assert np.allclose(found, np.take_along_axis(apart, order, 1)[range(300), enough], rtol=1e-12)
    assert (near.count_within(homes, found) >= k).all()
    assert (near.count_within(homes, found * (1 - 1e-9)) < k).all()


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(0, 3)), min_size=1),
    st.tuples(st.integers(-3, 3), st.integers(-3, 3)),
    st.integers(-1, 5),
    st.integers(0, 6),
    st.floats(0, 1, exclude_max=True),
)
def test_people_between_distances_equal_a_count_with_duplicates(given_, here, low, high, u):
    if not sum(each[2] for each in given_):
        return
    x, y, people = (np.array(it, dtype=float) for it in zip(*given_, strict=True))
    near = Neighbours(PointMap(points=Points(x=x, y=y, unit="metres"), people=people))
    found, chosen = near.between(at(here), low, high, np.array([u]))
    apart = np.hypot(x - here[0], y - here[1])
    within = (apart > low) & (apart <= high)
    assert found.tolist() == [people[within].sum()]
    assert (chosen[0] >= 0) == bool(people[within].sum())
    assert chosen[0] < 0 or (within[chosen[0]] and people[chosen[0]] > 0)


def test_each_person_between_two_distances_is_chosen_as_often():
    people = np.array([1.0, 2, 3, 50, 4])
    near = Neighbours(PointMap(points=on_line(0, 2, -3, 9, 4), people=people))
    homes = on_line(*[0] * 1000)
    _, chosen = near.between(homes, 0, 5, np.arange(1000) / 1000)
    counts = np.bincount(chosen, minlength=5)
    assert counts[[0, 3]].tolist() == [0, 0]
    assert np.allclose(counts[[1, 2, 4]], 1000 * np.array([2, 3, 4]) / 9, atol=1)


def test_missing_points_have_no_result_and_bad_maps_are_refused():
    near = Neighbours(PointMap(points=on_line(0, 1), people=np.ones(2)))
    assert np.isnan(near.radius_to(on_line(np.nan), 1)).all()
    assert np.isnan(near.count_within(on_line(np.nan), 1)).all()
    assert len(near.count_within(on_line(), 1)) == 0
    assert near.between(on_line(np.nan, 5), 0, 1, np.full(2, 0.5))[1].tolist() == [-1, -1]
    with pytest.raises(DataError, match="has 2 people, and k is 3"):
        near.radius_to(on_line(0), 3)
    with pytest.raises(DataError, match="no people"):
        Neighbours(PointMap(points=on_line(0, 1), people=np.zeros(2)))
    with pytest.raises(SchemaError, match="degrees and a map in metres"):
        near.count_within(at((5, 52), unit="degrees"), 10)
    assert repr(near) == "<Neighbours among 2 addresses>"


def test_points_in_kilometres_meet_addresses_in_metres():
    near = Neighbours(PointMap(points=on_line(0, 1000, 3000), people=np.ones(3)))
    here = Points(x=np.zeros(1), y=np.zeros(1), unit="kilometres")
    assert near.radius_to(here, 2).tolist() == [1000]
    assert near.count_within(here, 2999).tolist() == [2]


def squares(people, **more):
    boxes = [(0, 0, 1, 1), (0, -1, 1, 0), (-1, -1, 0, 0), (-1, 0, 0, 1)]
    shapes = np.array([shapely.box(*it) for it in boxes])
    names = pl.Series(list("abcd"))
    return AreaMap(names=names, shapes=shapes, unit="metres", people=people, **more)


def test_k_by_areas_shares_people_by_area():
    areas = squares(np.array([1.0, 10, 100, 1000]))
    homes, masked = (
        at((3, 0), (0, 1), (1, 0), (np.nan, np.nan)),
        at((0, 0), (-1, 1), (0, 0), (0, 0)),
    )
    found = k_by_areas(areas, homes, masked)
    expected = [1111, 1000 * np.pi / 4, 1111 * np.pi / 4]
    assert np.allclose(found[:3], expected, rtol=1e-3)
    assert found[0] == pytest.approx(1111)
    assert np.isnan(found[3])
    with pytest.raises(DataError, match="shapes and people"):
        k_by_areas(squares(None), homes, masked)


@pytest.mark.parametrize("centre", [(5, 52), (180, 10), (-179.99, -40), (30, 89.99), (7, -90)])
def test_k_by_areas_is_the_area_of_the_circle_where_people_live_evenly(centre):
    west, south = (it.ravel() for it in np.meshgrid(np.arange(-180, 180, 5), np.arange(-90, 90, 5)))
    sines = np.sin(np.deg2rad(south + 5)) - np.sin(np.deg2rad(south))
    areas = AreaMap(
        names=pl.Series(range(len(west))).cast(str),
        shapes=shapely.box(west, south, west + 5, south + 5),
        people=6371.0088**2 * np.deg2rad(5) * sines,
    )
    masked = at(centre, unit="degrees")
    homes = masked.moved(np.array([30_000.0]), np.array([40_000.0]))
    assert k_by_areas(areas, homes, masked)[0] == pytest.approx(np.pi * 50**2, rel=0.012)
