"""Weights in boxes that overlap, against a test of every point and box."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask.kernels.partition.fitting import LEAF_POINTS, bound_points, count_in_boxes


def slowly(points, weights, tops, first, last, with_top):
    """Return the weight in each box, and the boxes over each point."""
    inside = (first[:, None] <= points) & (points <= last[:, None])
    inside |= with_top[:, None] & (points == tops)
    inside = inside.all(axis=2)
    return inside @ weights, inside.sum(axis=0)


@pytest.mark.parametrize("n_points", [0, 1, 15, 16, 17, 300, 2000])
@pytest.mark.parametrize("width", [1, 3])
def test_boxes_have_the_weight_of_their_points(n_points, width):
    rng = np.random.default_rng(n_points + width)
    for missing in (0.0, 0.3):
        points = rng.integers(0, 9, (n_points, width)).astype(np.int32)
        tops = np.full(width, 9, dtype=np.int32)
        points[rng.random(points.shape) < missing] = 9
        weights = rng.integers(0, 4, n_points)
        ends = np.sort(rng.integers(0, 9, (2, 60, width)), axis=0).astype(np.int32)
        ends[1, :5] = -1  # a box of missing cells alone
        with_top = rng.random((60, width)) < 0.4
        order = np.empty(n_points, dtype=np.int64)
        n_nodes = (2 << (n_points // LEAF_POINTS).bit_length()) - 1
        starts, low, high = bound_points(points, n_nodes, order)
        counts, steps = np.zeros(60, dtype=np.int64), np.zeros(n_points + 1, dtype=np.int64)
        before = np.concatenate([[0], np.cumsum(weights[order])]).astype(np.int64)
        count_in_boxes(
            points[order],
            before,
            starts,
            low,
            high,
            tops,
            ends[0],
            ends[1],
            with_top,
            counts,
            steps,
        )

        slow, over = slowly(points[order], weights[order], tops, ends[0], ends[1], with_top)
        assert counts.tolist() == slow.tolist()
        assert np.cumsum(steps)[:-1].tolist() == over.tolist()
        assert sorted(order.tolist()) == list(range(n_points))
