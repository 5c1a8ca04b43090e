"""Distances of tables whose cells are spread, against parts that were counted by hand."""

from __future__ import annotations

import polars as pl
import pytest

from halfmask.assess.synthesis import spread_distances
from halfmask.data import Hierarchy

NUMBERS = pl.DataFrame({"n": [1, 2, 3, 4]})
COLOURS = pl.DataFrame({"c": ["red", "red", "blue", "green"]})
TREE = Hierarchy.from_rows([["red", "warm"], ["blue", "cold"], ["green", "cold"]], column="c")


def distance(original, released, tree=None):
    (found,) = spread_distances(original, released, {} if tree is None else {"c": tree})[0].values()
    return found


@pytest.mark.parametrize(
    ("released", "wanted"),
    [
        ([1, 2, 3, 4], 0.0),
        ([4, 3, 2, 1], 0.0),
        ([1, 1, 1, 1], 0.75),  # three of four rows have to move
        (["[1, 2]", "[1, 2]", "[3, 4]", "[3, 4]"], 0.0),  # evenly over both values
        (["[1, 3)", "[1, 3)", "[1, 3)", "[1, 3)"], 0.5),
        (["*", "*", "*", "*"], 0.0),
        (["[1, 3]", "[1, 3]", "[1, 3]", "4"], 0.0),
        ([None, 2, 3, 4], 0.25),
    ],
)
def test_numbers_and_ranges(released, wanted):
    assert distance(NUMBERS, pl.DataFrame({"n": released})) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("released", "wanted"),
    [
        (["green", "red", "blue", "red"], 0.0),
        (["{blue, red}", "{blue, red}", "{blue, green}", "{blue, green}"], 0.25),
        (["warm", "warm", "cold", "cold"], 0.0),
        (["warm", "warm", "warm", "cold"], 0.25),
        (["*"] * 4, 1 / 6),  # a third each, in the place of a half and two quarters
        ([None, "red", "blue", "green"], 0.25),
        (["purple", "red", "blue", "green"], 0.25),
    ],
)
def test_categories_sets_and_nodes(released, wanted):
    assert distance(COLOURS, pl.DataFrame({"c": released}), TREE) == pytest.approx(wanted)


def test_two_columns_know_what_single_ones_dont():
    """Values that are swapped leave each column, and no pair of them, as it was."""
    original = pl.DataFrame({"a": ["x", "y"] * 10, "b": ["x", "y"] * 10})
    swapped = original.with_columns(b=pl.Series(["y", "x"] * 10))
    alone, pairs = spread_distances(original, swapped, {})

    assert alone == {"a": 0.0, "b": 0.0}
    assert pairs is not None
    assert (pairs.mean, pairs.worst) == (1.0, ("a", "b"))


def test_columns_without_values_and_alone():
    empty = pl.DataFrame({"a": pl.Series([None, None], dtype=pl.Int64)})

    assert spread_distances(empty, empty, {}) == ({"a": 0.0}, None)
