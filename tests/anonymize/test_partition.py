"""A partition as a value: rows find their cells, cells are renumbered."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask._errors import GuaranteeNotMetError
from halfmask.anonymize import Partition
from halfmask.anonymize._partition import balanced_tree


@pytest.fixture
def partition():
    """Column 0 up to 4, then column 1 up to 1: cells 0, 1 and, right of 4, 2."""
    return Partition(
        feature=np.array([0, 1, -1, -1, -1], dtype=np.int32),
        cut=np.array([4, 1, 0, 0, 0]),
        left=np.array([1, 3, 2, 0, 1], dtype=np.int32),
        right=np.array([2, 4, -1, -1, -1], dtype=np.int32),
        low=np.array([[0, 0], [1, 2], [5, 0]]),
        high=np.array([[4, 1], [3, 9], [9, 9]]),
        sizes=np.array([2, 3, 4]),
    )


def test_rows_find_their_cells(partition):
    codes = [np.array([0, 4, 4, 5, 9]), np.array([1, 1, 2, 0, 9])]

    assert partition.cells_of(codes).tolist() == [0, 0, 1, 2, 2]


def test_a_row_with_a_code_without_a_place_has_no_cell(partition):
    codes = [np.array([-1, 0, 5, 5]), np.array([0, -1, -1, 5])]

    assert partition.cells_of(codes).tolist() == [-1, -1, -1, 2]


def test_no_rows_have_no_cells(partition):
    assert partition.cells_of([np.zeros(0, dtype=np.int64)] * 2).tolist() == []


def test_codes_may_be_strided_and_of_any_integer_type(partition):
    codes = np.array([[0, 1], [4, 2], [9, 9]], dtype=np.uint8)

    assert partition.cells_of([codes[:, 0], codes[:, 1]]).tolist() == [0, 1, 2]


def test_joined_cells_span_both(partition):
    joined = partition.renumbered(np.array([0, 0, 1]), sizes=np.array([5, 4]))

    assert joined.low.tolist() == [[0, 0], [5, 0]]
    assert joined.high.tolist() == [[4, 9], [9, 9]]
    assert joined.cells_of([np.array([0, 4, 5]), np.array([1, 5, 5])]).tolist() == [0, 0, 1]


def test_rows_of_a_dropped_cell_have_none(partition):
    left = partition.renumbered(np.array([0, -1, 1]), sizes=np.array([2, 4]))

    assert left.cells_of([np.array([0, 4, 5]), np.array([1, 5, 5])]).tolist() == [0, -1, 1]


def test_something_must_be_left(partition):
    with pytest.raises(GuaranteeNotMetError, match="every row would be suppressed"):
        partition.renumbered(np.array([-1, -1, -1]), sizes=np.zeros(0, dtype=np.int64))


def test_a_repr_counts(partition):
    assert repr(partition) == "Partition(3 cells of 9 rows)"


@pytest.mark.parametrize("n_cells", [1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 100])
def test_a_balanced_tree_has_its_cells_from_left_to_right(n_cells):
    feature, cut, left, right = balanced_tree(n_cells)

    def below(node):
        if feature[node] < 0:
            return [int(left[node])]
        one, other = below(left[node]), below(right[node])
        assert cut[node] == one[-1]
        assert abs(np.log2(len(one)) - np.log2(len(other))) <= 1
        return one + other

    assert len(feature) == 2 * n_cells - 1
    assert below(0) == list(range(n_cells))
