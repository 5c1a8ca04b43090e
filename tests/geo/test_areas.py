"""Areas are merged until enough people live in each region, within what they are part of."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import DataError, HierarchyError, ParameterError
from halfmask.geo import AreaMap, Areas, PointMap, Points

shapely = pytest.importorskip("shapely")


def points(*at):
    x, y = np.array(at, dtype=float).reshape(-1, 2).T
    return Points(x=x, y=y, unit="metres")


def squares(side, *, people=None, names=None, parents=()):
    """A map of unit squares, row by row."""
    boxes = [shapely.box(x, y, x + 1, y + 1) for y in range(side) for x in range(side)]
    return AreaMap(
        names=pl.Series(names or [f"a{number:02}" for number in range(side * side)]),
        parents=tuple(pl.Series(f"part{it}", parent) for it, parent in enumerate(parents)),
        people=None if people is None else np.array(people, float),
        shapes=np.array(boxes),
        unit="metres",
    )


def regions(rule, level=1):
    """The areas of each region, by its label."""
    found = defaultdict(set)
    names = rule.areas.names.to_list()
    tree = rule.build(pl.Series(sorted(names)), column="home").levels
    for row in tree.iter_rows():
        found[row[level]].add(row[0])
    return dict(found)


def greedy(people, near, least):
    """Merge as the rule says, by sets alone."""
    parts = [frozenset([name]) for name in people]

    def key(part):
        return sum(people[name] for name in part), min(part)

    while min(map(key, parts))[0] < least:
        small = min(parts, key=key)
        touching = [
            it for it in parts if it != small and any(near(a, b) for a in small for b in it)
        ]
        other = min(touching, key=key)
        parts = [it for it in parts if it not in (small, other)] + [small | other]
    return set(parts)


@given(st.lists(st.integers(0, 30), min_size=16, max_size=16), st.integers(1, 60))
def test_regions_are_those_of_the_rule_and_each_has_enough_people(many, least):
    people = {f"a{number:02}": count for number, count in enumerate(many)}
    if sum(many) < least:
        with pytest.raises(DataError, match=f"has {sum(many)} in all, fewer than the {least}"):
            Areas(squares(4, people=many), None, (least,))
        return
    rule = Areas(squares(4, people=many), None, (least,))

    def near(one, other):  # squares that share a corner touch, too
        (y, x), (v, u) = (divmod(int(it[1:]), 4) for it in (one, other))
        return max(abs(y - v), abs(x - u)) == 1

    found = regions(rule)
    assert set(map(frozenset, found.values())) == greedy(people, near, least)
    for label, members in found.items():
        more = f" + {len(members) - 1} more" if len(members) > 1 else ""
        assert label == min(members) + more
        assert rule.people_of(label) == sum(people[name] for name in members) >= least
        assert shapely.geometry.shape(rule.outline(label)).area == pytest.approx(len(members))


@given(
    st.lists(st.integers(0, 30), min_size=16, max_size=16),
    st.lists(st.sampled_from("PQRS"), min_size=16, max_size=16),
    st.randoms(use_true_random=False),
)
def test_levels_nest_and_the_order_of_the_file_does_not_matter(many, parents, random):
    wholes = ["EW"[name in "PQ"] for name in parents]
    least = (10, 40)
    if sum(many) < 40:
        return
    rule = Areas(squares(4, people=many, parents=(parents, wholes)), None, least)
    names = rule.areas.names
    levels = rule.build(names, column="home").levels  # raises unless it is a tree

    assert levels.width == 1 + 2 + 2 + 1
    smallest = [10, 40, 40, 40]
    of: defaultdict[str, int] = defaultdict(int)
    count = dict(zip(names, many, strict=True))
    for level, enough in enumerate(smallest, start=1):
        of.clear()
        for row in levels.iter_rows():
            of[row[level]] += count[row[0]]
        assert min(of.values()) >= enough
        assert {label: rule.people_of(label) for label in of} == of
    order = list(range(16))
    random.shuffle(order)
    shuffled = AreaMap(
        names=names.gather(order),
        parents=tuple(it.gather(order) for it in rule.areas.parents),
        people=np.array(many, float)[order],
        shapes=rule.areas.shapes[order],
        unit="metres",
    )
    again = Areas(shuffled, None, least).build(names, column="home").levels
    assert sorted(again.rows()) == sorted(levels.rows())


@pytest.mark.parametrize("names", ["abcde", "edcba"])
def test_names_decide_between_equals(names):
    shapes = np.array([shapely.box(x, 0, x + 1, 1) for x in map("abcde".index, names)])
    areas = AreaMap(names=pl.Series(list(names)), people=np.ones(5), shapes=shapes, unit="metres")

    # a joins b, then c joins d, and e is left over.
    assert set(regions(Areas(areas, None, (2,)))) == {"a + 1 more", "c + 2 more"}


def test_regions_stay_within_a_parent_with_enough_people():
    # A row of four: the first two are West. Without it, a01 would join a02.
    names, parents = ["a00", "a01", "a02", "a03"], ["West", "West", "East", "East"]
    rule = Areas(squares(2, people=[9, 2, 1, 9], names=names, parents=(parents,)), None, (10,))

    assert regions(rule) == {"a00 + 1 more": {"a00", "a01"}, "a02 + 1 more": {"a02", "a03"}}
    assert regions(rule, 2) == {"West": {"a00", "a01"}, "East": {"a02", "a03"}}


def test_a_parent_with_too_few_people_joins_its_neighbour():
    parents = ["A", "A", "B", "C"]
    rule = Areas(squares(2, people=[6, 6, 4, 20], parents=(parents,)), None, (10,))

    assert regions(rule, 2) == {"A + 1 more": {"a00", "a01", "a02"}, "C": {"a03"}}
    assert set(regions(rule)) == {"a00 + 2 more", "a03"}


def test_an_island_joins_the_nearest_region_over_water():
    shapes = [shapely.box(x, 0, x + 1, 1) for x in (0, 1, 5, 9)]
    rule = Areas(
        AreaMap(
            names=pl.Series(["a", "b", "island", "z"]),
            people=np.array([10.0, 50, 3, 10]),
            shapes=np.array(shapes),
            unit="metres",
        ),
        None,
        (10,),
    )

    # Its middle is 4 from that of b, and 4 from that of z: the one that comes first.
    assert regions(rule) == {"a": {"a"}, "b + 1 more": {"b", "island"}, "z": {"z"}}


def test_points_find_their_region_and_those_outside_are_counted():
    rule = Areas(squares(2, people=[1, 1, 5, 5]), None, (2,))
    labels = rule.locate(points((0.5, 0.5), (1.5, 0.5), (math.nan, math.nan), (0.5, 1.5)))

    assert labels.to_list() == ["a00 + 1 more", "a00 + 1 more", None, "a02"]
    levels = rule.build(labels.drop_nulls().unique(), column="home").levels
    assert sorted(levels.rows()) == [("a00 + 1 more", "*"), ("a02", "*")]
    with pytest.raises(DataError, match="2 points lie in no area"):
        rule.locate(points((7, 7), (0.5, 0.5), (-1, 0), (math.nan, math.nan)))


def test_names_find_their_region_and_others_are_counted():
    rule = Areas(squares(2, people=[1, 1, 5, 5]), None, (2,))

    labels = rule.of_codes(pl.Series(["a01", None, "a03"]), column="county")
    assert labels.to_list() == ["a00 + 1 more", None, "a03"]
    with pytest.raises(DataError, match="1 values of column 'county' lie in no area") as refused:
        rule.of_codes(pl.Series(["CANARY", "a00", None]), column="county")
    assert "CANARY" not in str(refused.value)
    with pytest.raises(DataError, match="have lost zeros"):
        rule.of_codes(pl.Series([1001]), column="county")
    with pytest.raises(HierarchyError, match="has 2 values that are no areas") as strange:
        rule.build(pl.Series(["CANARY", "a00 + 1 more", "a02"]), column="county")
    assert "CANARY" not in str(strange.value)
    assert rule.outline("*") is None
    assert rule.people_of("*") is None


def test_without_least_the_areas_themselves_are_the_finest():
    rule = Areas(squares(2, parents=(["x", "x", "y", "y"],)))

    labels = rule.locate(points((0.5, 0.5), (0.5, 1.5)))
    assert sorted(rule.build(labels, column="home").levels.rows()) == [
        ("a00", "x", "*"),
        ("a02", "y", "*"),
    ]
    assert rule.people_of("x") is None
    assert shapely.geometry.shape(rule.outline("x")).bounds == (0, 0, 2, 1)


def test_people_are_counted_at_points_or_by_names():
    homes = points(*[(0.5, 0.5)] * 3, (1.5, 0.5), *[(0.5, 1.5)] * 4, (9, 9), *[(1.5, 1.5)] * 4)
    by_points = Areas(squares(2), PointMap(points=homes, people=np.ones(len(homes))), (4,))
    named = AreaMap(names=pl.Series(["a03", "a00", "a01", "a02"]), people=np.array([4.0, 3, 1, 4]))
    by_names = Areas(squares(2), named, (4,))

    assert regions(by_points) == regions(by_names)
    assert regions(by_names) == {"a00 + 1 more": {"a00", "a01"}, "a02": {"a02"}, "a03": {"a03"}}


def test_areas_whose_people_are_not_known_are_in_no_region():
    people = AreaMap(names=pl.Series(["a00", "a01", "elsewhere"]), people=np.array([4.0, 5, 99]))
    rule = Areas(squares(2), people, (9,))

    assert rule.of_codes(pl.Series(["a00", "a01"]), column="c").to_list() == ["a00 + 1 more"] * 2
    with pytest.raises(DataError, match="2 points lie in areas whose people aren't") as refused:
        rule.locate(points((0.5, 1.5), (0.5, 0.5), (1.5, 1.5)))
    assert "lacks 2 of the 4 areas" in str(refused.value)
    assert "lost zeros" in str(refused.value)
    with pytest.raises(DataError, match="1 points lie in no area of the map"):
        rule.locate(points((0.5, 1.5), (7, 7)))
    with pytest.raises(DataError, match="has 0 in all"):
        Areas(squares(2), AreaMap(names=pl.Series(["x"]), people=np.array([9.0])), (9,))


def test_a_label_of_several_levels_stands_for_the_same_areas():
    names = ["New York", "Kings", "Lake", "Hills"]
    wholes = ["New York", "New York", "Ohio", "Lake"]
    rule = Areas(squares(2, names=names, parents=(wholes,)))
    levels = rule.build(pl.Series(names), column="county").levels

    assert dict(levels.select("0", "1").iter_rows()) == {
        "New York": "New York (part0)",
        "Kings": "New York (part0)",
        "Lake": "Ohio",
        "Hills": "Lake (part0)",
    }
    # One name of a part in two wholes: each is called by its whole.
    parts, wholes = ["001", "001", "001", "003"], ["06", "06", "36", "36"]
    rule = Areas(squares(2, parents=(parts, wholes)))
    tree = rule.build(pl.Series(["a00", "a01", "a02", "a03"]), column="county")
    assert sorted(set(tree.labels(1))) == ["001", "001 (36)", "003"]


def test_centres_are_merged_with_their_neighbours_and_drawn_as_points():
    areas = AreaMap(
        names=pl.Series(["a", "b", "c", "d"]),
        people=np.array([3.0, 4, 50, 60]),
        centres=points((0, 0), (1, 0), (10, 1), (11, 9)),
    )
    rule = Areas(areas, None, (7,))

    assert regions(rule) == {"a + 1 more": {"a", "b"}, "c": {"c"}, "d": {"d"}}
    assert rule.outline("a + 1 more") == {"type": "MultiPoint", "coordinates": [[0, 0], [1, 0]]}


@pytest.mark.parametrize("name", ["*", "b or missing"])
def test_names_that_releases_write_for_other_things_are_refused(name):
    four = ["a", "b", "c", name]
    for named in ({"names": four}, {"parents": (four,)}):
        with pytest.raises(DataError, match="1 names of areas are"):
            Areas(squares(2, people=[1] * 4, **named))


def test_maps_that_can_not_be_merged_are_refused():
    for people in (None, squares(2)):
        with pytest.raises(ParameterError, match=r"with numbers of people\. Got AreaMap"):
            Areas(squares(2), people, (5,))
    with pytest.raises(ParameterError, match="must be a map of named areas"):
        Areas(PointMap(points=points((0, 0)), people=np.ones(1)))  # type: ignore[arg-type] # refused
    with pytest.raises(ParameterError, match="must rise"):
        Areas(squares(2, people=[9, 9, 9, 9]), None, (5, 2))
    with pytest.raises(ParameterError, match="'least'"):
        Areas(squares(2, people=[9, 9, 9, 9]), None, (0,))
    names_alone = AreaMap(names=pl.Series(["a", "b"]), people=np.array([1.0, 9]))
    with pytest.raises(DataError, match="where its areas are"):
        Areas(names_alone, None, (5,)).of_codes(pl.Series(["a"]), column="c")
    assert Areas(names_alone).build(pl.Series(["a"]), column="c").levels.row(0) == ("a", "*")
    assert Areas(names_alone).outline("a") is None
