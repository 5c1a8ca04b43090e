"""Maps: files of points and areas, which area a point lies in, and which areas touch."""

from __future__ import annotations

import gzip
import itertools
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from halfmask._errors import (
    ColumnNotFoundError,
    DataError,
    MissingDependencyError,
    ParameterError,
    SchemaError,
)
from halfmask.geo import AreaMap, MapFile, PointMap, Points

shapely = pytest.importorskip("shapely")


def at(*pairs, unit="degrees", crs=None):
    x, y = np.array(pairs, dtype=float).reshape(-1, 2).T
    return Points(x=x, y=y, unit=unit, crs=crs)


def box(west, south, east, north):
    return [[west, south], [east, south], [east, north], [west, north], [west, south]]


def polygon(*rings):
    return {"type": "Polygon", "coordinates": rings}


def feature(geometry, number=None, **properties):
    return {"type": "Feature", "id": number, "properties": properties, "geometry": geometry}


@pytest.fixture
def write(tmp_path):
    """Return what writes features and opens them as a map."""

    def opened(*features, file="map.geojson", crs_of_file=None, **options):
        found: dict[str, object] = {"type": "FeatureCollection", "features": list(features)}
        if crs_of_file is not None:
            found["crs"] = {"type": "name", "properties": {"name": crs_of_file}}
        raw = json.dumps(found).encode()
        (tmp_path / file).write_bytes(gzip.compress(raw) if file.endswith("gz") else raw)
        return MapFile(file=file, **options).opened(tmp_path)

    return opened


@pytest.fixture
def table(tmp_path):
    """Return what writes a table as CSV and opens it as a map."""

    def opened(text, **options):
        (tmp_path / "map.csv").write_text(text, encoding="utf-8")
        return MapFile(file="map.csv", **options).opened(tmp_path)

    return opened


QUARTERS = [
    feature(polygon(box(0, 0, 1, 1)), name="a", people=1, state="W"),
    feature(polygon(box(1, 0, 2, 1)), name="b", people=10, state="E"),
    feature(polygon(box(0, 1, 1, 2)), name="c", people=100, state="W"),
    feature(polygon(box(1, 1, 2, 2)), name="d", people=1000, state="E"),
]


# What files hold


@pytest.mark.parametrize("file", ["map.geojson", "map.json", "map.geojson.gz", "MAP.GEOJSON"])
def test_areas_have_names_parents_and_people(write, file):
    found = write(*QUARTERS, file=file, name="name", parents=("state",), people="people")

    assert isinstance(found, AreaMap)
    assert len(found) == 4
    assert found.names.to_list() == ["a", "b", "c", "d"]
    assert found.parents[0].to_list() == ["W", "E", "W", "E"]
    assert found.people is not None
    assert found.people.tolist() == [1, 10, 100, 1000]
    assert repr(found) == "AreaMap(centres=None, unit='degrees', crs=None, reach=0.0)"


def test_the_id_of_a_feature_names_it_and_else_its_number(write):
    one = feature(polygon(box(0, 0, 1, 1)), "01001")

    assert write(one, name="id").names.to_list() == ["01001"]
    assert write(one, feature(polygon(box(1, 0, 2, 1)))).names.to_list() == ["1", "2"]


def test_points_and_lines_are_points(write):
    point = {"type": "Point", "coordinates": [4.9, 52.4, 3.0]}
    line = {"type": "LineString", "coordinates": [[0, 1], [1, 1], [2, 3]]}
    other = {"type": "LineString", "coordinates": [[1, 1], [1, 0]]}
    addresses = write(feature(point, homes=12), people="homes")
    streets = write(feature(line), feature(other))

    assert isinstance(addresses, PointMap)
    assert isinstance(streets, PointMap)
    assert (addresses.points.x.tolist(), addresses.people.tolist()) == ([4.9], [12])
    assert streets.points.x.tolist() == [0, 1, 1, 2]
    named = write(feature(point, name="Amsterdam"), name="name")
    assert isinstance(named, AreaMap)
    assert named.centres is not None


