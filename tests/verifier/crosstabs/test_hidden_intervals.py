"""Intervals of hidden cells: what is exact is found, also over linked tables and hierarchies."""

from __future__ import annotations

import pytest

import halfmask
from verifier.crosstabs.table_releases import (  # type: ignore[import-not-found] # beside
    Table,
    cells_of,
    flat,
    intervals,
    release,
    tree,
)


def holds(folder):
    return halfmask.verify(folder).holds


def geurts(hidden=("11", "12", "21", "22")):
    """G1: four hidden cells; x11 is in [3, 6], the others in intervals of width 3."""
    row, column = flat("row", "r1", "r2", "r3"), flat("column", "c1", "c2")
    values = {"11": 5, "12": 2, "21": 1, "22": 2, "31": 3, "32": 3}
    inner = {(f"r{key[0]}", f"c{key[1]}"): value for key, value in values.items()}
    return Table(
        "t",
        (row, column),
        cells_of(inner, (row, column)),
        {(f"r{k[0]}", f"c{k[1]}") for k in hidden},
    )


@pytest.mark.parametrize(("width", "expected"), [(3, True), (3.01, False), (1, True), (0, False)])
def test_intervals_of_the_handbook_are_three_wide(tmp_path, width, expected):
    assert holds(release(tmp_path / "r", [geurts()], [intervals(width, 4)])) is expected


def test_narrowest_is_held_to_what_is_stated(tmp_path):
    folder = release(tmp_path / "r", [geurts()], [intervals(1, 4, narrowest=3.5)])
    assert not holds(folder)


def test_one_cell_less_hidden_is_exact(tmp_path):
    assert not holds(release(tmp_path / "r", [geurts(("11", "12", "21"))], [intervals(1e-3, 3)]))


G2 = {
    "w": (30, 47, 64, 89),
    "x": (90, 124, 5, 31),
    "y": (92, 100, 59, 85),
    "z": (800, 991, 651, 685),
}


def four_by_four(hidden):
    dimensions = (flat("row", *"wxyz"), flat("column", *"abcd"))
    inner = {(row, "abcd"[at]): value for row, it in G2.items() for at, value in enumerate(it)}
    return Table("t", dimensions, cells_of(inner, dimensions), {tuple(it) for it in hidden})


PATTERN = ("wa", "wb", "wc", "xa", "xc", "yb", "yd", "zb", "zd")


def test_two_hidden_cells_in_each_line_do_not_suffice(tmp_path):
    """G2: wb is exactly 47, though two cells of each row and column are hidden."""
    table = four_by_four(PATTERN)
    assert not holds(release(tmp_path / "a", [table], [intervals(1e-3, 9)]))
    table = four_by_four((*PATTERN, "xb"))
    assert holds(release(tmp_path / "b", [table], [intervals(60, 10)]))


COUNTIES = {"A": 3, "B": 3, "I": 8, "J": 8, "K": 3, "L": 3, "M": 3, "N": 7}


def linked(hidden):
    """G3: one list of codes with two groupings, which each alone hide K, and together don't."""
    dimension = tree("place", {"county-1": "ABIJ", "county-2": "KLMN"})
    more = tree("place", {"big": "LM", "small": "ABIJKN"})
    both = type(dimension)(
        name="place",
        total="Total",
        codes=(*dimension.codes, "big", "small"),
        sums=(*dimension.sums, *more.sums),
    )
    cells = cells_of({(code,): n for code, n in COUNTIES.items()}, (both,))
    return Table("t", (both,), cells, {(code,) for code in hidden})


def test_linked_groupings_are_one_system(tmp_path):
    assert not holds(release(tmp_path / "a", [linked("ABKLM")], [intervals(0.5, 5)]))
    assert holds(release(tmp_path / "b", [linked("ABKLMN")], [intervals(6, 6)]))


def test_tables_that_share_cells_are_one_system(tmp_path):
    """Each table hides two cells of its line; the shared total makes the others exact."""
    row, column, other = (
        flat("row", "r1", "r2"),
        flat("column", "c1", "c2"),
        flat("other", "o1", "o2"),
    )
    inner = {
        ("r1", "c1", "o1"): 4,
        ("r1", "c2", "o2"): 6,
        ("r2", "c1", "o2"): 5,
        ("r2", "c2", "o1"): 7,
    }
    three = (row, column, other)
    cells = cells_of(inner, three)
    by_column = {key[:2]: value for key, value in cells.items() if key[2] == "Total"}
    by_other = {(key[0], key[2]): value for key, value in cells.items() if key[1] == "Total"}
    square = {("r1", "c1"), ("r1", "c2"), ("r2", "c1"), ("r2", "c2")}
    rows = {("r1", "Total"), ("r2", "Total")}
    one = Table("one", (row, column), by_column, square | rows)
    claims = [intervals(1, 6)]
    assert holds(release(tmp_path / "a", [one], claims))
    # The second table shows the totals of rows, which are the same cells.
    two = Table("two", (row, other), by_other)
    found = halfmask.verify(release(tmp_path / "b", [one, two], claims))
    assert not found.holds
    two.hidden = rows
    found = halfmask.verify(release(tmp_path / "c", [one, two], claims))
    assert not found.holds  # r1 is o1 and o2 together, which are published


def test_share_of_sums(tmp_path):
    """Intervals of sums: [3, 6], [1, 4], [0, 3], [0, 3]; the first is half of its end wide."""
    table = geurts()
    table.measure = "turnover"
    assert holds(release(tmp_path / "a", [table], [intervals(0.5, 4, measure="turnover")]))
    assert not holds(release(tmp_path / "b", [table], [intervals(0.51, 4, measure="turnover")]))
    assert not holds(release(tmp_path / "c", [table], [intervals(1.01, 4, measure="turnover")]))


def test_negative_values_have_no_bounds(tmp_path):
    table = geurts()
    table.measure, table.negative = "profit", True
    assert holds(release(tmp_path / "a", [table], [intervals(1.0, 4, measure="profit")]))


def test_the_claim_must_be_about_its_cells(tmp_path):
    table = geurts()
    assert not holds(release(tmp_path / "a", [table], [intervals(3, 5)]))
    assert not holds(release(tmp_path / "b", [table], [intervals(0.1, 4, measure="turnover")]))


def test_combinations_without_a_line_are_nobody(tmp_path):
    """A line that is taken out says 0, so what is left becomes exact."""
    table = geurts()
    del table.cells["r2", "c2"]
    table.hidden.discard(("r2", "c2"))
    assert not holds(release(tmp_path / "a", [table], [intervals(0.5, 3)]))


def test_a_hidden_sum_of_nobody_is_known(tmp_path):
    """The counts show that nobody is in a cell, so its hidden sum is 0."""
    table, counts = geurts(), geurts(())
    table.name, table.measure = "sums", "turnover"
    claims = [intervals(0.4, 4, measure="turnover")]
    assert holds(release(tmp_path / "a", [table, counts], claims))
    shape = {(row, column): 0 for row in ("r1", "r2") for column in ("c1", "c2")}
    counts.cells |= shape
    inner = {key: value for key, value in counts.cells.items() if "Total" not in key}
    counts.cells = cells_of(inner, counts.dimensions) | shape
    assert not holds(release(tmp_path / "b", [table, counts], claims))
