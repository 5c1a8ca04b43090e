"""A hierarchy is a tree with contiguous nodes, or it is refused without naming a label."""

from __future__ import annotations

import copy
import itertools
from datetime import timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import HierarchyError, ParameterError
from halfmask.data.hierarchy.tree import Hierarchy, leaf_text

CANARY = "CANARY"


@st.composite
def trees(draw):
    """Rows of a random tree in random order: labels spell their path, so parents are known."""
    height = draw(st.integers(1, 4))
    paths = draw(
        st.lists(
            st.tuples(*[st.integers(0, 2)] * height, st.integers(0, 99)),
            min_size=1,
            max_size=30,
            unique=True,
        )
    )
    return [[f"{depth}:{path[:depth]}" for depth in range(height + 1, 0, -1)] for path in paths]


def naive_boundary(a, b, top):
    """The lowest level at which two rows agree; the added root if none."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=True)) if x == y), top)


@pytest.mark.slow
@given(trees())
def test_leaves_of_every_node_are_contiguous_and_siblings_keep_their_first_order(rows):
    tree = Hierarchy.from_rows(rows, column="c")

    assert sorted(tree.leaves) == sorted(row[0] for row in rows)
    for level in range(tree.height):
        labels = tree.labels(level)
        runs = [x for i, x in enumerate(labels) if i == 0 or labels[i - 1] != x]
        assert len(runs) == len(set(runs))
    # The topmost level's nodes appear in the order of the rows.
    tops = list(dict.fromkeys(row[-1] for row in rows))
    assert list(dict.fromkeys(tree.labels(len(rows[0]) - 1))) == tops


@pytest.mark.slow
@given(trees(), st.data())
def test_boundaries_and_nodes_agree_with_a_naive_search(rows, data):
    tree = Hierarchy.from_rows(rows, column="c")
    path = {row[0]: row for row in rows}
    there = [path[leaf] for leaf in tree.leaves]
    top = len(rows[0])

    expected = [naive_boundary(a, b, top) for a, b in itertools.pairwise(there)]
    assert tree.boundaries.tolist() == expected
    assert tree.boundaries.dtype == np.uint8
    first = data.draw(st.integers(0, len(tree) - 1))
    last = data.draw(st.integers(first, len(tree) - 1))
    same = [i for i in range(top) if len({row[i] for row in there[first : last + 1]}) == 1]
    assert tree.node(first, last) == ((same[0], there[first][same[0]]) if same else (top, "*"))


@pytest.mark.slow
@given(trees(), st.data())
def test_generalize_follows_the_rows_and_missing_stays_missing(rows, data):
    tree = Hierarchy.from_rows(rows, column="c")
    path = {row[0]: row for row in rows}
    cells = data.draw(st.lists(st.sampled_from([None, *path]), max_size=20))
    level = data.draw(st.integers(0, len(rows[0]) - 1))
    values = pl.Series("x", cells, dtype=pl.String)

    assert tree.generalize(values, level).to_list() == [
        None if cell is None else path[cell][level] for cell in cells
    ]
    assert tree.generalize(values, level).name == "x"
    codes = tree.codes(values)
    assert [None if i is None else tree.leaves[i] for i in codes.to_list()] == cells


def test_a_root_is_added_only_where_the_top_is_not_one_node():
    with_root = Hierarchy.from_rows([("a", "*"), ("b", "*")], column="c")
    without = Hierarchy.from_rows([("a", "x"), ("b", "y")], column="c")

    assert (with_root.height, with_root.root_added) == (2, False)
    assert (without.height, without.root_added) == (3, True)
    assert without.labels(2) == ("*", "*")


def test_one_leaf_is_a_tree():
    tree = Hierarchy.from_rows([("a",)], column="c")

    assert (tree.height, len(tree.boundaries), tree.node(0, 0)) == (1, 0, (0, "a"))


def test_labels_may_repeat_at_other_levels():
    tree = Hierarchy.from_rows([("a", "a", "*"), ("b", "a", "*"), ("c", "c", "*")], column="c")

    assert tree.boundaries.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([], "has no rows"),
        ([(CANARY, "x"), ("b",)], r"uneven levels: row 1 has 2 and row 2 has 1"),
        ([(CANARY, "x"), (CANARY, "x")], "duplicates: 2 rows and 1 different"),
        ([(CANARY, "x"), (CANARY, "y")], "duplicates"),
        ([(CANARY, ""), ("b", "x")], "1 missing labels at level 1"),
        ([("", CANARY)], "1 missing labels at level 0"),
        (
            [("a", CANARY, "x"), ("b", CANARY, "y")],
            "1 labels of level 1 have more than one parent at level 2",
        ),
        ([(CANARY, "b"), ("b", CANARY)], "cycle"),
        ([(CANARY, "b", CANARY)], "cycle"),
        ([(CANARY, None)], "rows of strings"),
        ([tuple(f"{CANARY}{i}" for i in range(256))], "256 levels; 255 are the most"),
    ],
)
def test_what_is_no_hierarchy_is_refused_without_a_label(rows, says):
    with pytest.raises(HierarchyError, match=says) as caught:
        Hierarchy.from_rows(rows, column="zip code")

    assert "'zip code'" in str(caught.value)
    assert CANARY not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_value_spelt_like_the_root_is_a_value():
    tree = Hierarchy.from_rows([("*", "x"), ("b", "y")], column="c")

    assert (tree.leaves, tree.labels(2)) == (("*", "b"), ("*", "*"))


def test_values_without_a_leaf_are_counted_and_not_shown():
    tree = Hierarchy.from_rows([("a", "*")], column="c")
    with pytest.raises(HierarchyError, match=r"column 'd' lacks 2 values .* in 3 rows") as caught:
        tree.cover(pl.Series(["a", CANARY, CANARY, f"{CANARY}2", None]), column="d")

    assert CANARY not in str(caught.value)
    tree.cover(pl.Series(["a", None]))
    tree.cover(pl.Series([None, None]))


def test_repr_has_neither_values_nor_labels():
    tree = Hierarchy.from_rows([(CANARY, f"{CANARY} above")], column="c")

    assert CANARY not in repr(tree)
    assert CANARY not in str(tree)


def test_numbers_dates_and_categories_find_their_leaves():
    tree = Hierarchy.from_rows([("1", "odd"), ("2", "even")], column="c")

    for values in (
        pl.Series([1, 2]),
        pl.Series([1.0, 2.0]),
        pl.Series(["1", "2"], dtype=pl.Categorical),
        pl.Series(["1", "2"], dtype=pl.Enum(["2", "1"])),
    ):
        assert tree.generalize(values, 1).to_list() == ["odd", "even"]


@pytest.mark.slow
@given(st.lists(st.none() | st.integers(-(2**60), 2**60)))
def test_whole_numbers_are_spelt_alike_as_integers(cells):
    assert leaf_text(pl.Series(cells, dtype=pl.Int64)).to_list() == [
        None if cell is None else str(cell) for cell in cells
    ]


def test_floats_lose_a_zero_fraction_only():
    cells = [1.0, -3.0, 0.25, None, float("inf"), 1e300]

    text = leaf_text(pl.Series(cells)).to_list()

    assert text[:4] == ["1", "-3", "0.25", None]
    assert [float(x) for x in text[4:]] == cells[4:]


def test_levels_and_leaves_that_are_not_there():
    tree = Hierarchy.from_rows([("a", "*"), ("b", "*")], column="c")

    with pytest.raises(HierarchyError, match="no level 2"):
        tree.labels(2)
    with pytest.raises(ParameterError, match="level"):
        tree.labels(-1)
    with pytest.raises(HierarchyError, match="none with index 2"):
        tree.node(0, 2)
    with pytest.raises(ParameterError, match="last"):
        tree.node(1, 0)


def test_a_hierarchy_is_a_value():
    rows = [("a", "x"), ("b", "x")]
    tree = Hierarchy.from_rows(rows, column="c")

    assert tree == Hierarchy.from_rows(rows, column="c")
    assert hash(tree) == hash(copy.deepcopy(tree))
    assert tree == copy.deepcopy(tree)
    assert tree != Hierarchy.from_rows([("a", "y"), ("b", "y")], column="c")
    with pytest.raises(ValueError, match="read-only"):
        tree.boundaries[0] = 0


def test_spans_of_time_are_spelt_as_iso_8601():
    spans = pl.Series([timedelta(days=1, minutes=3), timedelta(microseconds=5), None])

    assert leaf_text(spans).to_list() == ["P1DT3M", "PT0.000005S", None]