def test_tables_are_points_centres_or_names(table):
    homes = table("x;y;n\n1;2;3\n4;5;0\n", points=("x", "y"), unit="metres", people="n")
    assert isinstance(homes, PointMap)
    assert homes.points.unit == "metres"
    assert homes.people.tolist() == [3, 0]
    assert table("x,y\n1,2\n", points=("x", "y")).people.tolist() == [1]

    zips = table(
        "zip,lon,lat\n00501,-72.6,40.9\n10001,-74,40.7\n", points=("lon", "lat"), name="zip"
    )
    assert zips.names.to_list() == ["00501", "10001"]
    assert zips.locate(at((-72, 41))).tolist() == [0]

    people = table("fips,n\n1001,7\n02013,9\n", name="fips", people="n")
    assert people.names.to_list() == ["1001", "02013"]
    assert people.outline(0) is None
    with pytest.raises(DataError, match="says where its areas are"):
        people.locate(at((0, 0)))


def test_names_of_a_table_are_texts(table):
    assert table("code,n\n1.10,7\n2.20,9\n", name="code").names.to_list() == ["1.10", "2.20"]


def test_heights_are_left_out(write):
    found = write(feature(polygon([[*it, 7.5] for it in box(0, 0, 1, 1)])))

    assert {len(it) for it in found.outline(0)["coordinates"][0]} == {2}


def test_outlines_wind_as_the_standard_of_geojson_asks(write):
    clockwise, hole = box(0, 0, 9, 9)[::-1], box(2, 2, 3, 3)
    found = write(feature({"type": "Polygon", "coordinates": [clockwise, hole]}))
    rings = found.outline(0)["coordinates"]

    turns = [sum(a * d - b * c for (a, b), (c, d) in itertools.pairwise(it)) for it in rings]
    assert [it > 0 for it in turns] == [True, False]  # the hole runs the other way


def test_whole_numbers_of_parquet_are_names(tmp_path):
    pl.DataFrame({"code": [7, 12]}).write_parquet(tmp_path / "map.parquet")
    found = MapFile(file="map.parquet", name="code").opened(tmp_path)

    assert isinstance(found, AreaMap)
    assert found.names.to_list() == ["7", "12"]


@pytest.mark.parametrize(
    ("text", "options", "error", "message"),
    [
        ("x,y\n1,2\n", {}, SchemaError, "needs points, or the name"),
        (
            "x,y\n1,2\n,\n",
            {"points": ("x", "y")},
            DataError,
            "1 of 2 features of the map have no point",
        ),
        ("x,y\n1,2\n2,\n", {"points": ("x", "y")}, DataError, "In 1 of 2 rows of the map"),
        ("x,y\n1,2\n", {"points": ("x", "z")}, ColumnNotFoundError, "'z'"),
        ('x;y\n"1,5";"2,5"\n', {"points": ("x", "y")}, SchemaError, "into the file of the map"),
        ("n,p\na,1\n", {"name": "m"}, ColumnNotFoundError, "'m'"),
        ("n,p\na,1\n", {"name": "n", "people": "q"}, ColumnNotFoundError, "'q'"),
        ("n,p\na,1\na,2\nb,3\n", {"name": "n"}, DataError, "1 of 3 areas of the map have the name"),
        ("n,p\na,1\n,2\n", {"name": "n"}, DataError, "has no name in 1 of 2 rows"),
        (
            "n,p\na,1\nb,\n",
            {"name": "n", "people": "p"},
            DataError,
            "in 1 of 2 rows: it is missing",
        ),
        ("n,p\na,-1\nb,2\n", {"name": "n", "people": "p"}, DataError, "in 1 of 2 rows"),
        ("n,p\na,few\nb,2\n", {"name": "n", "people": "p"}, SchemaError, "numbers of people"),
        ("x,y\n", {"points": ("x", "y")}, DataError, "The map has no rows"),
    ],
)
def test_tables_that_are_no_maps_are_refused(table, text, options, error, message):
    with pytest.raises(error, match=message):
        table(text, **options)


