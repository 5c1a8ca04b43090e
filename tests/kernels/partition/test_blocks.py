"""The nearest and the farthest points of a point, as a look at all of them finds them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.kernels.partition.blocks import (
    LANES,
    distance,
    empty_blocks,
    farthest,
    fill,
    nearest,
    remove,
)
from halfmask.kernels.partition.halving import halve


def in_blocks(points, *, capped):
    order = np.arange(len(points))
    halve(points, order, LANES, LANES, capped)
    blocks = empty_blocks(len(points), len(points), points.mean(axis=0), capped=capped)
    fill(blocks, points, order)
    return blocks


def all_distances(points, query, *, capped):
    gaps = np.abs(points - query)
    total = np.zeros(len(points))
    for column in (np.minimum(gaps, 1.0) if capped else gaps * gaps).T:
        total = total + column
    return total


@st.composite
def clouds(draw):
    """Points on a coarse grid, so that many are equally far, or anywhere."""
    n, n_columns = draw(st.integers(1, 400)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if draw(st.booleans()):
        return rng.integers(0, draw(st.integers(1, 6)), size=(n, n_columns)).astype(float)
    return rng.normal(size=(n, n_columns)) * draw(st.sampled_from([1e-9, 1.0, 1e6]))


@given(clouds(), st.booleans(), st.integers(1, 9), st.randoms(use_true_random=False))
def test_searches_find_what_a_look_at_all_points_finds(points, capped, wanted, random):
    blocks = in_blocks(points, capped=capped)
    alive = np.ones(len(points), dtype=bool)
    for _ in range(4):
        if alive.sum() <= wanted:
            break
        query = points[random.randrange(len(points))]
        near, rows = np.empty(wanted), np.empty(wanted, dtype=np.int64)
        nearest(blocks, query, near, rows)
        left = np.flatnonzero(alive)
        gaps = all_distances(points[left], query, capped=capped)

        assert rows.tolist() == left[np.argsort(gaps, kind="stable")[:wanted]].tolist()
        assert near.tolist() == np.sort(gaps)[:wanted].tolist()
        assert farthest(blocks, query) == left[np.argmax(gaps)]
        for row in rows:
            remove(blocks, row)
            alive[row] = False


@pytest.mark.parametrize("capped", [False, True])
def test_of_equal_points_the_first_is_farthest_and_nearest(capped):
    points = np.zeros((200, 3))
    blocks = in_blocks(points, capped=capped)
    near, rows = np.empty(2), np.empty(2, dtype=np.int64)
    remove(blocks, 0)
    nearest(blocks, points[0], near, rows)

    assert farthest(blocks, points[0]) == 1
    assert rows.tolist() == [1, 2]


def test_without_points_none_is_farthest():
    blocks = in_blocks(np.zeros((1, 2)), capped=False)
    remove(blocks, 0)

    assert farthest(blocks, np.zeros(2)) == -1


def test_gaps_are_squared_or_at_most_one():
    a, b = np.array([0.0, 0.0]), np.array([0.5, 3.0])

    assert distance(a, b, False) == 9.25
    assert distance(a, b, True) == 1.5
