"""The engine's judges of a side of a cut: against the papers' definitions, and on the safe side."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from halfmask.guarantees import (
    AlphaKAnonymity,
    BasicBetaLikeness,
    Classes,
    DeltaDisclosurePrivacy,
    DistinctLDiversity,
    EnhancedBetaLikeness,
    EntropyLDiversity,
    RecursiveCLDiversity,
    TCloseness,
)
from halfmask.kernels.partition.criteria import RULES, Rules, rules_hold

DISTINCT_L, ENTROPY_L, RECURSIVE_CL, T_EQUAL, T_ORDERED, T_HIERARCHICAL, *_ = RULES.values()
#: By how much a level must clear its threshold before the careful kernel has to agree.
CLEAR = 1e-7

#: Thresholds as people type them.
thresholds = st.integers(0, 100).map(lambda percent: percent / 100)
some_counts = st.lists(st.integers(0, 12), min_size=1, max_size=7)


def _rules(kind, threshold, *, shares, c=0.0, parents=()):
    return Rules(
        np.array([kind]),
        np.array([0]),
        np.array([[float(threshold), float(c)]]),
        np.array([0, len(shares)]),
        np.array(shares, dtype=np.float64),
        np.array(parents, dtype=np.int64),
        np.array([0, len(parents)]),
    )


def _holds(counts, rules):
    """Judge the class as either side of a cut; they must agree."""
    own, scratch = np.array(counts, dtype=np.int64), np.full((4, len(counts)), np.nan)
    sides = np.array([own, np.full_like(own, 99)])
    left = rules_hold(sides, 0, sum(counts), rules, scratch, False)
    right = rules_hold(sides[::-1].copy(), 1, sum(counts), rules, scratch, False)
    assert left == right
    return left


def _judged(guarantee, counts, others):
    """Judge a class with these counts in a table whose other rows have those."""
    values, others = np.arange(len(counts)), others or [0] * len(counts)
    codes = np.concatenate([np.repeat(values, counts), np.repeat(values, others)])
    of_row = np.repeat([0, 1], [sum(counts), sum(others)])
    classes = Classes.from_codes(of_row, 1 + bool(sum(others)), {"s": (codes, len(counts))})
    judgement = guarantee.judge(classes)
    return 0 not in judgement.failing.tolist(), judgement.levels[0]


def _distance(counts, shares, ground):
    """Return the earth mover's distance by its definition: the cheapest way to move the mass."""
    n, size = len(counts), sum(counts)
    cost = np.array(ground, dtype=float).ravel()
    leaving = np.kron(np.eye(n), np.ones(n))
    coming = np.kron(np.ones(n), np.eye(n))
    solved = linprog(
        cost,
        A_eq=np.vstack([leaving, coming]),
        b_eq=np.concatenate([np.array(counts) / size, shares]),
    )
    assert solved.success
    return solved.fun


@pytest.mark.slow
@settings(deadline=None)
@given(counts=some_counts, l=st.integers(1, 8))
def test_distinct_l_is_the_number_of_values(counts, l):
    assume(sum(counts))

    kept = _holds(counts, _rules(DISTINCT_L, l, shares=np.zeros(len(counts))))

    assert kept == (len([count for count in counts if count]) >= l)


@settings(deadline=None)
@given(counts=some_counts, l=st.floats(1, 8))
def test_entropy_l_is_careful(counts, l):
    assume(sum(counts))
    size = sum(counts)
    level = math.exp(-math.fsum(c / size * math.log(c / size) for c in counts if c))

    kept = _holds(counts, _rules(ENTROPY_L, l, shares=np.zeros(len(counts))))

    if kept:
        assert _judged(EntropyLDiversity(l=l, column="s"), counts, [])[0]
    if level > l * (1 + CLEAR):
        assert kept
    if level < l * (1 - CLEAR):
        assert not kept


@settings(deadline=None)
@given(counts=some_counts, l=st.integers(2, 6), c=st.sampled_from([0.1, 0.3, 0.5, 1, 1.1, 2, 3.7]))
def test_recursive_cl_is_careful(counts, l, c):
    assume(sum(counts))
    ordered = sorted(counts, reverse=True)
    rarer = Fraction(str(c)) * sum(ordered[l - 1 :])

    kept = _holds(counts, _rules(RECURSIVE_CL, l, c=c, shares=np.zeros(len(counts))))

    if kept:
        assert ordered[0] < rarer
        assert _judged(RecursiveCLDiversity(c=c, l=l, column="s"), counts, [])[0]
    if ordered[0] < rarer * (1 - Fraction(CLEAR)):
        assert kept


