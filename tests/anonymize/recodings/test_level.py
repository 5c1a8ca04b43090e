"""Nodes of a hierarchy."""

from __future__ import annotations

import polars as pl
import pytest

from halfmask.anonymize import Level
from halfmask.data import Hierarchy, Intervals

TREE = Hierarchy.from_rows(
    [("paris", "fr", "eu"), ("lyon", "fr", "eu"), ("rome", "it", "eu"), ("oslo", "no", "north")],
    column="x",
)


@pytest.mark.parametrize(
    ("cell", "node"),
    [
        (["paris", "paris"], "paris"),
        (["lyon", "paris"], "fr"),
        (["lyon", "rome"], "eu"),
        (["paris", "oslo"], "*"),
        (["lyon", None], "lyon or missing"),
        (["lyon", "paris", None], "fr or missing"),
        (["paris", "oslo", None], "* or missing"),
        ([None, None], None),
    ],
)
def test_the_lowest_node_that_holds_all(write, cell, node):
    others = ["paris", "lyon", "rome", "oslo", None]

    written = write(Level(), cell, others, kind="categorical", hierarchy=TREE)

    assert written.to_list() == [node, "* or missing"]


def test_intervals(write):
    rule = Intervals(widths=(5, 10))

    written = write(Level(), [21, 22], [27, 22], [31, 39], [21, 39], [39], hierarchy=rule)

    assert written.to_list() == ["[20, 25)", "[20, 30)", "[30, 40)", "*", "39"]


def test_values_that_only_suppressed_rows_had_change_no_node(write):
    written = write(Level(), ["paris", "lyon"], kind="categorical", hierarchy=TREE, unused=["oslo"])

    assert written.to_list() == ["fr"]


def test_without_a_hierarchy_ranges_are_written(write):
    assert write(Level(), [1, 5], [7]).to_list() == ["[1, 5]", "7"]


def test_a_column_of_missing_cells_only(write):
    written = write(Level(), [None], dtype=pl.String, kind="categorical", hierarchy=TREE)

    assert written.to_list() == [None]
