"""Groups as a partition: rows find the nearest centroid, cells are joined and dropped."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from halfmask.anonymize._axes import Axes
from halfmask.anonymize._centroid_partition import group_near
from halfmask.anonymize._growth import engine_rules
from halfmask.anonymize._summary import SensitiveCodes
from halfmask.guarantees import DistinctLDiversity, KAnonymity
from halfmask.kernels.partition.mdav import MEAN, MODE


@pytest.fixture
def codes():
    rng = np.random.default_rng(0)
    return [rng.integers(0, n, 200) for n in (3, 17, 60)]


@pytest.fixture
def axes():
    places = (np.arange(3.0), np.arange(17) / 16, np.arange(60) / 59)
    return Axes(
        places=tuple(each[:, None] for each in places), averages=(MODE, MEAN, MEAN), capped=True
    )


@pytest.fixture
def grown(codes, axes):
    rules, k = engine_rules([KAnonymity(k=6)], ())
    return group_near(codes, axes, sensitive=(), rules=rules, k=k, block_rows=1000)


def nearest(partition, points):
    gaps = np.minimum(np.abs(points[:, None, :] - partition.centroids[None, :, :]), 1.0)
    total = np.zeros(gaps.shape[:2])
    for column in np.moveaxis(gaps, 2, 0):
        total = total + column
    return partition.run_of[total.argmin(axis=1)]


def test_rows_find_the_nearest_centroid(codes, axes, grown):
    partition, cells = grown

    found = partition.cells_of(codes)

    np.testing.assert_array_equal(found, nearest(partition, axes.points(codes)))
    assert (found == cells).mean() > 0.5
    np.testing.assert_array_equal(np.bincount(cells), partition.sizes)
    assert repr(partition) == f"CentroidPartition({partition.n_cells} cells of 200 rows)"


def test_boxes_hold_the_rows_of_their_cells(codes, grown):
    partition, cells = grown
    rows = np.stack(codes, axis=1)

    for cell in range(partition.n_cells):
        np.testing.assert_array_equal(partition.low[cell], rows[cells == cell].min(axis=0))
        np.testing.assert_array_equal(partition.high[cell], rows[cells == cell].max(axis=0))


def test_cells_are_joined_and_dropped(codes, axes, grown):
    partition, cells = grown
    target = np.maximum(np.arange(partition.n_cells) - 2, 0)
    target[2] = -1
    sizes = np.bincount(target[cells][target[cells] >= 0])

    moved = partition.renumbered(target, sizes=sizes)

    np.testing.assert_array_equal(
        moved.cells_of(codes), target[nearest(partition, axes.points(codes))]
    )


def test_a_code_without_place_has_no_cell(grown):
    assert grown[0].cells_of([np.array([0]), np.array([-1]), np.array([5])]).tolist() == [-1]
    assert grown[0].cells_of([np.zeros(0, dtype=np.int64)] * 3).tolist() == []


def test_groups_are_joined_until_every_rule_holds(codes, axes):
    """A sensitive value for each third of the rows, by where they lie: groups of one alone miss."""
    values = (codes[1] // 6).astype(np.int64)
    sensitive = (SensitiveCodes.of(pl.Series("ill", values), order=tuple("012"), missing=False),)
    guarantees = [KAnonymity(k=6), DistinctLDiversity(l=2, column="ill")]
    rules, k = engine_rules(guarantees, sensitive)

    partition, cells = group_near(
        codes, axes, sensitive=sensitive, rules=rules, k=k, block_rows=1000
    )

    assert 1 < partition.n_cells < 200 // 6
    for cell in range(partition.n_cells):
        assert len(set(values[cells == cell])) >= 2
    assert set(partition.run_of.tolist()) == set(range(partition.n_cells))
    np.testing.assert_array_equal(np.bincount(cells), partition.sizes)
