"""Runs of a curve as a partition: rows find their run, runs are joined and dropped."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask.anonymize._curve_growth import cut_curve
from halfmask.anonymize._curve_partition import balanced_tree
from halfmask.anonymize._growth import engine_rules
from halfmask.guarantees import KAnonymity


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


@pytest.fixture
def codes():
    rng = np.random.default_rng(0)
    return [rng.integers(0, n, 200) for n in (3, 17, 60)]


@pytest.fixture
def grown(codes):
    rules, k = engine_rules([KAnonymity(k=6)], ())
    return cut_curve(codes, [3, 17, 60], sensitive=(), rules=rules, k=k)


def test_rows_find_their_own_cells(codes, grown):
    partition, cells = grown

    np.testing.assert_array_equal(partition.cells_of(codes), cells)
    np.testing.assert_array_equal(np.bincount(cells), partition.sizes)
    assert repr(partition) == f"CurvePartition({partition.n_cells} cells of 200 rows)"


def test_cells_are_joined_and_dropped(codes, grown):
    """The first two become one, the third's rows have none; all others move up."""
    partition, cells = grown
    target = np.maximum(np.arange(partition.n_cells) - 2, 0)
    target[2] = -1
    sizes = np.bincount(target[cells][target[cells] >= 0])

    moved = partition.renumbered(target, sizes=sizes)

    np.testing.assert_array_equal(moved.cells_of(codes), target[cells])
    rows = np.stack(codes, axis=1)[cells <= 1]
    np.testing.assert_array_equal(moved.low[0], rows.min(0))
    np.testing.assert_array_equal(moved.high[0], rows.max(0))


def test_every_place_has_a_cell_and_a_code_without_place_none(grown):
    partition, _ = grown
    places = [axis.ravel() for axis in np.meshgrid(*map(np.arange, (3, 17, 60)))]

    found = partition.cells_of(places)

    assert set(found.tolist()) == set(range(partition.n_cells))
    assert partition.cells_of([np.array([0]), np.array([-1]), np.array([5])]).tolist() == [-1]


def test_no_rows_have_no_cells(grown):
    assert grown[0].cells_of([np.zeros(0, dtype=np.int64)] * 3).tolist() == []


def test_a_place_on_the_curve_tells_of_every_column(codes, grown):
    partition = grown[0]
    assert partition.features_cut().shape == (partition.n_cells, len(codes))
    assert partition.features_cut().all()