@pytest.mark.parametrize("rarer", [10, 10**3, 10**6, 10**7, 3 * 10**9, 7 * 10**11])
@pytest.mark.parametrize("c", ["1.1", "1.3", "2.3", "3.3", "4.6", "5.7", "8.9"])
def test_recursive_cl_is_strict_however_many_rows(rarer, c):
    """r1 = c * rest isn't below it, even where the floating-point product rounds up."""
    largest = Fraction(c) * rarer
    assert largest.denominator == 1

    kept = _holds([int(largest), rarer], _rules(RECURSIVE_CL, 2, c=float(c), shares=np.zeros(2)))

    assert not kept


def _shares(counts, others):
    totals = np.array(counts) + np.array(others)
    return totals / totals.sum()


@st.composite
def _class_and_rest(draw, *, max_values=6):
    n = draw(st.integers(1, max_values))
    counts = draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    others = draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    assume(sum(counts))
    return counts, others


def _check_t(kind, guarantee, distance, counts, others, parents=()):
    rules = _rules(kind, guarantee.t, shares=_shares(counts, others), parents=parents)

    kept = _holds(counts, rules)

    if kept:
        met, _ = _judged(guarantee, counts, others)
        assert met
        assert distance <= guarantee.t + CLEAR
    if distance < guarantee.t - CLEAR:
        assert kept


@settings(deadline=None, max_examples=60)
@given(table=_class_and_rest(), t=thresholds)
def test_equal_distance_is_the_earth_movers(table, t):
    counts, others = table
    distance = _distance(counts, _shares(counts, others), 1 - np.eye(len(counts)))

    _check_t(T_EQUAL, TCloseness(t=t, column="s"), distance, counts, others)


@settings(deadline=None, max_examples=60)
@example(table=([3, 0, 0, 0, 0], [0, 3, 0, 0, 0]), t=0.2)
@given(table=_class_and_rest(), t=thresholds)
def test_ordered_distance_is_the_earth_movers(table, t):
    """Values that nobody has (only a hierarchy knows them) don't make distances look smaller."""
    counts, others = table
    shares = _shares(counts, others)
    place = np.cumsum(shares > 0) - 1
    ground = np.abs(place[:, None] - place[None, :]) / max(1, place[-1])
    distance = _distance(counts, shares, ground)
    guarantee = TCloseness(t=t, column="s", distance="ordered")

    _check_t(T_ORDERED, guarantee, distance, counts, others)


@st.composite
def _trees(draw, n):
    """Draw the node of each leaf at each level from 1 to the root, numbered from 0."""
    levels, nodes = [], list(range(n))
    for _ in range(draw(st.integers(0, 2))):
        merged = [0]
        for left, right in itertools.pairwise(nodes):
            merged.append(merged[-1] + (left != right and draw(st.booleans())))
        levels.append(merged)
        nodes = merged
    return [*levels, [0] * n]


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(data=st.data(), table=_class_and_rest(), t=thresholds)
def test_hierarchical_distance_is_the_earth_movers(data, table, t):
    from halfmask.data import Hierarchy  # noqa: PLC0415 # only here

    counts, others = table
    n = len(counts)
    levels = data.draw(_trees(n))
    meet = [
        [
            0
            if i == j
            else 1 + next(level for level, nodes in enumerate(levels) if nodes[i] == nodes[j])
            for j in range(n)
        ]
        for i in range(n)
    ]
    distance = _distance(counts, _shares(counts, others), np.array(meet) / len(levels))
    tree = Hierarchy.from_rows(
        [
            (f"leaf{i}", *(f"{level}.{nodes[i]}" for level, nodes in enumerate(levels)))
            for i in range(n)
        ],
        column="s",
    )
    guarantee = TCloseness(t=t, column="s", distance="hierarchical", hierarchy=tree)

    _check_t(T_HIERARCHICAL, guarantee, distance, counts, others, list(itertools.chain(*levels)))


@settings(deadline=None)
@given(counts=some_counts, alpha=st.sampled_from([0.1, 0.25, 0.3, 1 / 3, 0.5, 0.7]))
@example(counts=[3, 3, 2, 2], alpha=0.3)
def test_largest_share_is_exact(counts, alpha):
    assume(sum(counts))
    guarantee = AlphaKAnonymity(alpha=alpha, k=1, column="s")
    rule = guarantee.criterion()

    kept = _holds(
        counts,
        _rules(
            RULES[rule.rule], rule.thresholds[0], c=rule.thresholds[1], shares=np.zeros(len(counts))
        ),
    )

    meant = (
        Fraction(1, 3) if alpha == 1 / 3 else Fraction(str(alpha))
    )  # a quotient is meant exactly
    assert kept == (Fraction(max(counts), sum(counts)) <= meant)


