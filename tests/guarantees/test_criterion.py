"""Guarantees as the numbers that the compiled engine tests."""

from __future__ import annotations

import pytest

from halfmask.data import Hierarchy
from halfmask.guarantees import (
    Criterion,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    RecursiveCLDiversity,
    TCloseness,
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


def test_rules_differ():
    assert sorted(RULES.values()) == list(range(len(RULES)))
