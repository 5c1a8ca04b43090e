"""Test the builder of small tables that other tests use, and the equations of cells."""

from __future__ import annotations

import numpy as np

from crosstabs._tables import at, cells_of  # type: ignore[import-not-found] # beside
from halfmask.crosstabs import CodeSum, Dimension


def test_a_small_table_has_all_totals_and_equations():
    cells = cells_of([[4, 3], [2, 1]])
    assert cells.n == 9
    assert cells.value[at(cells)] == 10
    assert cells.value[at(cells, "a1")] == 7
    assert cells.value[at(cells, "Total", "b2")] == 4
    assert cells.equations.shape == (6, 9)
    np.testing.assert_array_equal(cells.equations @ cells.value, 0)
    assert list(cells.tables["t"]) == list(range(9))


def test_contributions_of_one_owner_are_one():
    cells = cells_of(shape=(1, 2), contributors=[[[(7, 5), (8, 2)], [(7, 4), (9, 1)]]])
    owners, total = cells.contributors, at(cells)
    assert owners.count[total] == 3
    assert owners.rows[total] == 4
    np.testing.assert_array_equal(owners.largest[total], [9, 2, 1, 0, 0])
    np.testing.assert_array_equal(owners.owners[total], [7, 8, 9, -1, -1])


def test_overlapping_sums_are_equations_too():
    size = Dimension(
        name="size",
        codes=("Total", "big", "a", "b", "c"),
        sums=(CodeSum("Total", ("a", "b", "c")), CodeSum("big", ("b", "c"))),
        total="Total",
    )
    cells = cells_of([1, 2, 3], dimensions=(size,))
    assert cells.value[at(cells, "big")] == 5
    assert cells.equations.shape[0] == 2
