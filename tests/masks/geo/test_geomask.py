"""Whose draws are the same: by person and place, in each release of a scope."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError, SchemaError
from halfmask.data import open_table
from halfmask.masks import Donut, GaussianPoints, PlanarLaplace, mask_table, traits_of

KEY = bytes(range(32))
HOME: dict[str, Any] = {"columns": ("lon", "lat"), "domain": "home"}
HOMES = {"x": [10.0, 10.0, -3.5, None], "y": [5.0, 5.0, 5.0, None], "id": ["a", "b", "a", "a"]}


def donut(**given: Any) -> Donut:
    """Return a donut over x and y in metres."""
    usual = {"columns": ("x", "y"), "unit": "metres", "radius": (100, 500)}
    return Donut(**{**usual, **given})


def masked(mask, table, *, key=KEY, vault_key=None):
    """Return the table behind one mask."""
    source = open_table(pl.DataFrame(table))
    found = mask_table(source, {}, key=key, table_masks=[mask], vault_key=vault_key)
    return found.read().select(mask.columns)


def test_rows_of_one_place_move_together():
    found = masked(donut(), HOMES)

    assert found.row(0) == found.row(1) != found.row(2)
    assert found.row(3) == (None, None)


def test_two_people_of_one_place_move_apart():
    found = masked(donut(person="id"), HOMES)

    assert found.row(0) != found.row(1)


def test_the_same_home_has_the_same_place_in_another_table():
    """Whatever the other rows, their order, the type of the person and a zero's sign are."""
    first = {"x": [0.0, 7.0], "y": [1.0, 2.0], "id": [1, 2]}
    second = {"x": [5.0, 7.0, -0.0], "y": [5.0, 2.0, 1.0], "id": ["9", "2", "1"]}

    before, after = (masked(donut(person="id"), it) for it in (first, second))

    assert before.rows() == [after.row(2), after.row(1)]


@pytest.mark.parametrize("scope", ["release", "vault", "table"])
def test_scopes(scope):
    """Of a vault, whatever the key of the release is."""
    found = [
        masked(donut(scope=scope), HOMES, key=key, vault_key=bytes(32))
        for key in (KEY, KEY, bytes(32))
    ]

    assert found[0].equals(found[1])
    assert found[0].equals(found[2]) == (scope == "vault")


@pytest.mark.parametrize(
    ("mask", "found"),
    [
        (Donut(**HOME, radius=(100, 500), person="id"), (4.9018223, 52.4033704)),
        (GaussianPoints(**HOME, sigma=300), (4.9054869, 52.3984987)),
        (PlanarLaplace(**HOME, epsilon=0.007), (4.90024, 52.40012)),
    ],
    ids=lambda it: getattr(it, "name", ""),
)
def test_what_earlier_versions_wrote(mask, found):
    """Users keep a key so that homes stay where they were; a home that moves again is averaged."""
    assert masked(mask, {"lon": [4.9], "lat": [52.4], "id": ["a"]}).row(0) == found


def test_a_domain_joins_columns_of_other_names():
    other = pl.DataFrame(HOMES).rename({"x": "east", "y": "north", "id": "who"})
    mask = donut(domain="home", person="id")
    named = donut(domain="home", person="who", columns=("east", "north"))

    assert masked(mask, HOMES).rows() == masked(named, other).rows()


@pytest.mark.filterwarnings("ignore:.*both are 0:halfmask.ColumnWarning")
@pytest.mark.parametrize("x", [0.0, float("nan"), None])
def test_rows_without_a_place_need_no_person(x):
    rows = pl.DataFrame({"x": [x, 4.9], "y": [x, 52.0], "p": [None, "a"]})
    mask = Donut(columns=("x", "y"), radius=(100.0, 500.0), person="p")
    found = mask.fit(rows, bytes(32)).apply(rows, 0)
    assert str(found["x"][0]) == str(x)
    assert found["x"][1] != 4.9


