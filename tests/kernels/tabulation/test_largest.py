"""Test the lists of the largest contributions against sorting, and owners of several cells."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from halfmask.kernels.tabulation.largest import Lists, OwnerRoom, add_owners, keep_largest

PLACES = 3


def empty(n):
    return Lists(np.zeros((n, PLACES)), np.zeros((n, PLACES)), np.full((n, PLACES), -1))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-4, 4), st.booleans()), max_size=30))
def test_the_largest_are_kept_in_any_order(given_rows):
    rows = [
        (cell, float(size), owner if there else -1)
        for owner, (cell, size, there) in enumerate(given_rows)
    ]
    for ordered in (rows, rows[::-1]):
        lists = empty(3)
        cells, sizes, owners = (np.array([row[at] for row in ordered]) for at in range(3))
        keep_largest(
            cells.astype(np.int64),
            sizes.astype(np.float64),
            np.ones(len(rows)),
            owners.astype(np.int64),
            lists,
        )
        for cell in range(3):
            inside = [
                (-abs(size), owner, size) for at, size, owner in rows if at == cell and owner >= 0
            ]
            wanted = sorted(inside)[:PLACES]
            filled = PLACES - len(wanted)
            assert lists.owners[cell].tolist() == [each[1] for each in wanted] + [-1] * filled
            assert lists.sizes[cell].tolist() == [each[2] for each in wanted] + [0.0] * filled


def test_an_owner_of_several_cells_counts_once_in_what_covers_them():
    covers = (np.array([0, 2, 4]), np.array([0, 1, 0, 2]))  # cell 0 is the total of 1 and 2
    count, absolute, lists = np.zeros(3), np.zeros(3), empty(3)
    room = OwnerRoom(
        np.full(3, -1), np.zeros(3, int), np.zeros(3, int), np.zeros(3), np.zeros(3), np.zeros(3)
    )
    parts = (
        np.array([0, 1, 1]),
        np.array([5.0, -2.0, 4.0]),
        np.array([10.0, -2.0, 12.0]),
        np.array([2.0, 1.0, 3.0]),
    )
    add_owners(np.array([0, 2, 3]), np.array([7, 9]), parts, covers, room, (count, absolute, lists))
    np.testing.assert_array_equal(count, [2, 1, 2])
    np.testing.assert_array_equal(absolute, [8 + 12, 10, 2 + 12])
    np.testing.assert_array_equal(lists.sizes[0], [4, 3, 0])
    np.testing.assert_array_equal(lists.owners[0], [9, 7, -1])
    np.testing.assert_allclose(lists.weights[0], [3, 8 / 3, 0])