@pytest.mark.parametrize(
    ("geometry", "options", "message"),
    [
        (None, {}, "1 of 1 features of a map have no shape"),
        ({"type": "Polygon", "coordinates": []}, {}, "1 of 1 features of a map have no shape"),
        (polygon([[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]), {}, "1 of 1 areas .* cross themselves"),
        (
            polygon(box(149000, 470000, 150000, 471000)),
            {},
            "1 of 1 areas of a map lie beyond the earth",
        ),
        ({"type": "Point", "coordinates": [0, 91]}, {}, "beyond the earth in 1 of 1 rows"),
        ({"type": "Circle", "coordinates": [0, 1]}, {}, "can't be read"),
        (
            {"type": "Point", "coordinates": [np.nan, np.nan]},
            {},
            "1 of 1 features .* no (point|shape)",
        ),
    ],
)
def test_shapes_that_are_no_map_are_refused(write, geometry, options, message):
    with pytest.raises(DataError, match=message):
        write(feature(geometry, name="a"), **options)


@pytest.mark.parametrize("key", ["name", "people"])
def test_an_absent_property_is_named_with_the_nearest(write, key):
    with pytest.raises(ColumnNotFoundError, match="not in the map: 'nmae'") as caught:
        write(*QUARTERS, **{key: "nmae"})
    assert "'name' for 'nmae'" in str(caught.value)


@pytest.mark.parametrize("options", [{}, {"people": "people"}, {"name": "name"}])
@pytest.mark.parametrize(
    "geometry",
    [
        {"type": "Point", "coordinates": [0, 1]},
        {"type": "LineString", "coordinates": [[0, 1], [1, 1]]},
        {"type": "MultiPoint", "coordinates": [[0, 1], [1, 1]]},
    ],
)
def test_features_are_of_one_kind(write, geometry, options):
    with pytest.raises(DataError, match="one point a feature"):
        write(QUARTERS[0], feature(geometry, name="x", people=2), **options)


def test_lines_have_no_names_and_people(write):
    line = feature({"type": "LineString", "coordinates": [[0, 1], [1, 1]]}, name="Mill Road", n=2)
    for options in ({"name": "name"}, {"people": "n"}):
        with pytest.raises(DataError, match="lines without names and people"):
            write(line, **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "can't be read"),
        ("[1]", "no list of features"),
        ('{"type": "Topology"}', "TopoJSON isn't read"),
        ('{"type": "FeatureCollection", "features": []}', "0 of 0 features"),
    ],
)
def test_files_without_features_are_refused(tmp_path, text, message):
    (tmp_path / "map.geojson").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        MapFile(file="map.geojson", name="id").opened(tmp_path)


def test_no_message_has_the_path(tmp_path):
    for file in ("gone.geojson", "gone.csv"):
        with pytest.raises(DataError) as caught:
            MapFile(file=file, name="id").opened(tmp_path)
        assert "gone" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"parents": "state", "name": "id"}, "parents"),
        ({"parents": ("state",)}, "parents"),
        ({"points": ("x",)}, "columns"),
        ({"unit": "miles"}, "unit"),
        ({"reach": -1}, "reach"),
    ],
)
def test_parameters_of_a_map_are_checked(options, parameter):
    with pytest.raises(ParameterError, match=parameter):
        MapFile(file="map.csv", **options)


def test_lists_of_names_are_taken():
    given = MapFile(file="map.csv", points=["x", "y"], name="id", parents=["state"])  # type: ignore[arg-type]

    assert given == MapFile(file="map.csv", points=("x", "y"), name="id", parents=("state",))
    assert len({given}) == 1


