"""Objectives against row-by-row counts, and their bounds against every node above."""

from __future__ import annotations

from itertools import product
from math import log2
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.lattice.small_lattices import (  # type: ignore[import-not-found] # beside, not in a package
    Release,
    SmallTable,
)
from halfmask._errors import ParameterError
from halfmask.anonymize.lattice import (
    OBJECTIVES,
    Ambiguity,
    AverageClassSize,
    ClassificationMetric,
    Discernibility,
    Height,
    KLDivergence,
    LatticeColumn,
    Loss,
    NodeClasses,
    NonUniformEntropy,
    Precision,
    PrecomputedEntropy,
    PublisherPayout,
)

TERMS = {
    "publisher_benefit": 10.0, "publisher_loss": 30.0, "adversary_gain": 8.0, "adversary_cost": 2.0
}  # fmt: skip


def _payout(**more: Any) -> PublisherPayout:
    return PublisherPayout(**{**TERMS, **more})


FACTORS = (0.0, 0.2, 0.5, 0.8, 1.0)

#: Each objective with the plain count that it has to equal.
COUNTED = [
    *((Loss(gs_factor=gs), lambda it, gs=gs: it.loss(gs)) for gs in FACTORS),
    *((Precision(gs_factor=gs), lambda it, gs=gs: it.precision(gs)) for gs in FACTORS),
    *((NonUniformEntropy(gs_factor=gs), lambda it, gs=gs: it.entropy(gs)) for gs in FACTORS),
    (PrecomputedEntropy(), lambda it: it.entropy(counts_suppressed=False)),
    (Height(), Release.height),
    (Discernibility(), Release.discernibility),
    (AverageClassSize(), Release.average_class_size),
    (Ambiguity(), Release.ambiguity),
    (KLDivergence(), Release.cross_entropy),
    *(
        (ClassificationMetric(gs_factor=gs), lambda it, gs=gs: it.classification(gs))
        for gs in FACTORS
    ),
    *((_payout(gs_factor=gs), lambda it, gs=gs: it.payout(TERMS, gs_factor=gs)) for gs in FACTORS),
    (
        _payout(attacker="journalist"),
        lambda it: it.payout(TERMS, times=2),
    ),
]
NAMES = [f"{type(each).__name__}-{number}" for number, (each, _) in enumerate(COUNTED)]


@pytest.mark.mostly_slow
@pytest.mark.parametrize(("objective", "count"), COUNTED, ids=NAMES)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 4))
def test_a_loss_is_what_rows_lose_one_by_one(objective, count, seed, k):
    table = SmallTable.drawn(seed)
    scorer = objective.scorer(table.columns(), n_rows=len(table.rows))
    for levels in table.nodes():
        release = table.classes(levels, lambda size, _: size >= k)
        if release.kept or release.gone:
            found = scorer.loss(release.as_classes())
            assert found == pytest.approx(count(release), rel=1e-9, abs=1e-9)


@pytest.mark.mostly_slow
@pytest.mark.parametrize(("objective", "count"), COUNTED, ids=NAMES)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 4), odd=st.integers(1, 7))
def test_no_node_at_or_above_falls_below_a_bound(objective, count, seed, k, odd):
    """Whatever whole classes are suppressed above: by size, and by nothing that has a reason."""
    table = SmallTable.drawn(seed)
    scorer = objective.scorer(table.columns(), n_rows=len(table.rows), min_rows=k)
    lowest = {}
    for levels in table.nodes():
        some = table.classes(levels, lambda size, _: size >= k)
        others = table.classes(levels, lambda size, key: size >= k and hash((key, odd)) % odd != 1)
        lowest[levels] = min(count(some), count(others)) if some.kept or some.gone else 0.0
    for levels in table.nodes():
        above = min(
            loss
            for node, loss in lowest.items()
            if all(high >= low for high, low in zip(node, levels, strict=True))
        )
        judged = table.classes(levels, lambda size, _: size >= k).as_classes()
        assert scorer.bound(levels) <= above
        assert scorer.bound(levels) <= scorer.bound_above(judged) <= above


