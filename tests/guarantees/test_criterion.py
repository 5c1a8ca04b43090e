"""Guarantees as the numbers that the compiled engine tests."""

from __future__ import annotations

import pytest

from halfmask.data import Hierarchy
from halfmask.guarantees import (
    AlphaKAnonymity,
    BasicBetaLikeness,
    Criterion,
    DeltaDisclosurePrivacy,
    DistinctLDiversity,
    EnhancedBetaLikeness,
    EntropyLDiversity,
    KAnonymity,
    LargestRisk,
    RecursiveCLDiversity,
    TCloseness,
    size_asked,
)
from halfmask.kernels.partition.criteria import RULES

TREE = Hierarchy.from_rows([("flu", "*"), ("cold", "*")], column="ill")


@pytest.mark.parametrize(
    ("guarantee", "rule", "thresholds", "hierarchy"),
    [
        (DistinctLDiversity(l=3, column="ill"), "distinct-l", (3.0,), None),
        (EntropyLDiversity(l=2.5, column="ill"), "entropy-l", (2.5,), None),
        (RecursiveCLDiversity(c=4, l=3, column="ill"), "recursive-cl", (3.0, 4.0), None),
        (TCloseness(t=0.2, column="ill"), "t-equal", (0.2,), None),
        (
            TCloseness(t=0.2, column="ill", distance="ordered", hierarchy=TREE),
            "t-ordered",
            (0.2,),
            TREE,
        ),
        (
            TCloseness(t=0.2, column="ill", distance="hierarchical", hierarchy=TREE),
            "t-hierarchical",
            (0.2,),
            TREE,
        ),
        (AlphaKAnonymity(alpha=0.3, k=2, column="ill"), "largest-share", (3.0, 10.0), None),
        (AlphaKAnonymity(alpha=2 / 3, k=2, column="ill"), "largest-share", (2.0, 3.0), None),
        (DeltaDisclosurePrivacy(delta=1.5, column="ill"), "delta-disclosure", (1.5,), None),
        (BasicBetaLikeness(beta=2, column="ill"), "basic-beta", (2.0,), None),
        (EnhancedBetaLikeness(beta=2, column="ill"), "enhanced-beta", (2.0,), None),
    ],
)
def test_a_guarantee_says_what_a_loop_must_test(guarantee, rule, thresholds, hierarchy):
    assert rule in RULES
    assert guarantee.criterion() == Criterion(
        rule=rule, column="ill", thresholds=thresholds, hierarchy=hierarchy
    )


def test_the_size_of_a_class_needs_no_rule():
    assert KAnonymity(k=5).criterion() is None
    assert KAnonymity(k=5).min_rows == 5


@pytest.mark.parametrize(("alpha", "k", "rows"), [(0.5, 5, 5), (0.1, 2, 10), (0.3, 2, 4)])
def test_small_shares_need_rows(alpha, k, rows):
    """Ten rows are the fewest in which no value has more than a tenth."""
    guarantee = AlphaKAnonymity(alpha=alpha, k=k, column="ill")

    assert guarantee.min_rows == rows
    assert size_asked([guarantee]) == k


@pytest.mark.parametrize(
    ("risk", "rows"), [(0.05, 20), (0.09, 12), (0.0909, 12), (0.2, 5), (0.33, 4), (0.34, 3)]
)
def test_a_risk_is_a_number_of_rows(risk, rows):
    """ARX's and the EMA's thresholds: 1/11 is above 0.09."""
    assert LargestRisk(risk=risk).min_rows == rows
    assert size_asked([LargestRisk(risk=risk)]) == rows


def test_rules_differ():
    assert sorted(RULES.values()) == list(range(len(RULES)))
