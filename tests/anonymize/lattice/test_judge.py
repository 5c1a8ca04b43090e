"""The judge of a table's nodes: what it suppresses, and what may be concluded from a node."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.anonymize.lattice import GroupedRows, LatticeColumn, Loss, TableJudge
from halfmask.guarantees import (
    AlphaKAnonymity,
    AverageRisk,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    LargestRisk,
    RecursiveCLDiversity,
    SampleUniques,
    TCloseness,
)

MONOTONE = [
    KAnonymity(k=3),
    LargestRisk(risk=0.3),
    DistinctLDiversity(l=2, column="ill"),
    DistinctLDiversity(l=3, column="ill"),
    AverageRisk(risk=0.2),
    SampleUniques(share=0.05),
]
OTHERS = [
    EntropyLDiversity(l=1.8, column="ill"),
    RecursiveCLDiversity(c=1.0, l=2, column="ill"),
    AlphaKAnonymity(alpha=0.6, k=2, column="ill"),
    TCloseness(t=0.3, column="ill"),
]
TREES = [
    [[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]],
    [[0, 1, 2], [0, 0, 1], [0, 0, 0]],
    [[0, 1], [0, 0]],
]


def judge_of(seed: int, guarantees, *, max_suppressed: int, n: int = 24) -> TableJudge:
    draw = np.random.default_rng(seed)
    codes = [draw.integers(0, len(tree[0]), n) for tree in TREES]
    columns = [
        LatticeColumn(
            name=f"x{place}",
            nodes=tuple(np.array(level, dtype=np.int32) for level in tree),
            rows=np.bincount(column, minlength=len(tree[0])),
        )
        for place, (tree, column) in enumerate(zip(TREES, codes, strict=True))
    ]
    ill = draw.choice(4, n, p=[0.5, 0.25, 0.15, 0.1])
    rows, _ = GroupedRows.of_rows(codes, columns, {"ill": (ill, 4)})
    scorer = Loss().scorer(columns, n_rows=n)
    return TableJudge(
        columns, rows, guarantees=guarantees, scorer=scorer, max_suppressed=max_suppressed
    )


def violations(judge: TableJudge) -> int:
    """Count the pairs of nodes of which the lower one holds and the higher one doesn't."""
    nodes = list(product(*(range(len(tree)) for tree in TREES)))
    holds = {levels: judge.score(levels).holds for levels in nodes}
    return sum(
        holds[low] and not holds[high]
        for low in nodes
        for high in nodes
        if all(one <= other for one, other in zip(low, high, strict=True))
    )


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    guarantees=st.lists(st.sampled_from(MONOTONE), min_size=1, max_size=3, unique_by=repr),
    max_suppressed=st.integers(0, 12),
)
def test_nodes_above_one_that_holds_hold_where_the_judge_says_so(seed, guarantees, max_suppressed):
    judge = judge_of(seed, guarantees, max_suppressed=max_suppressed)
    assert judge.monotone
    assert violations(judge) == 0


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), guarantee=st.sampled_from([*MONOTONE, *OTHERS]))
def test_without_suppression_every_model_here_is_monotone(seed, guarantee):
    judge = judge_of(seed, [guarantee], max_suppressed=0)
    assert judge.monotone
    assert violations(judge) == 0


@pytest.mark.parametrize("guarantee", OTHERS, ids=repr)
def test_with_suppression_other_models_are_not(guarantee):
    """The judge denies it, rightly: in some table a node fails above one that holds."""
    judges = (judge_of(seed, [guarantee], max_suppressed=4) for seed in range(60))
    assert any(violations(judge) and not judge.monotone for judge in judges)


@pytest.mark.slow
@given(seed=st.integers(0, 1000), max_suppressed=st.integers(0, 12))
@settings(max_examples=20, deadline=None)
def test_the_order_of_nodes_changes_no_score(seed, max_suppressed):
    """A node is grouped from whatever finer one is kept."""
    guarantees = [KAnonymity(k=2), EntropyLDiversity(l=1.5, column="ill")]
    nodes = list(product(*(range(len(tree)) for tree in TREES)))
    upwards = judge_of(seed, guarantees, max_suppressed=max_suppressed)
    first = {levels: upwards.score(levels) for levels in nodes}
    for levels in nodes:
        fresh = judge_of(seed, guarantees, max_suppressed=max_suppressed)
        score = fresh.score(levels)
        assert (score.holds, score.loss) == (first[levels].holds, first[levels].loss)
        if score.holds:
            assert fresh.chosen(levels).sizes.sum() == 24 - score.suppressed


def test_a_score_says_how_many_rows_are_suppressed():
    judge = judge_of(0, [KAnonymity(k=30)], max_suppressed=23)
    score = judge.score((2, 2, 1))
    assert (score.holds, score.suppressed) == (False, 24)
    judge = judge_of(0, [KAnonymity(k=2)], max_suppressed=23)
    score = judge.score((0, 0, 0))
    sizes = judge.chosen((0, 0, 0)).sizes
    assert score.holds
    assert sizes.min() >= 2
    assert sizes.sum() == 24 - score.suppressed
