"""Cells hold the points that they are named after, nest, and are about as wide as they say."""

from __future__ import annotations

import itertools
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from halfmask._errors import DataError, HierarchyError, ParameterError, SchemaError
from halfmask.geo import Cells, PlaceRule, Points

LON = st.floats(-180, 180)
LAT = st.floats(-90, 90)


def points(*at, unit="degrees"):
    x, y = np.array(at, dtype=float).reshape(-1, 2).T
    return Points(x=x, y=y, unit=unit)


def edges(rule, label):
    x, y = np.array(rule.outline(label)["coordinates"][0]).T
    return x.min(), y.min(), x.max(), y.max()


@given(LON, LAT, st.sampled_from([(1, 10, 100), (0.25, 1), (500,), (3, 6, 2400)]))
@example(180, 12, (1, 10))
@example(-180, -90, (1, 10))
@example(12, 90, (1, 10))
def test_each_level_holds_the_point_and_the_level_below(lon, lat, widths):
    rule = Cells(widths)
    finest = rule.locate(points((lon, lat)))
    path = rule.build(finest, column="home").levels.row(0)

    assert path[0] == finest[0]
    assert path[-1] == "*"
    assert len(set(path)) == len(path)
    west, south, east, north = edges(rule, path[0])
    at_pole = abs(lat) == 90
    assert at_pole or west - 1e-7 <= (lon, -180)[lon > 180 - 1e-9] <= east + 1e-7
    assert south - 1e-7 <= lat <= north + 1e-7
    assert north <= 90 + 1e-9
    for inner, outer in itertools.pairwise(path[:-1]):
        inside, around = edges(rule, inner), edges(rule, outer)
        assert np.all(np.subtract(inside, around)[:2] >= -1e-9)
        assert np.all(np.subtract(around, inside)[2:] >= -1e-9)


@given(st.floats(-180, 180), st.floats(-85, 85), st.sampled_from([1, 10, 50]))
def test_cells_of_the_earth_are_as_high_and_about_as_wide_as_they_say(lon, lat, width):
    rule = Cells((width,))
    west, south, east, north = edges(rule, rule.locate(points((lon, lat)))[0])
    middle = (south + north) / 2
    across, up = points((west, middle), (west, south)).metres_to(
        points((east, middle), (west, north))
    )

    assert up == pytest.approx(width * 1000, rel=0.02)
    assert across == pytest.approx(width * 1000, rel=0.05)


@given(
    st.lists(st.tuples(st.integers(-(10**7), 10**7), st.integers(-(10**7), 10**7)), min_size=1),
    st.sampled_from(["metres", "kilometres"]),
)
def test_cells_of_a_plane_are_those_of_national_grids(at, unit):
    each = 1 if unit == "metres" else 1000
    rule = Cells((0.5, 1, 20), unit=unit)
    labels = rule.locate(points(*(np.array(at) / each), unit=unit))
    levels = rule.build(labels.unique(), column="home").levels

    for (x, y), label in zip(at, labels, strict=True):
        path = levels.filter(pl.col("0") == label).row(0)
        for level, km in enumerate((0.5, 1, 20)):
            side = int(1000 * km)
            left, below = (it // side * side for it in (x, y))
            assert path[level] == f"x={left / each:.12g} y={below / each:.12g} {km:g}km"


def test_longitudes_end_where_they_begin_and_poles_are_one_place():
    rule = Cells((1, 100))
    labels = rule.locate(points((180, 10), (-180, 10), (0, 90), (77, 90), (3, -90), (-3, -90)))
    hair = rule.locate(points((180 - 1e-12, 10), (-180 + 1e-12, 10)))

    assert {*labels[:2], *hair} == {labels[0]}
    assert labels[2] == labels[3]
    assert labels[4] == labels[5]
    assert labels.n_unique() == 3


def test_a_label_depends_on_its_point_alone_and_missing_points_stay_missing():
    rule = Cells((1,))
    home = rule.locate(points((4.9, 52.37)))[0]
    labels = rule.locate(points((math.nan, math.nan), (4.9, 52.37), (-70, -33), (4.9, 52.37)))

    assert labels.to_list() == [None, home, labels[2], home]
    assert rule.locate(points((math.nan, math.nan))).to_list() == [None]


def test_tenths_of_kilometres_begin_where_they_say():
    rule = Cells((0.1,), unit="kilometres")

    assert rule.locate(points((0.3, 0.7), unit="kilometres"))[0] == "x=0.3 y=0.7 0.1km"


@pytest.mark.parametrize("unit", ["degrees", "metres", "feet"])
def test_values_that_are_no_labels_are_counted_and_not_quoted(unit):
    rule = Cells((1, 10), unit=unit)
    known = rule.locate(points((4.9, 52.37), unit=unit))
    strange = ["CANARY", "52.000N 4.000E 1km", "x=1 y=1 1km", known[0].replace("1km", "10km"), ""]

    with pytest.raises(HierarchyError, match="has 5 values that are no cells") as refused:
        rule.build(pl.Series([known[0], *strange]), column="home")

    assert "CANARY" not in str(refused.value)
    assert rule.build(known, column="home").height == 4 - 1
    assert rule.outline("CANARY") is rule.outline("*") is None


@pytest.mark.parametrize(
    "widths", [(), (0,), (-1,), (10, 1), (1, 1), (2, 3), (1, math.inf), 5, ("1",), (30_000,)]
)
def test_widths_that_do_not_nest_are_refused(widths):
    with pytest.raises(ParameterError, match="'widths'"):
        Cells(widths)


def test_points_of_another_kind_or_beyond_all_counting_are_refused():
    assert isinstance(Cells((1,)), PlaceRule)
    with pytest.raises(SchemaError, match="have nothing in common"):
        Cells((1,)).locate(points((1, 2), unit="metres"))
    with pytest.raises(DataError, match="1 points are more than"):
        Cells((0.001,), unit="metres").locate(points((1, 1), (1e300, 1), unit="metres"))
    with pytest.raises(ParameterError, match="Cells needs points"):
        Cells((1,)).of_codes(pl.Series(["CANARY"]), column="home")


def test_outlines_are_on_the_earth_where_the_system_of_a_plane_is_known():
    pytest.importorskip("pyproj")
    rule = Cells((1,), unit="metres", crs="EPSG:28992")
    home = Points(x=np.array([155_100.0]), y=np.array([463_200.0]), unit="metres", crs="EPSG:28992")

    west, south, _, _ = edges(rule, rule.locate(home)[0])

    # Their corner is the origin of the Dutch grid: a church tower in Amersfoort.
    assert (west, south) == pytest.approx((5.3872, 52.1552), abs=1e-4)


def test_sides_of_wide_cells_of_a_plane_bend_on_the_earth():
    """Points along the northern side of a cell of 200 km lie in its outline, or at it."""
    pytest.importorskip("pyproj")
    shapely = pytest.importorskip("shapely")
    rule = Cells((200,), unit="metres", crs="EPSG:28992")
    x = np.linspace(1, 199_999, 40)
    side = Points(x=x, y=np.full(40, 599_999.0), unit="metres", crs="EPSG:28992")
    (label,) = rule.locate(side).unique()
    outline, at = shapely.geometry.shape(rule.outline(label)), side.in_system("degrees", None)

    assert shapely.distance(outline, shapely.points(at.x, at.y)).max() < 1e-4  # 10 m
