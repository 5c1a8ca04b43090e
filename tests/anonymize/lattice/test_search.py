"""All strategies, against a look at every node; the exact search finds the optimum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask import ParameterError
from halfmask.anonymize.lattice import Lattice, NodeScore, SearchLimit, search

STRATEGIES = ("auto", "optimal", "best-effort")
BOUNDS = ("tight", "loose", "none", "part")
seeds = st.integers(0, 2**32 - 1)
shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


@pytest.mark.slow
@given(
    seed=seeds,
    shape=shapes,
    monotone=st.booleans(),
    bounds=st.sampled_from(BOUNDS),
    share=st.floats(0, 1),
    strategy=st.sampled_from(["auto", "optimal"]),
)
def test_the_exact_search_finds_the_least_loss(
    draw, seed, shape, monotone, bounds, share, strategy
):
    judge = draw(seed, shape, monotone=monotone, bounds=bounds, share=share)
    found = search(judge.lattice, judge, strategy=strategy)
    assert found.optimal
    assert (found.best.loss if found.best else float("inf")) == judge.least_loss()
    assert len(set(judge.asked)) == len(judge.asked) == found.n_judged
    assert judge.asked[0] == judge.lattice.greatest


@pytest.mark.slow
@given(
    seed=seeds,
    shape=shapes,
    monotone=st.booleans(),
    bounds=st.sampled_from(BOUNDS),
    strategy=st.sampled_from(STRATEGIES),
    steps=st.integers(1, 40),
)
def test_a_limited_search_returns_the_best_node_that_it_judged(
    draw, seed, shape, monotone, bounds, strategy, steps
):
    judge = draw(seed, shape, monotone=monotone, bounds=bounds)
    limit = SearchLimit(steps=steps)
    found = search(judge.lattice, judge, strategy=strategy, limit=limit, seed=seed)
    asked = [judge.place(levels) for levels in judge.asked]
    held = [float(judge.losses[place]) for place in asked if judge.holds[place]]
    failed = [sum(place) for place in asked if not judge.holds[place]]
    assert found.n_judged == len(asked) == len(set(asked)) <= steps
    assert (found.best.loss if found.best else float("inf")) == min(held, default=float("inf"))
    assert (found.closest.suppressed if found.closest else None) == min(failed, default=None)
    if found.optimal:
        assert (found.best.loss if found.best else float("inf")) == judge.least_loss()


@pytest.mark.slow
@given(
    seed=seeds, shape=shapes, strategy=st.sampled_from(STRATEGIES), bounds=st.sampled_from(BOUNDS)
)
def test_the_same_steps_and_seed_ask_for_the_same_nodes(draw, seed, shape, strategy, bounds):
    def asked():
        judge = draw(seed, shape, bounds=bounds)
        limit = SearchLimit(steps=20)
        return search(judge.lattice, judge, strategy=strategy, limit=limit, seed=3), judge.asked

    assert asked() == asked()


@pytest.mark.mostly_slow
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("bounds", ["tight", "none"])
def test_each_strategy_finds_the_optimum_of_a_small_lattice(draw, strategy, bounds):
    for seed in range(10):
        judge = draw(seed, (3, 3, 2), bounds=bounds)
        found = search(judge.lattice, judge, strategy=strategy)
        assert (found.best.loss if found.best else float("inf")) == judge.least_loss()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_where_the_top_fails_one_step_proves_that_nothing_holds(draw, strategy):
    judge = draw(0, (3, 4, 3))
    judge.holds[:] = False
    found = search(judge.lattice, judge, strategy=strategy)
    assert (found.best, found.optimal, found.n_judged) == (None, True, 1)
    assert (found.closest and found.closest.levels) == judge.lattice.greatest


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_where_the_judge_isnt_monotone_a_failing_top_ends_nothing(draw, strategy):
    judge = draw(0, (3, 4, 3), monotone=False, bounds="none")
    judge.holds[:] = False
    judge.holds[1, 2, 1] = True
    found = search(judge.lattice, judge, strategy=strategy)
    assert (found.best and found.best.levels) == tuple(np.add(judge.lattice.least, (1, 2, 1)))


def test_a_lattice_of_one_node(draw):
    judge = draw(4, (1, 1), bounds="none")
    judge.holds[:] = True
    found = search(judge.lattice, judge)
    assert (found.best and found.best.levels, found.optimal, found.n_judged) == (
        judge.lattice.least,
        True,
        1,
    )


@pytest.mark.parametrize("monotone", [True, False])
def test_the_exact_search_prunes(draw, monotone):
    judged = []
    for seed in range(20):
        judge = draw(seed, (4, 4, 4, 4), monotone=monotone, bounds="tight")
        judge.losses = judge.losses + 10 * np.indices(judge.holds.shape).sum(axis=0)
        judge.bound_table = 10.0 * np.indices(judge.holds.shape).sum(axis=0)
        judged.append(search(judge.lattice, judge).n_judged)
    assert np.mean(judged) < (60 if monotone else 120)


def test_a_bound_from_classes_prunes(draw):
    judged = {}
    for of_classes in (False, True):
        judged[of_classes] = 0
        for seed in range(20):
            judge = draw(seed, (4, 4, 4), bounds="none", share=0.8)
            if not of_classes:
                judge.above[:] = -float("inf")
            judged[of_classes] += search(judge.lattice, judge).n_judged
    assert judged[True] < 0.7 * judged[False]


@pytest.mark.parametrize("table", ["bound_table", "above"])
def test_a_search_that_prunes_too_much_is_caught(draw, table):
    """The oracle has power: with bounds that are too high, the exact search misses the optimum."""
    missed = 0
    for seed in range(40):
        wrong, judge = (draw(seed, (3, 3, 3), bounds="none", share=0.8) for _ in range(2))
        valid = draw(seed, (3, 3, 3), bounds="tight", share=0.8).bound_table
        setattr(wrong, table, valid + 1.0)
        try:
            found = search(wrong.lattice, wrong, strategy="optimal")
        except ParameterError:  # the search itself noticed a loss below its bound
            missed += 1
        else:
            missed += (found.best.loss if found.best else float("inf")) != judge.least_loss()
    assert missed > 20


def test_a_judge_that_is_wrongly_called_monotone_is_caught(draw):
    """The oracle has power: predictive tagging is wrong for a judge that isn't monotone."""
    missed = 0
    for seed in range(40):
        judge = draw(seed, (3, 3, 3), monotone=False, bounds="none")
        judge.monotone = True
        try:
            found = search(judge.lattice, judge, strategy="optimal")
        except ParameterError:  # a node that should have held, failed
            missed += 1
        else:
            missed += (found.best.loss if found.best else float("inf")) != judge.least_loss()
    assert missed > 20


