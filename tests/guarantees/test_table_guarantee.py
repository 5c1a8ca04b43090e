"""Models that judge the table as a whole: levels, who is blamed, and what merging does."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from halfmask.guarantees import (
    AverageRisk,
    Classes,
    KAnonymity,
    LargestRisk,
    RecordsAtRisk,
    SampleUniques,
    TableGuarantee,
)

SIZES = st.lists(st.integers(1, 30), min_size=1, max_size=12)
BOUNDS = st.sampled_from([0.05, 0.09, 0.1, 0.2, 0.33, 1 / 3, 0.5, 0.7])


def typed(bound):
    """Return what was typed: a decimal, or a third."""
    return {1 / 3: Fraction(1, 3)}.get(bound, Fraction(str(bound)))


def classes_of(sizes):
    return Classes(np.array(sizes, dtype=np.int64))


def naive_level(guarantee, sizes):
    """Row by row, in fractions."""
    risks = [Fraction(1, size) for size in sizes for _ in range(size)]
    if isinstance(guarantee, AverageRisk):
        return sum(risks, Fraction()) / len(risks)
    above = typed(guarantee.risk) if isinstance(guarantee, RecordsAtRisk) else None
    at_risk = [risk == 1 if above is None else risk > above for risk in risks]
    return Fraction(sum(at_risk), len(risks))


def tried(bound, risk):
    return [
        AverageRisk(risk=bound),
        SampleUniques(share=bound),
        RecordsAtRisk(share=bound, risk=risk),
    ]


@given(SIZES, BOUNDS, BOUNDS)
@example([1] + [3] * 3, 0.4, 0.33)  # four classes of ten rows: exactly the bound
@example([1] * 3 + [7], 0.3, 0.5)
def test_the_level_is_that_of_a_slow_count(sizes, bound, risk):
    for guarantee in tried(bound, risk):
        expected = naive_level(guarantee, sizes)

        judgement = guarantee.judge(classes_of(sizes))

        assert judgement.achieved == float(expected)
        assert judgement.levels.tolist() == [float(expected)] * len(sizes)
        assert judgement.holds == (expected <= typed(bound))
        assert judgement.holds == (len(judgement.failing) == 0)


@given(SIZES, BOUNDS, BOUNDS)
def test_joining_who_is_blamed_is_enough_and_fewer_are_not(sizes, bound, risk):
    """They are joined to one class that is large enough for any bound."""
    sizes = [*sizes, 100]
    for guarantee in tried(bound, risk):
        failing = guarantee.judge(classes_of(sizes)).failing.tolist()
        if not failing:
            continue
        rest = [size for i, size in enumerate(sizes) if i not in failing]
        blamed = sorted(sizes[i] for i in failing)
        assert 100 in rest
        rest.remove(100)

        assert guarantee.judge(classes_of([*rest, 100 + sum(blamed)])).holds
        fewer = [*rest, blamed[-1], 100 + sum(blamed[:-1])]
        assert not guarantee.judge(classes_of(fewer)).holds


def partitions(rows, least=1):
    """Yield all ways to part rows into classes."""
    yield [rows]
    for first in range(least, rows // 2 + 1):
        yield from ([first, *rest] for rest in partitions(rows - first, first))


def suppressed(guarantee, sizes):
    """Return how many rows go until the table keeps it, the smallest classes first."""
    left = sorted(sizes)
    while left and naive_level(guarantee, left) > typed(guarantee.required):
        left = left[1:]
    return sum(sizes) - sum(left)


@pytest.mark.parametrize("rows", range(2, 13))
def test_merging_any_two_classes_never_asks_for_more_suppression(rows):
    """All tables of up to twelve rows, by brute force."""
    tries = [each for each in tried(0.2, 0.3) if each.monotone_with_suppression]
    assert len(tries) == 2
    for sizes in partitions(rows):
        for guarantee in tries:
            before = suppressed(guarantee, sizes)
            for i, j in itertools.combinations(range(len(sizes)), 2):
                merged = [s for k, s in enumerate(sizes) if k not in {i, j}]
                assert suppressed(guarantee, [*merged, sizes[i] + sizes[j]]) <= before


def test_merging_a_suppressed_row_with_one_at_risk_puts_it_at_risk():
    """Without the one row it holds; merged with another, two must go."""
    guarantee = RecordsAtRisk(share=0.2, risk=0.3)

    assert not guarantee.monotone_with_suppression
    assert suppressed(guarantee, [1, 1, 4]) == 1
    assert suppressed(guarantee, [2, 4]) == 2


@pytest.mark.parametrize("n", [2, 4, 6])
def test_merging_any_two_classes_of_any_small_table_raises_no_level(n):
    """All tables of up to twelve rows and n classes, by brute force."""
    for sizes in (each for rows in range(n, 13) for each in partitions(rows) if len(each) == n):
        for guarantee in tried(0.2, 0.3):
            assert guarantee.monotone
            before = naive_level(guarantee, sizes)
            for i in range(n):
                for j in range(i):
                    merged = [s for k, s in enumerate(sizes) if k not in {i, j}]
                    assert naive_level(guarantee, [*merged, sizes[i] + sizes[j]]) <= before


@pytest.mark.slow
@given(SIZES, BOUNDS)
def test_bounds_of_nothing_are_those_of_every_class(sizes, risk):
    """No row at risk is the largest risk; no unique row is 2-anonymity."""
    classes = classes_of(sizes)

    none_at_risk = RecordsAtRisk(share=0, risk=risk).judge(classes)
    assert none_at_risk.failing.tolist() == LargestRisk(risk=risk).judge(classes).failing.tolist()
    none_unique = SampleUniques(share=0).judge(classes)
    assert none_unique.failing.tolist() == KAnonymity(k=2).judge(classes).failing.tolist()


def test_the_smallest_are_blamed_first():
    classes = classes_of([5, 1, 2, 1, 9, 1])

    assert AverageRisk(risk=0.2).judge(classes).failing.tolist() == [1, 3, 5]
    assert AverageRisk(risk=0.22).judge(classes).failing.tolist() == [1, 3]
    assert SampleUniques(share=0.06).judge(classes).failing.tolist() == [1, 3]
    # Five rows are at risk and one may be: three unique rows, and one class of two.
    assert RecordsAtRisk(share=0.06, risk=0.4).judge(classes).failing.tolist() == [1, 2, 3, 5]


def test_a_table_that_one_class_cannot_mend_blames_it():
    assert AverageRisk(risk=0.1).judge(classes_of([9])).failing.tolist() == [0]
    assert AverageRisk(risk=0.1).judge(classes_of([10])).holds


def test_a_model_that_blames_nobody_still_misses():
    """Otherwise a table that misses would look like one that keeps."""

    @dataclass(frozen=True, slots=True, kw_only=True, repr=False)
    class Careless(TableGuarantee):
        model: ClassVar[str] = "careless"
        bounded: ClassVar[str] = "most"
        most: float = 0.5

        def _level_of_table(self, classes):
            return 1.0, classes.rows == 0

        def _to_blame(self, classes):
            return classes.sizes[:0]

    judgement = Careless().judge(classes_of([1, 2]))

    assert not judgement.holds
    assert judgement.failing.tolist() == [0, 1]


def test_counts_that_leave_64_bits_are_exact():
    """A third of 3 * 10**18 rows, with a risk of many digits: products are compared unrounded."""
    sizes = [1, 3 * 10**18 - 1]
    share = 1 / (3 * 10**18)

    assert SampleUniques(share=share * 1.0001).judge(classes_of(sizes)).holds
    assert not SampleUniques(share=share * 0.9999).judge(classes_of(sizes)).holds