@pytest.mark.parametrize("gone", ["shapely", "pyogrio"])
def test_a_missing_library_is_named(monkeypatch, tmp_path, gone):
    (tmp_path / "map.shp").write_bytes(b"")
    monkeypatch.setattr("halfmask._foreign.find_spec", lambda name: name != gone or None)
    with pytest.raises(MissingDependencyError, match=gone):
        MapFile(file="map.shp", name="id").opened(tmp_path)


@pytest.mark.parametrize("suffix", [".gpkg", ".shp"])
def test_files_of_other_programs_are_read(tmp_path, suffix):
    pyogrio = pytest.importorskip("pyogrio")
    shapes = shapely.to_wkb(
        np.array([shapely.box(0, 0, 9e4, 9e4), shapely.box(9e4, 0, 1.8e5, 9e4)])
    )
    pyogrio.raw.write(
        tmp_path / f"map{suffix}",
        shapes,
        [np.array(["one", "two"], dtype=object), np.array([5, 6])],
        ["name", "people"],
        geometry_type="Polygon",
        crs="EPSG:28992",
    )
    found = MapFile(file=f"map{suffix}", name="name", people="people", unit="metres").opened(
        tmp_path
    )

    assert isinstance(found, AreaMap)
    assert found.names.to_list() == ["one", "two"]
    assert found.crs == "EPSG:28992"
    assert found.locate(at((1e5, 1e3), unit="metres")).tolist() == [1]


# Which area a point lies in


def test_a_point_on_a_border_lies_in_the_lowest_area(write):
    found = write(*QUARTERS, name="name")
    points = at((0.5, 0.5), (1, 0.5), (1, 1), (1.5, 1), (2, 2), (2.1, 2), (np.nan, np.nan))

    assert found.locate(points).tolist() == [0, 0, 0, 1, 3, -1, -1]


@given(st.integers(0, 2**32))
def test_locating_is_what_each_area_says_of_each_point(seed):
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-1, 1, (12, 2))
    shapes = np.array([shapely.Point(it).buffer(rng.uniform(0.1, 0.6), 3) for it in centres])
    found = AreaMap(names=pl.Series([str(i) for i in range(12)]), shapes=shapes)
    points = at(*rng.uniform(-1.2, 1.2, (50, 2)), *shapely.get_coordinates(shapes)[:9])
    wanted = [
        next((i for i, it in enumerate(shapes) if it.intersects(shapely.Point(*pair))), -1)
        for pair in zip(points.x, points.y, strict=True)
    ]
    assert found.locate(points).tolist() == wanted


def test_workers_and_threads_find_the_same(write):
    found = write(*QUARTERS, name="name", reach=30_000)
    points = at(*np.random.default_rng(1).uniform(-0.5, 2.5, (500, 2)))
    copy = pickle.loads(pickle.dumps(found))  # noqa: S301 # our own
    with ThreadPoolExecutor(4) as threads:
        numbers = list(threads.map(copy.locate, [points] * 8))

    assert all((each == found.locate(points)).all() for each in numbers)
    assert shapely.is_prepared(copy._index._shapes).all()


def test_a_hole_is_no_part_of_an_area(write):
    found = write(feature(polygon(box(0, 0, 9, 9), box(3, 3, 6, 6)), name="ring"), name="name")

    assert found.locate(at((1, 1), (4, 4))).tolist() == [0, -1]


@pytest.mark.parametrize(
    "ring",
    [
        box(170, -20, 190, -10),
        box(-190, -20, -170, -10),
        [[170, -20], [-170, -20], [-170, -10], [170, -10], [170, -20]],
    ],
)
def test_an_area_may_cross_the_end_of_longitudes(write, ring):
    found = write(
        feature(polygon(ring), name="Fiji"),
        feature(polygon(box(-170, -20, -160, -10)), name="east"),
        feature(polygon(box(150, -20, 160, -10)), name="west"),
        name="name",
    )
    points = at((175, -15), (-175, -15), (180, -15), (-180, -15), (0, -15), (-165, -15), (155, -15))

    assert found.locate(points).tolist() == [0, 0, 0, 0, -1, 1, 2]
    assert found.neighbours().tolist() == [[0, 1]]
    outline = found.outline(0)
    assert outline is not None
    assert outline["type"] == "MultiPolygon"
    assert np.abs([at[0] for part in outline["coordinates"] for at in part[0]]).max() == 180


