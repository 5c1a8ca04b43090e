"""Cells are divided only as long as enough people live in each quarter where anybody does."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import DataError, HierarchyError, ParameterError
from halfmask.geo import AreaMap, PointMap, Points, Quadtree


def points(*at, unit="metres"):
    x, y = np.array(at, dtype=float).reshape(-1, 2).T
    return Points(x=x, y=y, unit=unit)


def addresses(*at, unit="metres"):
    return PointMap(points=points(*at, unit=unit), people=np.ones(len(at)))


def divided(homes, left, below, side, least):
    """Return the homes of each undivided cell, by its corner and side; by recursion."""
    half = side // 2
    quarters = {
        (x, y, half): [it for it in homes if x <= it[0] < x + half and y <= it[1] < y + half]
        for x in (left, left + half)
        for y in (below, below + half)
    }
    if side == 1 or all(len(inside) < least for inside in quarters.values()):
        return {(left, below, side): homes}
    return {
        cell: own
        for quarter, inside in quarters.items()
        if inside
        for cell, own in divided(inside, *quarter, least).items()
    }


def drawn(rule, label, at):
    """How many points lie in the outline of a region."""
    outline = rule.outline(label)
    rings = [outline["coordinates"]] if outline["type"] == "Polygon" else outline["coordinates"]
    inside = np.zeros(len(at), bool)
    for ((west, south), _, (east, north), *_), *_ in rings:
        inside |= (at.x >= west) & (at.x < east) & (at.y >= south) & (at.y < north)
    return inside.sum()


def far(one, other):
    return math.dist(*([x + side / 2, y + side / 2] for x, y, side in (one, other)))


HOMES = st.lists(
    st.tuples(st.integers(0, 15), st.integers(0, 15)), min_size=4, max_size=60, unique=True
)


@given(HOMES, st.integers(1, 4))
def test_cells_are_those_of_a_recursion_and_small_ones_join_the_nearest(homes, least):
    rule = Quadtree(1, addresses(*(np.array(homes) * 1000 + 500)), (least,))
    labels = dict(zip(homes, rule.locate(points(*(np.array(homes) * 1000 + 1))), strict=True))
    cells = divided(homes, 0, 0, 16, least)
    large = [cell for cell, inside in cells.items() if len(inside) >= least]

    for cell, inside in cells.items():
        (label,) = {labels[home] for home in inside}
        *_, side = own = next(
            it for it in large if label.startswith(f"x={it[0] * 1000} y={it[1] * 1000} {it[2]}km")
        )
        assert (
            own == cell if cell in large else far(own, cell) == min(far(it, cell) for it in large)
        )
        members = [it for it, label_ in labels.items() if label_ == label]
        others = [it for it in cells if it != own and labels[cells[it][0]] == label]
        assert label == f"x={own[0] * 1000} y={own[1] * 1000} {side}km" + (
            f" + {len(others)} more" if others else ""
        )
        assert rule.people_of(label) == len(members) >= least
        assert len((rule.outline(label) or {})["coordinates"]) == len(others) + 1


@given(HOMES, st.lists(st.integers(1, 4), min_size=2, max_size=3, unique=True))
def test_levels_nest_and_each_region_has_enough_people(homes, least):
    least = tuple(sorted(least))
    rule = Quadtree(1, addresses(*(np.array(homes) * 1000)), least)
    at = points(*(np.array(homes) * 1000))
    labels = rule.locate(at)
    levels = rule.build(labels.unique(), column="home").levels  # raises unless it is a tree

    for level, enough in enumerate(least):
        path = dict(levels.select("0", pl.col(str(level)).alias("up")).iter_rows())
        for label, many in Counter(path[label] for label in labels).items():
            assert rule.people_of(label) == many >= enough
            assert drawn(rule, label, at) == many


def test_a_lone_home_keeps_no_others_in_a_wide_cell():
    town = [(100 + 1000 * (n % 8), 100 + 1000 * (n // 8)) for n in range(64)]
    rule = Quadtree(1, addresses(*town, (900_000, 700_000)), (4,))

    labels = rule.locate(points(*town, (900_000, 700_000)))

    assert labels.n_unique() == 16
    assert labels[64].endswith("2km + 1 more")
    assert rule.people_of(labels[64]) == 5


@pytest.mark.parametrize(("least", "means"), [(2, [1, 2, 3, 4]), (5, [2.5])])
def test_values_averaged_are_those_of_sdcspatial(least, means):
    # protect_quadtree of sdcSpatial 0.6.9, one value a cell of 4 x 4; see rooms-to-build 2.2.
    values = [1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4]
    at = points(*((1000 * (n % 4) + 500, 1000 * (n // 4) + 500) for n in range(16)))
    rule = Quadtree(1, PointMap(points=at, people=np.ones(16)), (least,))

    found = pl.DataFrame({"cell": rule.locate(at), "value": values})

    averaged = found.group_by("cell").agg(pl.col("value").mean())["value"]
    assert averaged.sort().to_list() == means


def test_points_where_nobody_lives_are_counted():
    rule = Quadtree(1, addresses((100, 100), (200, 100), (5100, 100), (5200, 100)), (2,))

    labels = rule.locate(points((900, 900), (math.nan, math.nan), (5500, 10)))
    assert labels.to_list() == ["x=0 y=0 1km", None, "x=5000 y=0 1km"]
    with pytest.raises(DataError, match="3 points lie in cells where the map of people"):
        rule.locate(points((2500, 100), (900, 900), (1e6, 0), (-1, 0)))


def test_one_address_and_too_few_people():
    rule = Quadtree(1, addresses((100, 100)), (1,))
    assert rule.locate(points((999, 0))).to_list() == ["x=0 y=0 1km"]
    with pytest.raises(DataError, match="has 1 in all, fewer than the 2 of 'least'"):
        Quadtree(1, addresses((100, 100)), (2,))
    nobody = PointMap(points=points((1, 1), (2, 2)), people=np.array([0.0, 0.4]))
    with pytest.raises(DataError, match=r"has 0\.4 in all"):
        Quadtree(1, nobody, (1,))
    # West and east of the origin no cell has both.
    rule = Quadtree(1, addresses((-100, 100), (100, 100)), (2,))
    assert (
        rule.locate(points((100, 100), (-1, 1))).to_list() == ["x=-1024000 y=0 1024km + 1 more"] * 2
    )


def test_people_of_several_at_one_address_count_each():
    map_ = PointMap(points=points((100, 100), (1100, 100)), people=np.array([7.0, 5]))

    assert Quadtree(1, map_, (5,)).locate(points((1, 1), (1001, 1))).n_unique() == 2
    assert Quadtree(1, map_, (6,)).locate(points((1, 1), (1001, 1))).n_unique() == 1
    nowhere = (math.nan, math.nan)
    empty = PointMap(points=points((100, 100), (1100, 100), nowhere), people=np.array([7.0, 0, 9]))
    with pytest.raises(DataError, match="1 points lie in cells"):
        Quadtree(1, empty, (5,)).locate(points((1, 1), (1001, 1)))


@pytest.mark.parametrize("at", [(4.9, 52.37), (179.99, -16.5), (-179.99, -16.5), (0.001, 89.9)])
def test_cells_of_the_earth_hold_their_people(at):
    rng = np.random.default_rng(48)
    x = at[0] + rng.normal(0, 0.05, 400)
    y = at[1] - np.abs(rng.normal(0, 0.05, 400))
    homes = points(*zip((x + 180) % 360 - 180, y, strict=True), unit="degrees")
    rule = Quadtree(0.5, PointMap(points=homes, people=np.ones(400)), (10, 50))

    labels = rule.locate(homes)
    levels = rule.build(labels.unique(), column="home").levels

    assert levels.height > 1
    for level in (0, 1):
        path = {row[0]: row[level] for row in levels.iter_rows()}
        counted = Counter(path[label] for label in labels)
        assert min(counted.values()) >= (10, 50)[level]
        for label, many in counted.items():
            assert rule.people_of(label) == many
            assert drawn(rule, label, homes) == many


def test_other_labels_are_counted_and_not_quoted():
    rule = Quadtree(1, addresses((100, 100), (200, 100)), (2,))
    with pytest.raises(HierarchyError, match="has 2 values that are no cells") as refused:
        rule.build(pl.Series(["CANARY", "x=0 y=0 1km", "x=9000 y=0 1km"]), column="home")
    assert "CANARY" not in str(refused.value)
    assert rule.outline("x=9000 y=0 1km") is rule.outline("*") is None
    assert rule.people_of("*") is None
    with pytest.raises(ParameterError, match="Quadtree needs points"):
        rule.of_codes(pl.Series(["CANARY"]), column="home")


@pytest.mark.parametrize(
    ("smallest", "least"), [(0, (1,)), (1, ()), (1, (2, 1)), (1, (0,)), (1, 5), (1, (1.5,))]
)
def test_parameters_are_checked(smallest, least):
    with pytest.raises(ParameterError, match=r"'smallest'|'least'"):
        Quadtree(smallest, addresses((100, 100), (200, 100)), least)


def test_a_map_of_names_says_nothing_of_where_people_live():
    with pytest.raises(ParameterError, match="must be a map of points"):
        Quadtree(1, AreaMap(names=pl.Series(["a"]), people=np.ones(1)), (1,))  # type: ignore[arg-type] # refused
