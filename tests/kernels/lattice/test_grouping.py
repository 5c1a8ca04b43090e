"""Groups of rows that share nodes, against dictionaries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.kernels.lattice import grouping
from halfmask.kernels.lattice.grouping import (
    NodeTables,
    group_items,
    group_room,
    nodes_of_groups,
    rows_of_small,
    same_groups,
)


def tables_of(trees: list[list[np.ndarray]]) -> NodeTables:
    shape = (len(trees), max(map(len, trees)))
    starts, widths = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    flat, end = [], 0
    for place, levels in enumerate(trees):
        for level, nodes in enumerate(levels):
            starts[place, level], widths[place, level] = end, nodes.max() + 1
            flat.append(nodes.astype(np.int32))
            end += len(nodes)
    return NodeTables(np.concatenate(flat), starts, widths)


def drawn(seed: int, n: int, sizes: list[int]):
    draw = np.random.default_rng(seed)
    codes = np.stack([draw.integers(0, size, n) for size in sizes]).astype(np.uint16)
    trees = [
        [np.arange(size), np.sort(draw.integers(0, max(1, size // 2), size)), np.zeros(size, int)]
        for size in sizes
    ]
    levels = draw.integers(0, 3, len(sizes))
    return codes, trees, levels.astype(np.int64), draw.integers(1, 5, n)


def check(codes, trees, levels, weights) -> None:
    room = group_room(codes.shape[1])
    n = group_items(codes, weights, tables_of(trees), levels, room)
    numbers: dict[tuple[int, ...], int] = {}
    sizes: list[int] = []
    for item in range(codes.shape[1]):
        key = tuple(
            int(tree[level][code])
            for tree, level, code in zip(trees, levels, codes[:, item], strict=True)
        )
        if key not in numbers:
            numbers[key] = len(numbers)
            sizes.append(0)
            assert room.first[numbers[key]] == item
        sizes[numbers[key]] += int(weights[item])
        assert room.group[item] == numbers[key]
    assert n == len(numbers)
    assert room.sizes[:n].tolist() == sizes
    assert rows_of_small(room.sizes, n, 3) == sum(size for size in sizes if size < 3)
    nodes = np.empty((n, len(trees)), dtype=np.int32)
    nodes_of_groups(codes, room.first[:n], tables_of(trees), levels, nodes)
    assert list(map(tuple, nodes.tolist())) == list(numbers)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 60),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=6),
)
def test_groups_are_those_of_a_dictionary(seed, n, sizes):
    check(*drawn(seed, n, sizes))


@pytest.mark.parametrize("n_columns", [5, 12, 40])
def test_wide_keys_are_numbered_on_the_way(n_columns):
    # Codes up to 65,535 in 5 columns need 80 bits.
    codes, trees, _, weights = drawn(3, 200, [2**16] * n_columns)
    codes[:, 100:] = codes[:, :100]
    codes[-1, 150:] ^= 1
    check(codes, trees, np.zeros(n_columns, dtype=np.int64), weights)


def test_many_keys_in_one_table_stay_apart():
    # 16 million keys, 4,096 of which occur: their places collide.
    codes = np.arange(4096, dtype=np.uint16)[None, :].repeat(2, axis=0)
    codes[1] = codes[1][::-1]
    trees = [[np.arange(4096)]] * 2
    check(codes, trees, np.zeros(2, dtype=np.int64), np.ones(4096, dtype=np.int64))


def test_nodes_find_the_group_that_has_them():
    groups = np.array([[0, 0, 2], [1, 2, 1]], dtype=np.int32)
    items = np.array([[0, 2, 2, 0], [2, 1, 0, 1]], dtype=np.int32)
    assert same_groups(groups, items, np.array([3, 3])).tolist() == [1, 2, -1, 0]


def test_more_than_62_bits_are_needed_for_the_test_of_wide_keys():
    assert grouping.MAX_PACKED < (2**16) ** 4