@pytest.mark.parametrize(("objective", "count"), COUNTED, ids=NAMES)
def test_the_bounds_of_many_nodes_are_those_of_each(objective, count):  # noqa: ARG001
    for seed in range(5):
        table = SmallTable.drawn(seed)
        scorer = objective.scorer(table.columns(), n_rows=len(table.rows), min_rows=2)
        nodes = list(table.nodes())
        assert scorer.bounds(np.array(nodes)) == pytest.approx([scorer.bound(it) for it in nodes])


@pytest.mark.parametrize("name", sorted(OBJECTIVES))
def test_bounds_prune_somewhere(name):
    """A bound of 0 is valid and useless: at the top it is near the loss of some node."""
    columns, rows = _square()
    objective = _payout() if name == "publisher-payout" else OBJECTIVES[name]()
    scorer = objective.scorer(columns, n_rows=rows)
    top = NodeClasses(
        levels=(1, 1),
        sizes=np.array([rows]),
        nodes=np.array([[0, 0]], dtype=np.int32),
        suppressed=0,
        labels=np.array([[rows // 2, rows // 2]]),
        population=np.array([rows]),
    )
    assert scorer.bound_above(top) == pytest.approx(scorer.loss(top), rel=0.2)


def test_a_bound_that_is_too_high_is_found():
    """The test of bounds has power: the loss itself is no bound for what is above it."""
    failed = False
    for seed in range(40):
        table = SmallTable.drawn(seed)
        scorer = Discernibility().scorer(table.columns(), n_rows=len(table.rows))
        losses = {
            levels: scorer.loss(table.classes(levels, lambda size, _: size >= 3).as_classes())
            for levels in table.nodes()
        }
        for low, high in product(losses, losses):
            if all(one <= other for one, other in zip(low, high, strict=True)):
                failed |= losses[high] < losses[low]
    assert failed


def _square() -> tuple[list[LatticeColumn], int]:
    """Return two columns of two values and one level above, 8 rows."""
    nodes = (np.array([0, 1], dtype=np.int32), np.array([0, 0], dtype=np.int32))
    rows = np.array([4, 4])
    return [LatticeColumn(name=name, nodes=nodes, rows=rows) for name in ("a", "b")], 8


def _halves(suppressed: int) -> NodeClasses:
    """Return column a raw and b at the top: one class of 4 rows and one of the rest."""
    return NodeClasses(
        levels=(0, 1),
        sizes=np.array([4, 4 - suppressed]) if suppressed < 4 else np.array([4]),
        nodes=np.array([[0, 0], [1, 0]], dtype=np.int32)[: 2 if suppressed < 4 else 1],
        suppressed=suppressed,
        labels=np.array([[3, 1], [2, 2 - suppressed]])[: 2 if suppressed < 4 else 1],
    )


def test_values_worked_by_hand():
    columns, rows = _square()
    half = _halves(4)
    # Four rows keep a and lose b; four are gone: (4 * 0.5 + 4 * 1) / 8.
    assert Loss().scorer(columns, n_rows=rows).loss(half) == 0.75
    assert Precision().scorer(columns, n_rows=rows).loss(half) == 0.75
    assert Height().scorer(columns, n_rows=rows).loss(half) == 1.0
    assert Discernibility().scorer(columns, n_rows=rows).loss(half) == 4 * 4 + 4 * 8
    assert AverageClassSize().scorer(columns, n_rows=rows).loss(half) == 4.0
    # Four rows stand for two combinations, four for all four.
    assert Ambiguity().scorer(columns, n_rows=rows).loss(half) == log2(3)
    # Each released combination: half over two, and a share of the half over four.
    expected = -(0.5 * log2(0.25 + 0.125) + 0.5 * log2(0.125))
    assert KLDivergence().scorer(columns, n_rows=rows).loss(half) == pytest.approx(expected)
    assert ClassificationMetric().scorer(columns, n_rows=rows).loss(half) == (1 + 4) / 8
    # Chance 1/4: 8 * 1/4 isn't above 2, nobody attacks; half the information is lost.
    assert _payout().scorer(columns, n_rows=rows).loss(half) == 4 * 5 + 4 * 10


def test_an_attack_that_pays_costs_the_publisher():
    columns, rows = _square()
    found = _payout(adversary_cost=1.9).scorer(columns, n_rows=rows).loss(_halves(4))
    assert found == 4 * (5 + 30 / 4) + 4 * 10


def test_a_weight_moves_the_best_node_to_the_other_column():
    columns, rows = _square()
    a_up = NodeClasses(
        levels=(1, 0),
        sizes=np.array([4, 4]),
        nodes=np.array([[0, 0], [0, 1]], dtype=np.int32),
        suppressed=0,
    )
    b_up = _halves(0)
    heavy = [
        LatticeColumn(name=each.name, nodes=each.nodes, rows=each.rows, weight=weight)
        for each, weight in zip(columns, (3.0, 1.0), strict=True)
    ]
    for objective in (Loss(), Precision(), Height()):
        even = objective.scorer(columns, n_rows=rows)
        weighed = objective.scorer(heavy, n_rows=rows)
        assert even.loss(a_up) == even.loss(b_up)
        assert weighed.loss(a_up) > weighed.loss(b_up)


def test_every_objective_is_registered_with_its_name_and_a_sentence():
    assert set(OBJECTIVES) >= {
        "loss", "precision", "height", "discernibility", "average-class-size", "ambiguity",
        "kl-divergence", "classification", "publisher-payout",
    }  # fmt: skip
    for name, kind in OBJECTIVES.items():
        assert kind.name == name
        assert kind.sentence.endswith(".")


@pytest.mark.slow
def test_many_columns_dont_overflow():
    codes = np.arange(50_000, dtype=np.int32)
    nodes = (codes, np.zeros(50_000, dtype=np.int32))
    rows = np.ones(50_000, dtype=np.int64)
    columns = [LatticeColumn(name=f"x{it}", nodes=nodes, rows=rows) for it in range(80)]
    top = NodeClasses(
        levels=(1,) * 80,
        sizes=np.array([50_000]),
        nodes=np.zeros((1, 80), dtype=np.int32),
        suppressed=0,
    )
    for objective in (Ambiguity(), KLDivergence()):
        found = objective.scorer(columns, n_rows=50_000).loss(top)
        assert found == pytest.approx(80 * log2(50_000))


@pytest.mark.parametrize("gs_factor", [-0.1, 1.1, float("nan"), True])
@pytest.mark.parametrize("kind", [Loss, Precision, ClassificationMetric])
def test_a_factor_outside_of_its_range_is_refused(kind, gs_factor):
    with pytest.raises(ParameterError, match="gs_factor"):
        kind(gs_factor=gs_factor)


def test_negative_amounts_and_missing_counts_are_refused():
    columns, rows = _square()
    with pytest.raises(ParameterError, match="publisher_benefit"):
        _payout(publisher_benefit=0)
    with pytest.raises(ParameterError, match="adversary_cost"):
        _payout(adversary_cost=-1)
    unlabelled = NodeClasses(
        levels=(1, 1),
        sizes=np.array([8]),
        nodes=np.array([[0, 0]], dtype=np.int32),
        suppressed=0,
    )
    with pytest.raises(ParameterError, match="labels"):
        ClassificationMetric().scorer(columns, n_rows=rows).loss(unlabelled)
    journalist = _payout(attacker="journalist")
    with pytest.raises(ParameterError, match="population"):
        journalist.scorer(columns, n_rows=rows).loss(unlabelled)
