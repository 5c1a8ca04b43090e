"""Hexagons are those of H3, with borders that a map can draw anywhere."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from halfmask._errors import DataError, HierarchyError, ParameterError, SchemaError
from halfmask.geo import Hexagons, Points

h3 = pytest.importorskip("h3")
shapely = pytest.importorskip("shapely")
from shapely.geometry import shape  # noqa: E402 # an extra


def points(*at, unit="degrees"):
    x, y = np.array(at, dtype=float).reshape(-1, 2).T
    return Points(x=x, y=y, unit=unit)


def test_levels_are_parents_of_h3():
    rule = Hexagons((9, 7, 5))
    at = points((4.9, 52.37), (math.nan, math.nan), (-0.13, 51.51), (4.9, 52.37))

    labels = rule.locate(at)
    levels = rule.build(labels.drop_nulls().unique(), column="home").levels

    assert labels.to_list()[1] is None
    assert labels[0] == labels[3] == h3.latlng_to_cell(52.37, 4.9, 9)
    for row in levels.iter_rows():
        assert row[1:] == (h3.cell_to_parent(row[0], 7), h3.cell_to_parent(row[0], 5), "*")


@given(st.floats(-180, 180), st.floats(-90, 90), st.sampled_from([0, 3, 7]))
@example(180, 65, 7)
@example(-180, 65, 3)
@example(12, 90, 3)
@example(12, -90, 0)
@example(179.9, -89.9, 3)
def test_borders_hold_the_point_within_the_longitudes_that_there_are(lon, lat, resolution):
    rule = Hexagons((resolution,))
    label = rule.locate(points((lon, lat)))[0]
    borders = shape(rule.outline(label))

    west, _, east, _ = borders.bounds
    assert borders.is_valid
    assert west >= -180
    assert east <= 180
    # Borders are straight in degrees here, and on the earth in H3.
    centre = shapely.Point(*h3.cell_to_latlng(label)[::-1])
    assert borders.contains(centre)
    assert borders.distance(shapely.Point(lon, lat)) < max(0.05 * (east - west), 1e-9)


def test_finer_cells_of_a_table_become_hexagons():
    rule = Hexagons((7, 5))
    fine = [h3.latlng_to_cell(52.37, 4.9, it) for it in (7, 9, 12)]

    labels = rule.of_codes(pl.Series([*fine, None, fine[1].upper()]), column="cell")

    assert labels.to_list() == [fine[0]] * 3 + [None, fine[0]]
    numbers = pl.Series([h3.str_to_int(it) for it in fine] + [None], dtype=pl.UInt64)
    assert rule.of_codes(numbers, column="cell").to_list() == [fine[0]] * 3 + [None]


def test_other_codes_are_counted_and_not_quoted():
    rule = Hexagons((7, 5))
    wide = h3.latlng_to_cell(52.37, 4.9, 6)

    with pytest.raises(DataError, match="'cell' has 5 values that are no cells of H3") as refused:
        rule.of_codes(pl.Series([wide, "CANARY", "", "9" * 30, "8" * 15, None]), column="cell")
    assert wide not in str(refused.value)
    assert "CANARY" not in str(refused.value)
    with pytest.raises(HierarchyError, match="has 2 values that are no hexagons"):
        rule.build(pl.Series([wide, h3.latlng_to_cell(52.37, 4.9, 8)]), column="cell")
    assert rule.outline(wide) is rule.outline("*") is None


@pytest.mark.parametrize("resolutions", [(), (5, 7), (7, 7), (16,), (-1,), (7.5,), (True,), 7])
def test_resolutions_must_fall(resolutions):
    with pytest.raises(ParameterError, match="'resolutions'"):
        Hexagons(resolutions)


def test_points_of_a_plane_need_a_system():
    with pytest.raises(SchemaError, match="have nothing in common"):
        Hexagons((7,)).locate(points((149_712, 470_104), unit="metres"))