def test_other_radii_have_other_bearings():
    """Two releases with one bearing and two distances would show the line to the home."""
    wide = donut(domain="d", radius=(200, 1000))

    first, second = (masked(it, HOMES).row(0) for it in (donut(domain="d"), wide))

    bearings = [np.arctan2(x - 10.0, y - 5.0) for x, y in (first, second)]
    assert abs(bearings[0] - bearings[1]) > 1e-3


def test_points_within_a_square_share_a_place():
    near = {"x": [1.0, 24.0, 26.0], "y": [1.0, 24.0, 1.0]}

    found = masked(donut(same_within=25.0), near)

    assert found.row(0) == found.row(1) != found.row(2)


def test_batches_are_those_of_the_whole_table():
    table = pl.DataFrame({"x": np.arange(50.0), "y": np.arange(50.0) % 7})
    plan = donut().fit(table, KEY)

    parts = [plan.apply(table.slice(i, 7), i) for i in range(0, 50, 7)]

    assert pl.concat(parts).equals(plan.apply(table, 0))


@pytest.mark.parametrize("dtype", [pl.Int32, pl.Float32, pl.Decimal(12, 2)])
def test_types_of_numbers(dtype):
    table = pl.DataFrame({"x": [1, 2], "y": [3, 4]}, schema={"x": dtype, "y": dtype})

    assert masked(donut(), table).equals(masked(donut(), {"x": [1.0, 2.0], "y": [3.0, 4.0]}))


def test_what_it_leaks_and_who_it_keeps_together():
    mask = donut(person="id")

    assert "exact-other-columns" in mask.weaknesses
    assert "averaging" in mask.weaknesses
    assert traits_of(mask).keyed_by == ("id",)
    assert traits_of(mask).unstated == ("maps",)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"columns": ("x",)}, "two columns"),
        ({"columns": ("x", "x")}, "twice"),
        ({"columns": ("x", "y"), "person": "x"}, "both in"),
        ({"columns": "xy"}, "list"),
        ({"unit": "miles"}, "unit"),
        ({"same_within": -1}, "same_within"),
        ({"within": ""}, "within"),
        ({"radius": (500, 100)}, "smaller one"),
        ({"radius": (0, 0)}, "above 0"),
        ({"radius": (1, 2, 3)}, "two numbers"),
        ({"radius": (-1, 2)}, "above 0"),
        ({"radius": (1, float("inf"))}, "above 0"),
        ({"radius": None}, "Got 0"),
        ({"k": (2, 5)}, "Got 2"),
        ({"radius": None, "k": (2, 5)}, "together"),
        ({"radius": None, "k": (2, 5.5), "addresses": "a"}, "whole"),
        ({"radius": None, "people": (2, 5)}, "together"),
        ({"density": "a"}, "together"),
    ],
)
def test_parameters_that_cannot_be(wrong, words):
    with pytest.raises(ParameterError, match=words):
        donut(**wrong)


def test_what_tables_cannot_be():
    with pytest.raises(SchemaError, match="numbers"):
        masked(donut(), {"x": [True], "y": [1.0]})
    with pytest.raises(SchemaError, match="coordinates"):
        masked(donut(), {"x": ["4,5"], "y": [1.0]})
    with pytest.raises(ColumnNotFoundError, match="y"):
        masked(donut(), {"x": [1.0]})
    with pytest.raises(DataError, match="missing in 1 rows"):
        masked(donut(person="id"), {"x": [1.0, None], "y": [1.0, None], "id": [None, None]})
    with pytest.raises(DataError, match="1 of 2 rows"):
        masked(donut(), {"x": [1.0, 1.0], "y": [None, 1.0]})
    with pytest.raises(ParameterError, match="Got none"):
        masked(donut(within="land"), {"x": [1.0], "y": [1.0]})
    with pytest.raises(DataError, match="1 of 2 points are so large"):
        masked(donut(), {"x": [1.0, 1e16], "y": [1.0, 1.0]})
