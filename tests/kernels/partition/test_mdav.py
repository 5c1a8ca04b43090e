"""MDAV beside the paper's steps, each of which looks at all points."""

from __future__ import annotations

import math
from statistics import median_low

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import ParameterError
from halfmask.kernels.partition import mdav
from halfmask.kernels.partition.mdav import (
    MEAN,
    MEDIAN,
    MISSING,
    MODE,
    PointColumns,
    mdav_groups,
    middles,
    nearest_points,
)


def members(group):
    return [np.flatnonzero(group == g).tolist() for g in range(group.max() + 1)]


def middle_of(points, columns):
    found = []
    for column, average in zip(points.T, columns.averages, strict=True):
        known = [it for it in column.tolist() if not columns.capped or it != MISSING]
        if average == MEAN:
            found.append(math.fsum(known) / len(known) if known else MISSING)
        elif average == MEDIAN:
            found.append(median_low(known) if known else MISSING)
        else:
            values, counts = np.unique(column, return_counts=True)
            found.append(values[np.argmax(counts)])
    return np.array(found)


def by_the_paper(points, columns, k):
    """Return the groups of MDAV-generic: O(n²) distances, one step after the other."""
    left, groups = list(range(len(points))), []

    def distances(query):
        gaps = np.abs(points[left] - query)
        total = np.zeros(len(left))
        for column in (np.minimum(gaps, 1.0) if columns.capped else gaps * gaps).T:
            total = total + column
        return total

    def take(row):
        nearest = np.argsort(distances(points[row]), kind="stable").tolist()
        others = [left[place] for place in nearest if left[place] != row][: k - 1]
        groups.append(sorted([row, *others]))
        for each in groups[-1]:
            left.remove(each)

    while len(left) >= 3 * k:
        first = left[int(np.argmax(distances(middle_of(points[left], columns))))]
        take(first)
        take(left[int(np.argmax(distances(points[first])))])
    if len(left) >= 2 * k:
        take(left[int(np.argmax(distances(middle_of(points[left], columns))))])
    return [*groups, left] if left else groups


