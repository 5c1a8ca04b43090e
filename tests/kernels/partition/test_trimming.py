from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.kernels.partition.criteria import Rules
from halfmask.kernels.partition.trimming import Moves, best_moves

NO_RULES = Rules(
    np.zeros(0, np.int64),
    np.zeros(0, np.int64),
    np.zeros((0, 2)),
    np.zeros(1, np.int64),
    np.zeros(0),
    np.zeros(0, np.int64),
    np.zeros(1, np.int64),
)


def _naive(cell, scale, k):
    """The best gain of one cell, every rim tried by recounting the losses."""
    columns = len(scale)

    def loss(rows):
        return (
            sum(
                (max(row[j] for row in rows) - min(row[j] for row in rows)) * scale[j]
                for j in range(columns)
            )
            / columns
            * len(rows)
        )

    best = 0.0
    for j in range(columns):
        for edge in (min(row[j] for row in cell), max(row[j] for row in cell)):
            rest = [row for row in cell if row[j] != edge]
            if len(rest) >= k and rest:
                # Only the rim's own column counts as saved: others narrow by chance.
                narrowed = [row[j] for row in rest]
                width = max(row[j] for row in cell) - min(row[j] for row in cell)
                saved = (width - (max(narrowed) - min(narrowed))) * scale[j] / columns * len(rest)
                cost = (len(cell) - len(rest)) * (1 - loss(cell) / len(cell))
                best = max(best, saved - cost)
    return best


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=20),
    st.integers(1, 5),
)
@settings(max_examples=200, deadline=None)
def test_the_best_rim_is_the_one_that_a_recount_finds(cell, k):
    n = len(cell)
    moves = Moves(np.zeros(1), np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64))
    scale = np.array([1 / 9, 1 / 9])

    best_moves(
        np.ascontiguousarray(np.array(cell, dtype=np.uint8).T),
        np.zeros((0, n), np.uint8),
        np.array([0, n]),
        scale,
        k,
        NO_RULES,
        moves,
    )

    assert abs(_naive(cell, scale, k) - moves.gain[0]) < 1e-9
    if moves.gain[0] > 0:
        rim = [row for row in cell if row[moves.column[0]] == moves.code[0]]
        assert len(rim) == moves.cost[0]
        assert n - len(rim) >= k
