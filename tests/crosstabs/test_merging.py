"""Hidden cells that move together, and programs of the cells around a cell."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import null_space

from halfmask.crosstabs._merging import merge
from halfmask.crosstabs._program import Programs, Slack

from ._tables import at, cells_of
from .test_audit import hide, nothing_known


@settings(max_examples=15)
@given(st.sampled_from([(3, 4), (2, 2, 3), (6,)]), st.randoms(use_true_random=False))
def test_groups_move_as_the_equations_let_them(shape, drawn):
    size = int(np.prod(shape))
    cells = cells_of(np.array([drawn.randint(1, 9) for _ in range(size)], float).reshape(shape))
    hidden = np.array([drawn.random() < 0.6 for _ in range(cells.n)])
    merged = merge(cells.equations, Slack.of(cells, nothing_known(cells)), hidden)
    moves = null_space(cells.equations.toarray()[:, hidden])
    group, sign = merged.group[hidden], merged.sign[hidden]
    assert np.allclose(moves[group < 0], 0)
    for each in np.unique(group[group >= 0]):
        of = moves[group == each] * sign[group == each][:, None]
        assert np.allclose(of, of[0])
    # what is left of the equations lets groups move in as many ways as all cells could
    left = merged.equations.toarray()
    rank = np.linalg.matrix_rank(left) if left.size else 0
    assert left.shape[1] - rank == moves.shape[1]


def test_a_group_has_the_room_of_its_narrowest_cell():
    cells = cells_of([[4, 3], [2, 1], [3, 3]])
    hidden = hide(cells, ("a1", "b1"), ("a1", "b2"), ("a2", "b1"), ("a2", "b2"))
    merged = merge(cells.equations, Slack.of(cells, nothing_known(cells)), hidden)
    assert merged.equations.shape == (0, 1)
    sign = merged.sign[at(cells, "a1", "b1")]
    ends = (merged.room.below[0], merged.room.above[0])
    assert ends == ((1, 2) if sign > 0 else (2, 1))


def test_large_systems_are_searched_around_a_cell_first(monkeypatch):
    monkeypatch.setattr("halfmask.crosstabs._program._LARGE", 20)
    monkeypatch.setattr("halfmask.crosstabs._program._NEAR", 15)
    drawn = np.random.default_rng(0)
    cells = cells_of(drawn.integers(1, 30, (6, 7)).astype(float))
    room = Slack.of(cells, nothing_known(cells))
    programs = Programs(cells.equations, room, np.arange(cells.n))
    none = np.zeros(cells.n, dtype=bool)
    near, whole = programs.around(at(cells, "a2", "b3"), cells.value, none)
    assert len(near.cells) == 15
    assert len(whole.cells) == cells.n
    reached = near.reach(
        at(cells, "a2", "b3"), 1.0, price=np.ones(cells.n), fixed=np.empty(0, dtype=np.int64)
    )
    assert reached is not None
    used, moved = reached
    whole_move = np.zeros(cells.n)
    whole_move[used] = moved
    assert np.allclose(cells.equations @ whole_move, 0)
    assert whole_move[at(cells, "a2", "b3")] == 1
