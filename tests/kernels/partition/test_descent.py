"""Rows go down a tree of cuts to their cells; nodes know the cells below them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.kernels.partition.descent import cell_spans, descend


def random_tree(seed, *, cells, columns):
    """Return a tree as the engine numbers it: children behind parents, cells left to right."""
    rng = np.random.default_rng(seed)
    nodes = [[-1, 0, -1, -1]]
    waiting = [(0, cells)]
    n_cells = 0
    while waiting:
        node, below = waiting.pop()
        if below == 1:
            nodes[node][2] = n_cells
            n_cells += 1
            continue
        left = int(rng.integers(1, below))
        first = len(nodes)
        nodes[node] = [int(rng.integers(columns)), int(rng.integers(10)), first, first + 1]
        nodes += [[-1, 0, -1, -1], [-1, 0, -1, -1]]
        waiting += [(first + 1, below - left), (first, left)]
    feature, cut, left_of, right_of = (np.array(part) for part in zip(*nodes, strict=True))
    small = np.int32
    return feature.astype(small), cut, left_of.astype(small), right_of.astype(small)


def naive_cell(tree, row):
    feature, cut, left, right = (part.tolist() for part in tree)
    node = 0
    while feature[node] >= 0:
        node = left[node] if row[feature[node]] <= cut[node] else right[node]
    return left[node] if min(row) >= 0 else -1


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6), cells=st.integers(1, 40), columns=st.integers(1, 4))
def test_rows_find_the_cell_that_a_walk_finds(seed, cells, columns):
    tree = random_tree(seed, cells=cells, columns=columns)
    codes = np.random.default_rng(seed).integers(-1, 11, (columns, 50))
    found = np.empty(50, dtype=np.int32)

    feature, cut, left, right = tree
    descend(codes, feature, cut, left, right, found)

    assert found.tolist() == [naive_cell(tree, row) for row in codes.T.tolist()]


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6), cells=st.integers(1, 40))
def test_spans_are_the_cells_below_a_node(seed, cells):
    feature, _, left, right = random_tree(seed, cells=cells, columns=2)
    n = len(feature)
    parent = np.empty(n, dtype=np.int32)
    first, last = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)

    cell_spans(feature, left, right, parent, first, last)

    def below(node):
        if feature[node] < 0:
            return [int(left[node])]
        return below(left[node]) + below(right[node])

    for node in range(n):
        assert list(range(first[node], last[node] + 1)) == below(node)
        if feature[node] >= 0:
            assert parent[left[node]] == parent[right[node]] == node
    assert parent[0] == -1