def test_areas_touch_where_longitudes_end(write):
    found = write(feature(polygon(box(170, 0, 180, 9))), feature(polygon(box(-180, 0, -170, 9))))

    assert found.neighbours().tolist() == [[0, 1]]
    assert found.locate(at((180, 5), (-180, 5))).tolist() == [0, 0]


def test_an_area_may_lie_round_a_pole(write):
    ring = [[lon, -70] for lon in (-180, -90, 0, 90)] + [[-180, -70]]
    along = [*[[lon, -70] for lon in (-180, -60, 60, 180)], [180, -90], [-180, -90], [-180, -70]]
    almost = [[lon * 179.5 / 180, lat] for lon, lat in along]
    for each in (ring, along, almost):
        found = write(feature(polygon(each), name="Antarctica"), name="name")

        points = at((10, -80), (-179, -71), (179, -71), (33, -90), (0, -69))
        assert found.locate(points).tolist() == [0, 0, 0, 0, -1]


@pytest.mark.parametrize("more", [[], [[0, -60]]])
def test_an_area_may_go_all_round(write, more):
    ring = [[-180, -60], *more, [180, -60], [180, 60], [-180, 60], [-180, -60]]
    found = write(feature(polygon(ring), name="warm"), name="name")

    assert found.locate(at((0, 0), (-180, 59), (175, -59), (0, 61), (0, 80))).tolist() == [
        *(0, 0, 0, -1, -1)
    ]


def test_a_sector_of_a_pole_is_the_one_over_the_shorter_way(write):
    ring = [[-100, -70], [100, -70], [100, -90], [-100, -90], [-100, -70]]
    found = write(feature(polygon(ring), name="sector"), name="name")

    assert found.locate(at((180, -80), (-120, -80), (0, -80), (90, -80))).tolist() == [0, 0, -1, -1]


@pytest.mark.parametrize("ring", [box(170, 0, 200, 9), box(-190, 0, -160, 9)])
def test_a_hole_is_cut_with_its_area(write, ring):
    for hole in (box(-178, 3, -170, 6), box(172, 3, 178, 6), box(176, 3, 184, 6)):
        found = write(feature(polygon(ring, hole), name="ring"), name="name")
        inside = np.mean([hole[0][0], hole[1][0]])

        assert found.locate(at((inside - 360 * (inside > 180), 4.5))).tolist() == [-1]
        assert found.locate(at((-161, 4.5), (171, 4.5))).tolist() == [0, 0]


def test_points_beyond_belong_to_what_is_in_reach(write):
    coast = [
        feature(polygon(box(0, 50, 1, 51)), name="a"),
        feature(polygon(box(2, 50, 3, 51)), name="b"),
    ]
    sea = at((0.5, 51.008), (1.2, 50.5), (1.9, 50.5), (0.5, 50.5))
    assert write(*coast, name="name").locate(sea).tolist() == [-1, -1, -1, 0]

    found = write(*coast, name="name", reach=10_000)
    assert found.locate(sea).tolist() == [0, -1, 1, 0]
    assert write(*coast, name="name", reach=800).locate(sea).tolist() == [-1, -1, -1, 0]


def test_the_nearest_in_reach_is_so_in_metres_and_not_in_degrees(write):
    """At 60 degrees, a degree eastwards is half as long as one northwards."""
    coast = [
        feature(polygon(box(10, 60.02, 11, 61)), name="north"),  # 2.2 km
        feature(polygon(box(10.53, 59, 11, 60.01)), name="east"),  # 1.7 km
    ]
    sea = at((10.5, 60.0))
    assert write(*coast, name="name", reach=3000).locate(sea).tolist() == [1]
    assert write(*coast, name="name", reach=2000).locate(sea).tolist() == [1]


