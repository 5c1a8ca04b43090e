"""Points: what columns may hold, distances on the ground, and other reference systems."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import (
    ColumnNotFoundError,
    ColumnWarning,
    DataError,
    MissingDependencyError,
    ParameterError,
    SchemaError,
)
from halfmask.geo import PlaceColumns, Points
from halfmask.geo.points import arc_of, straight_of

LON_LAT = PlaceColumns(("lon", "lat"))
CELL = "77.123"  # no message may hold it


def frame(first, second, names=("lon", "lat")):
    return pl.DataFrame({names[0]: first, names[1]: second}, strict=False)


def read(first, second, *, names=("lon", "lat"), unit="degrees"):
    return PlaceColumns(names, unit).read(frame(first, second, names))


def refused(error, first, second, **options):
    with pytest.raises(error) as caught:
        read(first, second, **options)
    assert CELL not in str(caught.value)
    return str(caught.value)


def test_points_are_read_and_missing_ones_stay_missing():
    points = read([4.9, None, -70.5], [52.4, None, -33.4])

    assert points.present.tolist() == [True, False, True]
    assert points.take(points.present).x.tolist() == [4.9, -70.5]
    assert (len(points), repr(points)) == (3, "<3 points in degrees>")


@pytest.mark.parametrize("dtype", [pl.Int8, pl.Float32, pl.Decimal(9, 4)])
def test_all_numbers_are_coordinates(dtype):
    points = LON_LAT.read(frame([4, None], [52, None]).cast(dtype))

    assert (points.x[0], points.y[0]) == (4.0, 52.0)
    assert np.isnan(points.x[1])


def test_an_absent_column_is_named_with_the_nearest():
    with pytest.raises(ColumnNotFoundError, match="'lon'") as caught:
        LON_LAT.read(frame([1.0], [2.0], ("long", "lat")))
    assert "'long' for 'lon'" in str(caught.value)


@pytest.mark.parametrize("columns", [("lon",), ("lon", "lon"), "lon", ("a", "b", "c"), (1, 2)])
def test_a_point_has_two_columns(columns):
    with pytest.raises(ParameterError, match="columns"):
        PlaceColumns(columns)


def test_a_unit_is_one_of_four():
    with pytest.raises(ParameterError, match="unit"):
        PlaceColumns(("x", "y"), "miles")  # type: ignore[arg-type]


def test_one_latitude_in_many_that_is_none_does_not_exchange_them():
    message = refused(DataError, [4.9] * 40, [52.4] * 39 + [95.0])

    assert "lie beyond the earth in 1 of 40 rows" in message


def test_one_coordinate_alone_is_counted():
    message = refused(DataError, [77.123, None, 1.0, 2.0], [None, 1.0, 1.0, None])

    assert "In 3 of 4 rows of the table" in message


@pytest.mark.parametrize(
    ("names", "lat", "lon"),
    [
        (("latitude", "longitude"), [52.4, 77.123], [4.9, 6.0]),  # said by the names
        (("homeLat", "homeLng"), [52.4], [4.9]),
        (("y", "x"), [52.4], [4.9]),
        (("a", "b"), [33.4, 77.123], [-118.2, 100.0]),  # by latitudes that aren't
    ],
)
def test_latitude_before_longitude_is_refused(names, lat, lon):
    message = refused(DataError, lat, lon, names=names)

    assert "exchanged" in message
    assert f"Write longitude first: {names[1]!r}, {names[0]!r}." in message


def test_names_that_numbers_disprove_are_no_objection():
    assert read([-118.2], [33.4], names=("lat", "lon")).x.tolist() == [-118.2]


def test_zeros_stand_for_unknown_places():
    with pytest.warns(ColumnWarning, match="both are 0 in 2 of 4 rows"):
        points = read([0.0, 4.9, 0.0, 0.0], [0.0, 52.4, 0.0, 51.5])

    assert points.present.tolist() == [False, True, False, True]


def test_zeros_of_a_plane_are_a_place():
    assert read([0.0, 2000.0], [0.0, 3.0], names=("x", "y"), unit="metres").present.all()


def test_longitudes_from_0_to_360_are_turned():
    with pytest.warns(ColumnWarning, match="2 of 3 longitudes from 180 to 360 are read as west"):
        points = read([4.9, 289.5, 360.0], [52.4, -33.4, 1.0])

    assert points.x.tolist() == [4.9, -70.5, 0.0]


@pytest.mark.parametrize(
    ("lon", "lat", "n"),
    [
        ([200.0, -77.123], [1.0, 1.0], 1),
        ([-181.0, 77.123, 5], [0, 91.0, -90.5], 3),
        ([361], [1], 1),
    ],
)
def test_what_lies_beyond_the_earth_is_counted(lon, lat, n):
    assert f"beyond the earth in {n} of {len(lon)} rows" in refused(DataError, lon, lat)


def test_metres_given_as_degrees_are_refused():
    message = refused(DataError, [149712.0, 149639.0, None], [470104.0, 469906.0, None])

    assert 'They look like those of a plane: declare unit = "metres".' in message


@pytest.mark.parametrize(
    ("names", "x", "y", "unit"),
    [
        (("longitude", "latitude"), [4.9, 5.0], [52.4, 52.5], "kilometres"),
        (("a", "b"), [4.89514, 4.90377], [52.37023, 52.36931], "metres"),
        (("a", "b"), [4.89514, 4.90377], [52.37023, 52.36931], "feet"),
    ],
)
def test_degrees_given_as_metres_are_warned_of(names, x, y, unit):
    with pytest.warns(ColumnWarning, match=f"read as {unit}, and look like degrees"):
        read(x, y, names=names, unit=unit)


@pytest.mark.parametrize("x", [[1.5, 2.25, 7.0], [100.123456, 250.123456, 3.2], [], [None]])
def test_small_planes_are_no_degrees(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(x, x, names=("x", "y"), unit="metres")


@pytest.mark.parametrize(
    ("texts", "cure"),
    [
        (["4,895", "77,123"], 'Declare number_formats = { lon = "1234,5" } under [input].'),
        (
            ["4.895", "n/a"],
            'Declare dtypes = { lon = "float" } under [input], and coerce = ["lon"]',
        ),
        (["4°53'42\"E"], "Turn degrees and minutes into such"),
        (["4 53 42"], "Turn degrees and minutes into such"),
        (["4.895W"], "below 0"),
        (["home"], "decimal numbers"),
    ],
)
def test_texts_are_refused_with_a_cure(texts, cure):
    message = refused(SchemaError, texts, [52.1] * len(texts))

    assert "Column 'lon' holds coordinates. Got the type String." in message
    assert cure in message
    assert "77,123" not in message


def test_the_cure_of_decimal_commas_works(tmp_path):
    from halfmask.data import ReadOptions, open_table  # noqa: PLC0415

    (tmp_path / "homes.csv").write_text("lon;lat\n4,895;52,37\n", encoding="utf-8")
    formats = {"lon": "1234,5", "lat": "1234,5"}
    table = open_table(tmp_path / "homes.csv", options=ReadOptions(number_formats=formats))

    assert LON_LAT.read(table.read()).x.tolist() == [4.895]


def test_infinite_coordinates_are_counted():
    assert "infinite in 1 of 2 rows" in refused(DataError, [np.inf, 1], [1, 2])


near = st.floats(-300_000, 300_000)


@given(
    lon=st.floats(-180, 180),
    lat=st.one_of(st.floats(-90, 90), st.sampled_from([-90.0, 90.0, 0.0, 89.9999])),
    east=near,
    north=near,
)
def test_a_moved_point_is_as_far_as_it_was_moved(lon, lat, east, north):
    """Over poles and the end of longitudes, too; a line on the ellipsoid is the reference."""
    geod = pytest.importorskip("pyproj").Geod(ellps="WGS84")
    start = Points(x=np.array([lon]), y=np.array([lat]))
    end = start.moved(np.array([east]), np.array([north]))
    far = np.hypot(east, north)

    assert abs(end.x[0]) <= 180
    assert abs(end.y[0]) <= 90
    assert start.metres_to(end)[0] == pytest.approx(far, rel=1e-5, abs=1e-3)
    way, _, metres = geod.inv(lon, lat, end.x[0], end.y[0])
    assert metres == pytest.approx(far, rel=2e-5, abs=1e-3)
    if abs(lat) < 80 and 1 < far < 50_000:
        turned = np.degrees(np.arctan2(east, north)) - way
        assert abs((turned + 180) % 360 - 180) < 0.5


@pytest.mark.parametrize("lat", [-90.0, -45.0, 0.0, 52.0, 89.99])
def test_distances_are_those_of_the_ellipsoid(lat):
    geod = pytest.importorskip("pyproj").Geod(ellps="WGS84")
    rng = np.random.default_rng(7)
    one = Points(x=rng.uniform(-180, 180, 200), y=np.full(200, lat))
    other = one.moved(*rng.normal(0, 100_000, (2, 200)))

    wanted = geod.inv(one.x, one.y, other.x, other.y)[2]
    wanted = geod.inv(one.x, one.y, other.x, other.y)[2]
    assert one.metres_to(other) == pytest.approx(wanted, rel=1e-5)


def test_moves_in_all_directions_differ_by_no_direction():
    """East and north are as long on the ground: a donut stays round at every latitude."""
    angle = np.linspace(0, 2 * np.pi, 64, endpoint=False)
    for lat in (0.0, 45.0, 70.0, 89.0):
        home = Points(x=np.full(64, 179.999), y=np.full(64, lat))
        moved = home.moved(500 * np.cos(angle), 500 * np.sin(angle))

        assert home.metres_to(moved) == pytest.approx(np.full(64, 500.0), rel=1e-6)


def test_missing_points_stay_missing_when_moved():
    moved = Points(x=np.array([np.nan, 1.0]), y=np.array([np.nan, 1.0])).moved(
        np.array([5.0, np.nan]), np.array([5.0, np.nan])
    )
    assert np.isnan(moved.x).all()


def test_a_plane_is_moved_and_measured_in_metres():
    feet = Points(x=np.array([0.0]), y=np.array([0.0]), unit="feet").moved(
        np.array([3.048]), np.array([0.0])
    )
    assert feet.x[0] == pytest.approx(10)
    assert feet.metres_to(Points(x=np.zeros(1), y=np.zeros(1), unit="feet"))[0] == 3.048


@given(st.floats(0, 20e6))
def test_straight_lines_and_arcs_are_each_the_other(metres):
    assert float(arc_of(straight_of(np.array([metres])))[0]) == pytest.approx(metres, abs=1e-2)


def test_units_of_a_plane_are_changed():
    points = Points(x=np.array([1.5]), y=np.array([2.0]), unit="kilometres")

    assert points.in_system("metres", None).x[0] == 1500
    assert points.in_system("kilometres", None).y[0] == 2.0


def test_degrees_and_a_plane_need_a_system():
    with pytest.raises(SchemaError, match="nothing in common") as caught:
        read([4.9], [52.4]).in_system("metres", None)
    assert "EPSG:28992" in str(caught.value)


def test_a_known_system_relates_degrees_to_a_plane():
    """The tower of Amersfoort is the origin of the Dutch grid, at 155 and 463 km."""
    pytest.importorskip("pyproj")
    homes = read([5.387206, None], [52.155174, None])
    dutch = homes.in_system("kilometres", "EPSG:28992")

    assert (dutch.x[0], dutch.y[0]) == pytest.approx((155, 463), abs=0.002)
    assert np.isnan(dutch.x[1])
    back = dutch.in_system("degrees", "EPSG:4326")
    assert back.metres_to(homes)[0] == pytest.approx(0, abs=0.2)
    assert np.isnan(back.y[1])


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_points_are_changed(n):
    pytest.importorskip("pyproj")

    assert len(Points(x=np.ones(n), y=np.ones(n)).in_system("metres", "EPSG:3857").x) == n


def test_feet_of_surveyors_are_feet():
    """New York's system is in them: 984,250 of them are 300 km."""
    pytest.importorskip("pyproj")
    at = Points(x=np.array([984250.0]), y=np.array([0.0]), unit="feet", crs="EPSG:2263")

    assert at.in_system("degrees", None).x[0] == pytest.approx(-74.0, abs=1e-6)


def test_systems_that_cannot_be_are_refused():
    pytest.importorskip("pyproj")
    homes = read([4.9], [52.4])
    with pytest.raises(ParameterError, match="isn't known"):
        homes.in_system("metres", "EPSG:no")
    with pytest.raises(ParameterError, match="of degrees and the unit isn't"):
        homes.in_system("metres", "EPSG:4267")
    with pytest.raises(DataError, match="1 of 1 points lie beyond"):
        Points(x=np.zeros(1), y=np.full(1, 91.0)).in_system("metres", "EPSG:2263")


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setattr("halfmask._foreign.find_spec", lambda _: None)
    dutch = Points(x=np.ones(1), y=np.ones(1), unit="metres", crs="EPSG:28992")
    assert dutch.in_system("metres", "epsg:28992").x[0] == 1
    with pytest.raises(MissingDependencyError, match="pyproj"):
        read([4.9], [52.4]).in_system("metres", "EPSG:31370")