def test_a_loss_below_its_bound_is_refused(draw):
    judge = draw(1, (2, 2), bounds="none")
    judge.holds[:] = True
    judge.bound_table[:] = judge.losses.max() + 1
    with pytest.raises(ParameterError, match=r"bound of a node is above"):
        search(judge.lattice, judge)


class BoxJudge:
    """Holds above one node; the loss is the sum of the levels: for lattices of any size."""

    monotone = True

    def __init__(self, least_holding):
        self.least_holding = least_holding

    def score(self, levels):
        holds = all(map(int.__ge__, levels, self.least_holding))
        missing = int(np.maximum(np.subtract(self.least_holding, levels), 0).sum())
        loss = float(sum(levels)) if holds else float("inf")
        return NodeScore(levels=levels, holds=holds, loss=loss, suppressed=missing)

    def bound(self, levels):
        return float(sum(levels))

    def bounds(self, nodes):
        return nodes.sum(axis=1).astype(float)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["auto", "best-effort"])
def test_a_lattice_of_any_size_is_searched_by_best_effort(strategy):
    lattice = Lattice(least=(0,) * 20, greatest=(4,) * 20)
    wanted = (3, 1, 0, 2, 4) * 4
    found = search(
        lattice, BoxJudge(wanted), strategy=strategy, limit=SearchLimit(steps=500), seed=1
    )
    assert (found.best and found.best.levels) == wanted
    assert not found.optimal


def test_the_optimal_search_refuses_a_lattice_that_is_too_large():
    lattice = Lattice(least=(0,) * 20, greatest=(4,) * 20)
    with pytest.raises(ParameterError, match=r"at most 67,108,864 nodes. Got 95,367,431,640,625"):
        search(lattice, BoxJudge((0,) * 20), strategy="optimal")


def test_a_limit_of_seconds_ends_the_search():
    lattice = Lattice(least=(0,) * 20, greatest=(4,) * 20)
    found = search(lattice, BoxJudge((2,) * 20), limit=SearchLimit(seconds=1e-9))
    assert (found.best and found.best.levels, found.n_judged) == (lattice.greatest, 1)


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (SearchLimit(steps=0), "'steps' parameter"),
        (SearchLimit(seconds=0.0), "'seconds' parameter"),
    ],
)
def test_a_limit_that_isnt_positive_is_refused(draw, limit, said):
    judge = draw(0, (2, 2))
    with pytest.raises(ParameterError, match=said):
        search(judge.lattice, judge, limit=limit)


def test_an_unknown_strategy_is_refused(draw):
    judge = draw(0, (2, 2))
    with pytest.raises(ParameterError, match=r"'strategy' parameter of search"):
        search(judge.lattice, judge, strategy="best")  # type: ignore[arg-type]


@pytest.mark.mostly_slow
@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("n_best", [1, 3, 100])
def test_the_exact_search_keeps_the_nodes_that_lose_least(draw, n_best, bounds, monotone):
    for seed in range(8):
        judge = draw(seed, (3, 4, 3), monotone=monotone, bounds=bounds)
        found = search(judge.lattice, judge, strategy="optimal", n_best=n_best)
        every = sorted(judge.losses[judge.holds].tolist())
        assert [each.loss for each in found.near] == every[:n_best]
        assert len({each.levels for each in found.near}) == len(found.near)


def test_the_other_search_keeps_the_best_that_it_judged(draw):
    judge = draw(3, (3, 4, 3))
    found = search(judge.lattice, judge, strategy="best-effort", n_best=4)
    asked = [judge.place(levels) for levels in judge.asked]
    held = sorted(float(judge.losses[place]) for place in asked if judge.holds[place])
    assert [each.loss for each in found.near] == held[:4]
