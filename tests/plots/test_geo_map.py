"""A map is true to scale, holds no markup of its words, and stays small."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET  # what we drew ourselves

import numpy as np
import pytest

from halfmask.plots import svg
from halfmask.plots.geo_map import MOST_SHAPES, GeoMap, MapArea
from halfmask.release import PicturesBlock, html_page

NUMBER = r"(-?[\d.]+)"
DOT = re.compile(rf'<circle class="after" cx="{NUMBER}" cy="{NUMBER}" r="([\d.]+)"/>')


def square(x, y, side=1.0):
    corners = [[x, y], [x + side, y], [x + side, y + side], [x, y + side], [x, y]]
    return {"type": "Polygon", "coordinates": [corners]}


def dots(drawn):
    """The middle of each released point, in units of the drawing; the last is of the legend."""
    return np.array([(float(x), float(y)) for x, y, _ in DOT.findall(drawn)[:-1]])


def metres_a_unit(drawn):
    """What the bar says: its length on the ground for a unit of the drawing."""
    (long,) = re.findall(rf"v4h{NUMBER}v-4", drawn)
    ((said, unit),) = re.findall(r">([\d,]+) (k?m)<", drawn)
    return float(said.replace(",", "")) * (1000 if unit == "km" else 1) / float(long)


# Ways on WGS84 between ends of an east-west and a north-south line: Karney's algorithm (pyproj).
@pytest.mark.parametrize(
    ("lon", "lat", "lon_to", "lat_to", "metres"),
    [
        (4.9, 52.3, 4.91, 52.3, 682.1),
        (4.9, 52.3, 4.9, 52.31, 1112.8),
        (179.99, -17.0, -179.99, -17.0, 2129.3),  # over the antimeridian
        (0.0, 89.99, 180.0, 89.99, 2233.9),  # over the pole
    ],
)
def test_points_are_as_far_apart_as_the_bar_says(lon, lat, lon_to, lat_to, metres):
    ends = np.array([[lon, lat], [lon_to, lat_to]])

    drawn = GeoMap(name="m", title="Map", after=ends).svg()

    one, other = dots(drawn)
    assert np.linalg.norm(one - other) * metres_a_unit(drawn) == pytest.approx(metres, rel=0.006)


def test_far_points_are_drawn_by_a_projection_that_keeps_areas():
    """Lambert's: 60 degrees from the middle are 2 R sin(30 degrees), Snyder 1987, page 185."""
    places = np.array([[-60.0, 0.0], [0.0, 0.0], [60.0, 0.0]])

    drawn = GeoMap(name="m", title="Map", after=places).svg()

    x = dots(drawn)[:, 0]
    assert np.diff(x) * metres_a_unit(drawn) == pytest.approx([6_371_009] * 2, rel=0.005)


def test_coordinates_of_a_plane_are_as_far_apart_as_their_unit_says():
    feet = np.array([[0.0, 0.0], [3000.0, 4000.0]])

    drawn = GeoMap(name="m", title="Map", after=feet, metres=0.3048).svg()

    (x, y), (to_x, to_y) = dots(drawn)
    assert to_x > x  # the east is right
    assert to_y < y  # the north is up
    apart = np.hypot(to_x - x, to_y - y) * metres_a_unit(drawn)
    assert apart == pytest.approx(5000 * 0.3048, rel=0.003)


def test_fine_areas_are_drawn_over_coarse_ones_and_full_ones_are_darker():
    areas = [
        MapArea(square(4, 52, 0.1), "fine", 90),
        MapArea(square(4, 52), "coarse", 10),
        MapArea(square(5, 52, 0.5), "no count"),
    ]

    drawn = GeoMap(name="m", title="Map", areas=areas).svg()

    shapes = re.findall(r'class="after area" fill-opacity="([\d.]+)".*?<title>(.*?)</title>', drawn)
    assert [words for _, words in shapes] == ["coarse: 10", "no count", "fine: 90"]
    shade = {words: float(it) for it, words in shapes}
    assert shade["fine: 90"] > shade["coarse: 10"] > shade["no count"] == 0


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([7], ["7 rows"]),
        ([10, 10, 20], ["10", "20 rows"]),
        (range(1, 12), ["1 to 3", "3 to 5", "5 to 7", "7 to 9", "9 to 11 rows"]),
        ([None], []),
    ],
)
def test_the_legend_has_the_counts_of_each_shade(counts, said):
    areas = [MapArea(square(4 + i, 52), f"area {i}", it) for i, it in enumerate(counts)]

    drawn = GeoMap(name="m", title="Map", areas=areas).svg()

    words = re.findall(r'class="small">([^<]*)</text>', drawn)
    assert [it for it in words if not it.endswith(" km")] == said


