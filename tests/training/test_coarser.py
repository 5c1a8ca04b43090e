"""Coarser: cuts that part too little are taken back, and points tell only groups apart."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import halfmask as hm
from halfmask.anonymize import Anonymizer, Guided, Hilbert
from halfmask.training._coarser import coarse_boxes, coarser, scattered
from halfmask.training._points import ClassRows, centroids

K = 20


def grown(seed, method=None, n=600):
    """The guide looks at `a`, a little at `b`, never at `c`."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 3))
    guide = ((rows[:, 0] > 0) + 0.2 * (rows[:, 1] > 0) * (rows[:, 0] > 0))[:, None] / 1.2
    anonymizer = Anonymizer(guarantees=[hm.KAnonymity(k=K)], method=method or Guided())
    anonymizer.fit(pl.DataFrame(rows, schema=["a", "b", "c"]), guide)
    classes = anonymizer.cells_.astype(np.int64)
    encoded = ClassRows(
        encoded=rows,
        others=np.empty((n, 0)),
        classes=classes,
        guide=guide,
        majority=np.ones(n, dtype=bool),
        parts=tuple(np.array([column]) for column in range(3)),
    )
    return encoded, anonymizer.plan_.partition


def cost(guide, groups, price):
    spread = sum(
        ((guide[groups == each] - guide[groups == each].mean()) ** 2).sum()
        for each in np.unique(groups)
    )
    return spread + price * len(np.unique(groups)) * ((guide - guide.mean()) ** 2).sum()


@given(st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_what_the_guide_looks_at_is_what_tells_groups_apart(seed):
    rows, partition = grown(seed)
    groups = coarser(partition, rows.classes, rows.guide, price=0.1)
    assert groups is not None
    assert len(groups.cut) == 2
    assert groups.cut.tolist() == [[True, False, False]] * 2
    assert repr(groups).startswith("Coarser(2 groups of ")


@given(st.integers(0, 1000), st.floats(0.0005, 0.5))
@settings(max_examples=10, deadline=None)
def test_groups_cost_no_more_than_all_classes_or_one(seed, price):
    rows, partition = grown(seed)
    groups = coarser(partition, rows.classes, rows.guide, price=price)
    assert groups is not None
    found = cost(rows.guide, groups.group[rows.classes], price)
    assert found <= cost(rows.guide, rows.classes, price) + 1e-9
    assert found <= cost(rows.guide, np.zeros_like(rows.classes), price) + 1e-9


def test_a_partition_that_is_no_tree_has_no_groups():
    rows, partition = grown(0, method=Hilbert())
    assert coarser(partition, rows.classes, rows.guide, price=0.1) is None


def test_boxes_stand_at_medians_of_groups_and_elsewhere_at_the_tables():
    rows, partition = grown(1)
    groups = coarser(partition, rows.classes, rows.guide, price=0.1)
    assert groups is not None
    points = coarse_boxes(rows, groups)
    for column in (1, 2):
        assert len(np.unique(points[:, column])) == 1
        assert points[0, column] == pytest.approx(np.median(rows.encoded[:, column]), abs=0.05)
    for group in range(2):
        of_group = rows.encoded[groups.group[rows.classes] == group, 0]
        there = points[groups.group == group, 0]
        assert np.unique(there).size == 1
        assert there[0] in of_group
        assert there[0] == pytest.approx(np.median(of_group), abs=0.05)


def astray(rows, groups, *, lots, seed):
    return scattered(rows, groups, coarse_boxes(rows, groups), lots=lots, seed=seed)


def test_scattered_values_are_those_of_classes_alike_in_a_lot_and_drawn_anew_by_seed():
    rows, partition = grown(2)
    groups = coarser(partition, rows.classes, rows.guide, price=0.1)
    assert groups is not None
    points = astray(rows, groups, lots=4, seed=0)
    assert np.array_equal(points[:, 0], coarse_boxes(rows, groups)[:, 0])
    assert len(np.unique(points[:, 1:], axis=0)) == 4
    assert set(points[:, 2]) <= set(rows.encoded[:, 2])
    assert np.array_equal(points, astray(rows, groups, lots=4, seed=0))
    assert not np.array_equal(points, astray(rows, groups, lots=4, seed=1))
    assert len(np.unique(astray(rows, groups, lots=10_000, seed=0)[:, 1])) <= rows.n_classes


def test_what_tells_groups_apart_stays_whatever_classes_are_written_as_there():
    rows, partition = grown(2)
    groups = coarser(partition, rows.classes, rows.guide, price=0.1)
    assert groups is not None
    boxes, means = coarse_boxes(rows, groups), centroids(rows)
    points = scattered(rows, groups, means, lots=4, seed=0)
    assert np.array_equal(points[:, 0], means[:, 0])
    assert not np.array_equal(points[:, 0], boxes[:, 0])
    assert np.array_equal(points[:, 1:], scattered(rows, groups, boxes, lots=4, seed=0)[:, 1:])


def test_scattered_values_of_columns_are_drawn_apart_so_that_nobodys_row_is_written():
    rows, partition = grown(3)
    groups = coarser(partition, rows.classes, rows.guide, price=0.1)
    assert groups is not None
    points = astray(rows, groups, lots=15, seed=0)[:, 1:]
    people = {tuple(row) for row in rows.encoded[:, 1:].tolist()}
    assert not people & {tuple(point) for point in points.tolist()}


def test_classes_are_drawn_into_lots_by_the_seed_and_lots_are_as_large_as_can_be():
    rows, partition = grown(4)
    groups = coarser(partition, rows.classes, rows.guide, price=0.1)
    assert groups is not None
    lots = [
        np.unique(
            astray(rows, groups, lots=4, seed=seed)[:, 2],
            return_inverse=True,
        )[1]
        for seed in range(3)
    ]
    together = [lot[:, None] == lot for lot in lots]
    assert not np.array_equal(together[0], together[1])
    assert not np.array_equal(together[1], together[2])
    assert all(np.ptp(np.bincount(lot)) <= 1 for lot in lots)
