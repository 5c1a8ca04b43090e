"""At the cuts: a tree that learns of the points cuts where the rows were cut."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import halfmask as hm
from halfmask.anonymize import Anonymizer, Guided
from halfmask.training._at_cuts import at_cuts

K = 25


def grown(rows, guide, **settings):
    names = [f"c{place}" for place in range(rows.shape[1])]
    anonymizer = Anonymizer(
        guarantees=[hm.KAnonymity(k=K)], method=Guided(least_gain=0.0), **settings
    )
    anonymizer.fit(pl.DataFrame(rows, schema=names), guide)
    plan = anonymizer.plan_
    return anonymizer.cells_, plan.partition, [each.values.to_numpy() for each in plan.codings]


def medians_of(rows, cells):
    return np.stack([np.median(rows[cells == cell], axis=0) for cell in range(cells.max() + 1)])


def standing(partition, values, rows, elsewhere):
    points = at_cuts(partition, values, rows)
    return np.where(np.isnan(points), elsewhere, points)


def people(seed, n=600):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.exponential(size=(n, 2)).round(2), rng.integers(0, 2, n)])
    y = (rows[:, 0] + 2 * rows[:, 2] + rng.normal(size=n) > 1.5).astype(float)
    return rows, y


@given(st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_points_stay_in_their_class(seed):
    rows, y = people(seed)
    cells, partition, values = grown(rows, y[:, None])
    points = standing(partition, values, rows, medians_of(rows, cells))
    for cell, point in enumerate(points):
        node = 0
        while partition.feature[node] >= 0:  # by the cuts' own values, not by codes
            column = partition.feature[node]
            below = point[column] <= values[column][partition.cut[node]]
            node = (partition.left if below else partition.right)[node]
        assert partition.left[node] == cell


def sides(partition, values, points):
    """Yield for each cut its two values, and the nearest point on either side of it."""
    below = {}
    for node in range(len(partition.feature) - 1, -1, -1):
        column = partition.feature[node]
        if column < 0:
            below[node] = [partition.left[node]]
            continue
        left, right = below[partition.left[node]], below[partition.right[node]]
        below[node] = [*left, *right]
        cut = partition.cut[node]
        yield (
            (values[column][cut], values[column][cut + 1]),
            (points[left, column].max(), points[right, column].min()),
        )


@given(st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_most_cuts_are_half_way_between_points_and_with_medians_few_are(seed):
    rows, y = people(seed)
    cells, partition, values = grown(rows, y[:, None])
    medians = medians_of(rows, cells)

    def kept(points):
        return np.mean([a == b for a, b in sides(partition, values, points)])

    assert kept(standing(partition, values, rows, medians)) > 0.4
    assert kept(medians) < 0.2


def test_a_tree_finds_the_very_cut_again_and_of_medians_another():
    rows = np.sort(np.random.default_rng(0).exponential(size=400))[:, None]
    y = (np.arange(400) >= 300).astype(float)
    cells, partition, values = grown(rows, y[:, None])
    medians = medians_of(rows, cells)

    def learned(points):
        tree = DecisionTreeClassifier(max_depth=1).fit(points[cells], y)
        return float(tree.tree_.threshold[0])

    assert learned(standing(partition, values, rows, medians)) == pytest.approx(
        rows[299:301].mean()
    )
    assert learned(medians) != pytest.approx(rows[299:301].mean(), rel=1e-4)


def test_the_largest_class_that_is_free_stands_at_the_cut():
    # a column of two values, cut once, and inside its sides another column is cut
    rng = np.random.default_rng(1)
    rows = np.column_stack([np.repeat([0.0, 1.0], 200), rng.random(400)])
    y = np.where(rows[:, 0] == 0, 0.0, 0.6 + 0.4 * (rows[:, 1] < 0.2))  # the smaller one first
    cells, partition, values = grown(rows, y[:, None])
    elsewhere = np.full((partition.n_cells, 2), -1.0)
    points = standing(partition, values, rows, elsewhere)
    for value in (0.0, 1.0):
        (at,) = np.flatnonzero(points[:, 0] == value)
        side = np.unique(cells[rows[:, 0] == value])
        assert partition.sizes[at] == partition.sizes[side].max()


def test_cells_that_are_dropped_stand_nowhere_and_joined_ones_where_either_touches():
    rows = np.arange(100.0)[:, None]
    y = np.repeat([0.0, 1.0, 0.3, 0.8], 25)
    cells, partition, values = grown(rows, y[:, None])
    assert partition.n_cells == 4
    order = [int(cells[place * 25]) for place in range(4)]  # from left to right
    target = np.empty(4, dtype=np.int64)
    target[order] = [0, -1, 0, 1]  # the second is dropped, the first and the third are joined
    kept = np.isin(np.arange(100) // 25, [0, 2, 3])
    fewer = partition.renumbered(target, sizes=np.array([50, 25]))
    points = at_cuts(fewer, values, rows[kept])
    # 25 to 49 are nobody's any more; the joined class stands at one of its ends, 24, 50 or 74
    assert points[0, 0] in (24.0, 50.0, 74.0)
    assert points[1, 0] == 75.0


def test_no_value_is_written_that_only_suppressed_rows_have():
    rows = np.arange(100.0)[:, None]
    _, partition, values = grown(rows, np.repeat([0.0, 1.0], 50)[:, None])
    assert partition.n_cells >= 2
    everyone = at_cuts(partition, values, rows)[:, 0]
    assert {49.0, 50.0} <= set(everyone)
    kept = ~np.isin(rows[:, 0], (48.0, 49.0, 50.0))  # the rim of both classes
    fewer = at_cuts(partition, values, rows[kept])[:, 0]
    assert {47.0, 51.0} <= set(fewer)
    assert np.isin(fewer[~np.isnan(fewer)], rows[kept]).all()


def test_one_class_stands_nowhere():
    rows = np.zeros((60, 1))
    _, partition, values = grown(rows, np.zeros((60, 1)))
    assert np.isnan(at_cuts(partition, values, rows)).tolist() == [[True]]