def test_many_areas_are_joined_and_none_of_their_counts_is_lost():
    side = 60
    areas = [
        MapArea(square(0.01 * x, 0.01 * y, 0.01), f"{x} {y}", 1.0)
        for x in range(side)
        for y in range(side)
    ]

    drawn = GeoMap(name="m", title="Map", areas=areas, counted="people").svg()

    assert 0 < drawn.count('class="after area"') <= MOST_SHAPES
    assert "people" in drawn
    assert "0 0" not in re.findall("<title>(.*?)</title>", drawn)
    assert len(drawn) < 300_000


def test_many_points_become_dots_as_large_as_they_are_many():
    drawn_from = np.random.default_rng(7).normal([4.9, 52.3], 0.01, (20_000, 2))

    drawn = GeoMap(name="m", title="Map", after=drawn_from).svg()

    radii = [float(r) for *_, r in DOT.findall(drawn)]
    assert len(radii) <= MOST_SHAPES
    assert max(radii) > 5 * min(radii)


def test_only_few_points_are_joined_with_their_originals():
    few = np.array([[4.9, 52.3], [4.91, 52.3], [np.nan, np.nan]])
    many = np.random.default_rng(7).normal([4.9, 52.3], 0.01, (301, 2))

    lines = [
        re.findall(r'stroke-opacity=".6" d="([^"]*)"', it.svg())
        for it in (
            GeoMap(name="m", title="Map", before=few, after=few + 0.001),
            GeoMap(name="m", title="Map", before=many, after=many + 0.001),
            GeoMap(name="m", title="Map", after=few),
        )
    ]

    assert [sum(it.count("L") for it in each) for each in lines] == [2, 0, 0]


@pytest.mark.parametrize(
    "points", [np.empty((0, 2)), np.array([[np.nan, np.nan]]), np.array([[0.0, 0.0]])]
)
def test_no_point_and_one_point_can_be_drawn(points):
    drawn = GeoMap(name="m", title="Map", before=points, after=points).drawing()

    assert drawn == GeoMap(name="m", title="Map", before=points, after=points).drawing()
    assert "nan" not in drawn


def test_a_centre_several_polygons_and_collections_are_drawn():
    point = {"type": "Point", "coordinates": [4.0, 52.0]}
    points = {"type": "MultiPoint", "coordinates": [[4.0, 52.0], [4.5, 52.0], [5.0, 53.0]]}
    several = {
        "type": "MultiPolygon",
        "coordinates": [square(5, 52)["coordinates"], square(7, 52, 2)["coordinates"]],
    }
    both = {"type": "GeometryCollection", "geometries": [square(4, 53), point]}

    drawn = GeoMap(
        name="m", title="Map", areas=[MapArea(it) for it in (point, points, several, both)]
    )

    assert [path.count("M") for path in re.findall(r' d="([^"]*)">', drawn.svg())] == [2, 2, 1, 3]


def test_words_become_no_markup_in_a_file_or_in_a_page():
    bad = '</svg><script>"&\u202e'
    made = GeoMap(
        name=bad,
        title=bad,
        description=bad,
        areas=[MapArea(square(4, 52), bad, 3)],
        before=np.array([[4.0, 52.0]]),
        counted=bad,
    )

    ET.fromstring(made.drawing())  # noqa: S314 # the same
    ET.fromstring(made.svg())  # noqa: S314 # the same
    page = html_page("Page", [PicturesBlock("Map", "", [("", made, "")])])

    assert "<script" not in page
    assert "\u202e" not in page


def test_every_colour_of_a_map_has_a_dark_one():
    places = np.array([[4.0, 52.0]])
    drawn = GeoMap(
        name="m", title="Map", areas=[MapArea(square(4, 52), "", 3)], before=places, after=places
    ).drawing()
    shapes = drawn.partition("</style>")[2]

    dark = set(re.findall(r'\[fill="(#\w{6})"\]', drawn))
    assert set(re.findall(r"#[0-9a-f]{6}", shapes)) <= dark
    assert svg.RULE in dark
