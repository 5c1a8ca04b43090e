"""Where a column with a hierarchy may be cut."""

from __future__ import annotations

import numpy as np

from halfmask.kernels.partition.records import APART, RecordColumns
from halfmask.kernels.partition.sides import may_cut, top_level

#: Column 0 has no tree; column 1 has six codes: three leaves of a pair and a single, then missing.
COLUMNS = RecordColumns(
    np.array([1.0, 1.0]),
    np.array([0, 0, 0, 1, 2, 1, 2, APART, 0], dtype=np.uint8),
    np.array([0, 3, 8]),
    np.array([False, True]),
    0,
)


def test_codes_come_together_at_the_highest_boundary_between_them():
    assert [top_level(COLUMNS, 1, 0, high) for high in (0, 1, 2, 3)] == [0, 1, 2, 2]
    assert top_level(COLUMNS, 1, 2, 3) == 1


def test_missing_is_no_part_of_the_tree():
    """Codes 2 and 3 are a pair, 4 a single, 5 missing: the values alone say where to cut."""
    assert top_level(COLUMNS, 1, 4, 5) == 0
    assert top_level(COLUMNS, 1, 3, 5) == 2


def test_a_tree_is_cut_between_the_children_of_the_node():
    assert [may_cut(COLUMNS, 1, code, 2) for code in range(5)] == [False, True, False, True, True]
    assert [may_cut(COLUMNS, 1, code, 1) for code in range(5)] == [True] * 5


def test_a_column_without_a_tree_is_cut_anywhere():
    assert top_level(COLUMNS, 0, 0, 3) == 0
    assert all(may_cut(COLUMNS, 0, code, 0) for code in range(3))