@pytest.mark.parametrize(
    "crs",
    [
        {"crs_of_file": "urn:ogc:def:crs:EPSG::28992"},
        {"crs": "EPSG:28992"},
        {"crs_of_file": "urn:ogc:def:crs:EPSG::31370", "crs": "EPSG:28992"},
    ],
)
def test_maps_and_points_may_have_different_systems(write, crs):
    """Amersfoort in degrees lies in a square of the Dutch grid around its origin."""
    pytest.importorskip("pyproj")
    square = feature(polygon(box(154_000, 462_000, 156_000, 464_000)), name="a")
    found = write(square, name="name", unit="metres", **crs)

    assert found.crs == "EPSG:28992"
    assert found.locate(at((5.3872, 52.1552), (5.37, 52.1552))).tolist() == [0, -1]
    assert found.locate(at((155, 463), unit="kilometres")).tolist() == [0]
    middle = np.mean(found.outline(0)["coordinates"][0][:4], axis=0)
    assert middle == pytest.approx((5.3872, 52.1552), abs=1e-4)


def test_the_usual_system_of_geojson_is_none_of_its_own(write):
    found = write(*QUARTERS, name="name", crs_of_file="urn:ogc:def:crs:OGC:1.3:CRS84")

    assert found.locate(at((0.5, 0.5))).tolist() == [0]


def test_a_map_in_another_unit_needs_a_system(write):
    found = write(feature(polygon(box(0, 0, 9, 9)), name="a"), name="name", unit="metres")
    with pytest.raises(SchemaError, match="nothing in common"):
        found.locate(at((1, 1)))


def test_the_nearest_centre_wins_and_the_lowest_of_one_place():
    centres = at((0, 80), (179, 80), (-179, 80), (0, 80))
    found = AreaMap(names=pl.Series(["a", "b", "c", "d"]), centres=centres)

    assert found.locate(at((-180, 80), (1, 80), (178, 80), (np.nan, np.nan))).tolist()[1:] == [
        0,
        1,
        -1,
    ]
    assert found.outline(1) == {"type": "Point", "coordinates": [179.0, 80.0]}


# Which areas touch


