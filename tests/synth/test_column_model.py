"""How far down a tree draws go: past true cuts, and not past those that only show noise."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.tree import DecisionTreeRegressor

from halfmask import Synthesizer
from halfmask.synth import _column_model
from halfmask.synth._column_codes import Donors
from halfmask.synth._column_model import TreeNodes

ROWS, LEAF = 2_000, 5


def grown(target):
    x = np.random.default_rng(0).random((ROWS, 3))
    tree = DecisionTreeRegressor(min_samples_leaf=LEAF, random_state=0).fit(x, target(x))
    return tree.tree_, tree.apply(x)


def noise(x):
    return np.random.default_rng(1).integers(0, 2, len(x)).astype(float)


def test_draws_stop_above_cuts_of_noise_and_pass_cuts_of_what_is_determined():
    tree, leaves = grown(noise)
    sure, sure_leaves = grown(lambda x: (x[:, 0] > 0.5).astype(float))
    rng = np.random.default_rng(2)
    shrunk = TreeNodes.of(tree, distrust=1.0)
    assert (shrunk.reached(leaves, rng) == leaves).mean() < 0.6
    # The power of it: without distrust each draw is from its leaf.
    assert (TreeNodes.of(tree, distrust=0.0).reached(leaves, rng) == leaves).all()
    assert (TreeNodes.of(sure, distrust=1.0).reached(sure_leaves, rng) == sure_leaves).all()


@pytest.mark.parametrize("distrust", [0.0, 0.5, 1.0])
def test_draws_reach_a_node_as_often_as_stated(distrust):
    tree, leaves = grown(lambda x: x[:, 0] + noise(x))
    nodes = TreeNodes.of(tree, distrust=distrust)
    leaf = leaves[0]
    reached = nodes.reached(np.full(20_000, leaf), np.random.default_rng(3))
    assert abs((reached == leaf).mean() - nodes.reach[leaf]) < 0.02
    assert (np.diff(nodes.reach[path_to(nodes, leaf)]) <= 0).all()


def path_to(nodes, leaf):
    path = [leaf]
    while path[-1]:
        path.append(int(nodes.parents[path[-1]]))
    return path[::-1]


def test_a_node_holds_the_rows_of_all_leaves_below_it():
    tree, leaves = grown(noise)
    nodes = TreeNodes.of(tree, distrust=1.0)
    donors = Donors.of(leaves, np.arange(ROWS, dtype=np.int32), len(nodes.parents), ends=nodes.ends)
    np.testing.assert_array_equal(donors.sizes, tree.n_node_samples)
    path = path_to(nodes, int(leaves[7]))
    for node in path:
        start, size = donors.starts[node], donors.sizes[node]
        assert 7 in donors.codes[start : start + size]


def test_a_number_is_drawn_between_neighbours_of_its_own_leaf():
    leaves = np.repeat([1, 2], 50)
    donors = Donors.of(leaves, np.arange(100, dtype=np.int32), 3, ends=np.array([3, 2, 3]))
    drawn = donors.drawn(np.zeros(1_000, dtype=np.int64), np.random.default_rng(0))
    assert set(drawn.codes // 50) == {0, 1}
    assert (drawn.codes // 50 == drawn.neighbour // 50).all()
    assert (np.abs(drawn.codes - drawn.neighbour) <= 1).all()


def test_trees_of_many_rows_are_grown_on_some_and_draw_from_all(monkeypatch):
    """What belongs together still does, and a value outside the grown part can be drawn."""
    monkeypatch.setattr(_column_model, "GROWN_ROWS", 500)
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b"], 4_000)
    amount = np.where(kind == "a", 0, 10_000) + rng.integers(0, 1_000, 4_000)
    table = pl.DataFrame({"kind": kind, "amount": amount})
    drawn = Synthesizer(min_leaf=1, random_state=0).fit(table).sample(4_000)
    assert ((drawn["amount"] >= 10_000) == (drawn["kind"] == "b")).mean() > 0.99
    assert drawn["amount"].n_unique() > 900