@st.composite
def numbers(draw):
    n, n_columns = draw(st.integers(2, 260)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if draw(st.booleans()):  # many ties
        return rng.integers(-2, 3, size=(n, n_columns)).astype(float)
    return rng.lognormal(0, 2, size=(n, n_columns))


@st.composite
def mixed(draw):
    """A mean, a median and a mode, each with missing cells."""
    n = draw(st.integers(2, 200))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_levels, n_categories = draw(st.integers(2, 5)), draw(st.integers(1, 5))
    missing = draw(st.sampled_from([0.0, 0.2, 1.0]))
    amounts = np.where(rng.random(n) < missing, MISSING, rng.integers(0, 9, n) / 8)
    ranks = np.where(rng.random(n) < missing, n_levels, rng.integers(0, n_levels, n))
    levels = np.append(np.arange(n_levels) / (n_levels - 1), MISSING)
    categories = rng.integers(0, n_categories, n)
    columns = PointColumns(
        capped=True,
        averages=np.array([MEAN, MEDIAN, MODE]),
        codes=np.column_stack([np.zeros(n), ranks, categories]).astype(np.int32),
        levels=np.concatenate([levels, np.arange(float(n_categories))]),
        offsets=np.array([0, 0, len(levels), len(levels) + n_categories]),
    )
    return np.column_stack([amounts, levels[ranks], categories.astype(float)]), columns


@given(numbers(), st.integers(2, 7))
def test_the_groups_of_numbers_are_those_of_the_paper(points, k):
    k = min(k, len(points))
    columns = PointColumns.means(points.shape[1])
    group = mdav_groups(points, columns, k=k, block_rows=1000)

    assert members(group) == by_the_paper(points, columns, k)


@pytest.mark.slow
@given(mixed(), st.integers(2, 7))
def test_the_groups_of_mixed_columns_are_those_of_the_paper(table, k):
    points, columns = table
    k = min(k, len(points))
    group = mdav_groups(points, columns, k=k, block_rows=1000)

    assert members(group) == by_the_paper(points, columns, k)


@pytest.mark.slow
def test_blocks_that_are_filled_again_change_nothing(monkeypatch):
    points = np.random.default_rng(3).normal(size=(3000, 3))
    columns = PointColumns.means(3)
    monkeypatch.setattr(mdav, "REFILL_POINTS", 500)

    assert members(mdav_groups(points, columns, k=3, block_rows=9000)) == by_the_paper(
        points, columns, 3
    )


@given(numbers(), st.integers(2, 7), st.integers(1, 100))
@settings(max_examples=50)
def test_every_group_has_k_to_2k_less_one_points_in_parts_too(points, k, block_rows):
    k = min(k, len(points))
    sizes = np.bincount(
        mdav_groups(points, PointColumns.means(points.shape[1]), k=k, block_rows=block_rows)
    )

    assert sizes.min() >= k
    assert sizes.max() < 2 * k


def test_each_part_is_grouped_by_itself():
    rng = np.random.default_rng(4)
    halves = [rng.normal(size=(60, 2)), rng.normal((100.0, 0.0), size=(60, 2))]
    columns = PointColumns.means(2)
    group = mdav_groups(np.concatenate(halves), columns, k=4, block_rows=60)

    assert members(group[:60]) == by_the_paper(halves[0], columns, 4)
    assert members(group[60:] - group[60:].min()) == by_the_paper(halves[1], columns, 4)
    assert set(group[:60]).isdisjoint(group[60:])


def test_groups_of_one_point_less_would_be_seen():
    points = np.random.default_rng(5).normal(size=(100, 3))
    columns = PointColumns.means(3)
    group = mdav_groups(points, columns, k=4, block_rows=1000)

    assert np.bincount(group).min() < 5
    assert members(group) != by_the_paper(points, columns, 5)


def test_the_order_of_the_table_decides_between_equal_points():
    group = mdav_groups(np.zeros((7, 2)), PointColumns.means(2), k=2, block_rows=100)

    assert members(group) == [[0, 1], [2, 3], [4, 5, 6]]


def test_sums_keep_what_a_float_would_lose():
    """1e16 and then 1 less: a plain running sum forgets the small numbers."""
    points = np.array([[1e16], [1.0], [2.0], [3.0], [-1e16], [4.0], [5.0], [6.0]])
    columns = PointColumns.means(1)
    group = mdav_groups(points, columns, k=2, block_rows=100)

    assert members(group) == by_the_paper(points, columns, 2)


@pytest.mark.parametrize(
    ("points", "k"),
    [(np.zeros((3, 1)), 4), (np.zeros((3, 1)), 1), (np.array([[0.0], [np.nan]]), 2)],
    ids=["few", "no k", "not finite"],
)
def test_points_that_have_no_groups_are_refused(points, k):
    with pytest.raises(ParameterError, match="at least k finite points"):
        mdav_groups(points, PointColumns.means(1), k=k, block_rows=100)


@given(mixed(), st.integers(1, 5))
def test_middles_are_those_of_each_group(table, n_groups):
    points, columns = table
    group = np.arange(len(points)) % min(n_groups, len(points))

    found = middles(points, columns, group)

    for g, middle in enumerate(found):
        assert middle.tolist() == middle_of(points[group == g], columns).tolist()


@given(numbers(), st.booleans())
def test_the_nearest_point_is_that_of_a_look_at_all(points, capped):
    queries = points[::-1] * 0.5
    found = nearest_points(points, queries, capped=capped)

    for query, place in zip(queries, found, strict=True):
        gaps = np.abs(points - query)
        total = np.zeros(len(points))
        for column in (np.minimum(gaps, 1.0) if capped else gaps * gaps).T:
            total = total + column
        assert place == np.argmin(total)