def _excess(rule, bound, pairs):
    """Return by how much the worst value exceeds its bound; pairs are (q, p), p above 0."""
    if rule == "delta-disclosure":
        return max(abs(math.log(q / p)) if q else math.inf for q, p in pairs) - bound
    enhanced = rule == "enhanced-beta"
    return max((q - p) / p - (min(bound, -math.log(p)) if enhanced else bound) for q, p in pairs)


@settings(deadline=None)
@given(
    table=_class_and_rest(),
    bound=st.sampled_from([0.1, 0.5, 0.7, 1.0, 2.0, 5.0]),
    rule=st.sampled_from(["delta-disclosure", "basic-beta", "enhanced-beta"]),
)
@example(table=([2, 0], [1, 1]), bound=0.1, rule="enhanced-beta")
def test_ratios_of_shares_are_careful(table, bound, rule):
    counts, others = table
    shares = _shares(counts, others)
    pairs = [(c / sum(counts), p) for c, p in zip(counts, shares, strict=True) if p]
    guarantee = {
        "delta-disclosure": DeltaDisclosurePrivacy(delta=bound, column="s"),
        "basic-beta": BasicBetaLikeness(beta=bound, column="s"),
        "enhanced-beta": EnhancedBetaLikeness(beta=bound, column="s"),
    }[rule]

    kept = _holds(counts, _rules(RULES[rule], bound, shares=shares))

    excess = _excess(rule, bound, pairs)
    if kept:
        assert _judged(guarantee, counts, others)[0]
        assert excess <= CLEAR
    if excess < -CLEAR:
        assert kept


@pytest.mark.parametrize("rule", ["delta-disclosure", "basic-beta", "enhanced-beta"])
def test_a_column_of_one_value_has_nothing_to_gain(rule):
    assert _holds([4, 0], _rules(RULES[rule], 0.1, shares=[1.0, 0.0]))


@pytest.mark.parametrize(
    ("rule", "weak", "strict"),
    [("delta-disclosure", 0.8, 0.6), ("basic-beta", 1.1, 0.9), ("enhanced-beta", 0.7, 0.6)],
)
def test_rules_of_shares_can_fail(rule, weak, strict):
    """A class has half and half of the values of a table with a quarter and three quarters."""
    shares = [0.25, 0.75]
    if rule == "enhanced-beta":
        shares = [0.3, 0.7]  # a gain of 2/3, and -log(0.3) is more

    assert _holds([3, 3], _rules(RULES[rule], weak, shares=shares))
    assert not _holds([3, 3], _rules(RULES[rule], strict, shares=shares))


def test_a_frequent_value_fills_no_class_with_enhanced_beta():
    shares = [0.8, 0.2]

    assert _holds([6, 0], _rules(RULES["basic-beta"], 5, shares=shares))
    assert not _holds([6, 0], _rules(RULES["enhanced-beta"], 5, shares=shares))


def test_a_wrong_judge_would_be_seen():
    """The oracle has power: a class of one value is at distance from an even table."""
    counts, others = [4, 0], [0, 4]

    assert _distance(counts, _shares(counts, others), 1 - np.eye(2)) == pytest.approx(0.5)
    assert not _holds(counts, _rules(T_EQUAL, 0.4, shares=_shares(counts, others)))
    assert _holds(counts, _rules(T_EQUAL, 0.6, shares=_shares(counts, others)))


def test_every_rule_must_hold():
    """Two columns, one rule each: either may fail the class."""
    both = Rules(
        np.array([DISTINCT_L, DISTINCT_L]),
        np.array([0, 1]),
        np.array([[2.0], [2.0]]),
        np.array([0, 3, 5]),
        np.zeros(5),
        np.zeros(0, dtype=np.int64),
        np.zeros(3, dtype=np.int64),
    )

    kept = [
        rules_hold(np.array([counts]), 0, 2, both, np.empty((4, 5)), False)
        for counts in ([1, 1, 0, 1, 1], [2, 0, 0, 1, 1], [1, 1, 0, 2, 0], [1, 1, 0, 0, 2])
    ]
    assert kept == [True, False, False, False]


@settings(deadline=None)
@given(counts=some_counts)
def test_distinct_judge_agrees(counts):
    assume(sum(counts))
    for l in range(1, 6):
        met, _ = _judged(DistinctLDiversity(l=l, column="s"), counts, [])
        assert met == _holds(counts, _rules(DISTINCT_L, l, shares=np.zeros(len(counts))))
