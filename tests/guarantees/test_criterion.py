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

TREE = Hierarchy.from_rows([("flu", "*"), ("cold", "*")], column="ill")


@pytest.mark.parametrize(
    ("guarantee", "criterion"),
    [
        (KAnonymity(k=5), (Criterion.K, None, 5.0, 0.0, None)),
        (DistinctLDiversity(l=3, column="ill"), (Criterion.DISTINCT_L, "ill", 3.0, 0.0, None)),
        (EntropyLDiversity(l=2.5, column="ill"), (Criterion.ENTROPY_L, "ill", 2.5, 0.0, None)),
        (
            RecursiveCLDiversity(c=4, l=3, column="ill"),
            (Criterion.RECURSIVE_CL, "ill", 3.0, 4.0, None),
        ),
        (TCloseness(t=0.2, column="ill"), (Criterion.T_EQUAL, "ill", 0.2, 0.0, None)),
        (
            TCloseness(t=0.2, column="ill", distance="ordered", hierarchy=TREE),
            (Criterion.T_ORDERED, "ill", 0.2, 0.0, TREE),
        ),
        (
            TCloseness(t=0.2, column="ill", distance="hierarchical", hierarchy=TREE),
            (Criterion.T_HIERARCHICAL, "ill", 0.2, 0.0, TREE),
        ),
    ],
)
def test_a_guarantee_says_what_a_loop_must_test(guarantee, criterion):
    found = guarantee.criterion()

    assert (found.kind, found.column, found.threshold, found.c, found.hierarchy) == criterion


def test_kinds_differ():
    names = [name for name in vars(Criterion) if name.isupper()]

    assert sorted(getattr(Criterion, name) for name in names) == list(range(7))