def test_neighbours_touch_at_borders_and_corners(write):
    more = [
        feature(polygon(box(*sides)), name=str(sides[0]))
        for sides in ((2.0004, 0, 3, 1), (3.01, 0, 4, 1), (9, 9, 9.9, 9.9))
    ]
    found = write(*QUARTERS, *more, name="name").neighbours()

    assert {tuple(pair) for pair in found.tolist()} == {
        *((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (1, 4), (2, 3), (3, 4))
    }


def test_neighbours_of_centres_have_no_other_centre_in_their_circle():
    """Delaunay's property, tried out: some circle through both holds no third centre."""
    centres = at(*np.random.default_rng(3).uniform(0, 1000, (15, 2)), unit="metres")
    found = AreaMap(names=pl.Series([str(i) for i in range(15)]), centres=centres).neighbours()
    space = centres.in_space()
    wanted = set()
    for i in range(15):
        for j in range(i):
            middle, across = (space[i] + space[j]) / 2, (space[i] - space[j])[::-1] * (1, -1)
            circles = middle + np.tan(np.linspace(-1.57, 1.57, 5_001))[:, None] * across
            off = np.linalg.norm(space - circles[:, None], axis=2)
            if (off >= off[:, [i]] - 1e-9).all(axis=1).any():
                wanted.add((j, i))
    assert {tuple(pair) for pair in found.tolist()} == wanted


def test_neighbours_on_the_earth_are_sides_of_the_hull_of_the_centres():
    """Of points of a sphere the hull's faces are Delaunay's; those of the far side aren't."""
    rng = np.random.default_rng(9)
    centres = at(*np.column_stack((rng.uniform(100, 240, 40) - 180, rng.uniform(-70, 70, 40))))
    unit = centres.in_space() / np.linalg.norm(centres.in_space(), axis=1, keepdims=True)
    hull = ConvexHull(unit)
    across = -unit.mean(axis=0) / np.linalg.norm(unit.mean(axis=0))
    faces = np.sort(hull.simplices[hull.equations @ np.append(across, 1) <= 0])
    wanted = {tuple(pair) for face in faces.tolist() for pair in combinations(face, 2)}

    found = AreaMap(names=pl.Series([str(i) for i in range(40)]), centres=centres).neighbours()
    assert {tuple(pair) for pair in found.tolist()} == wanted


def test_centres_have_neighbours_over_the_end_of_longitudes_and_the_pole():
    ring = [(lon, 60.0) for lon in range(-180, 180, 30)]
    names = pl.Series([str(i) for i in range(13)])
    found = AreaMap(names=names, centres=at(*ring, (0, 90))).neighbours()

    assert len(found) == 24
    assert [0, 11] in found.tolist()
    assert (found == 12).sum() == 12


@pytest.mark.parametrize("unit", ["metres", "degrees"])
@pytest.mark.parametrize(
    ("pairs", "wanted"),
    [
        ([(1, 1)], []),
        ([(1, 1), (2, 2)], [[0, 1]]),
        ([(1, 0), (3, 0), (2, 0)], [[0, 2], [1, 2]]),
        ([(1, 1), (1, 1), (1, 1)], [[0, 1], [0, 2]]),
        ([(1, 1), (2, 1), (1, 2), (1, 1)], [[0, 1], [0, 2], [0, 3], [1, 2]]),
    ],
)
def test_few_centres_and_those_on_a_line_have_neighbours(pairs, wanted, unit):
    names = pl.Series([str(i) for i in range(len(pairs))])

    assert AreaMap(names=names, centres=at(*pairs, unit=unit)).neighbours().tolist() == wanted


# How large areas are


def test_sizes_are_those_on_the_ellipsoid():
    geod = pytest.importorskip("pyproj").Geod(ellps="WGS84")
    shapes = np.array([shapely.box(4, 52, 4.1, 52.1), shapely.box(-179, 0, 179, 0.1)])
    found = AreaMap(names=pl.Series(["a", "b"]), shapes=shapes).square_kilometres()

    for shape, size in zip(shapely.segmentize(shapes, 0.01), found, strict=True):
        assert size == pytest.approx(abs(geod.geometry_area_perimeter(shape)[0]) / 1e6, rel=1e-4)
    square = AreaMap(
        names=pl.Series(["a"]), shapes=np.array([shapely.box(0, 0, 3, 2)]), unit="kilometres"
    )
    assert square.square_kilometres().tolist() == [6]


def test_the_whole_earth_is_510_million_square_kilometres():
    found = AreaMap(names=pl.Series(["earth"]), shapes=np.array([shapely.box(-180, -90, 180, 90)]))

    assert found.square_kilometres()[0] == pytest.approx(510_065_622, rel=1e-8)


@pytest.mark.real_data
def test_counties_are_opened_and_cover_california(shared_data):
    found = MapFile(file="us_counties.geojson.gz", name="id", parents=("STATE",)).opened(
        shared_data / "geo"
    )
    assert isinstance(found, AreaMap)
    numbers = found.locate(at((-118.24, 34.05), (-122.42, 37.77), (-172.5, 52.9), (173.1, 52.9)))
    assert found.names.gather(numbers[:2]).to_list() == ["06037", "06075"]
    # The Aleutians lie on both sides of the end of longitudes.
    assert len(set(numbers[2:].tolist()) - {-1}) <= 1
    degree = np.bincount(found.neighbours().ravel(), minlength=len(found))
    assert 5 < degree.mean() < 7
