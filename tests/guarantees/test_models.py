"""Every model against an oracle that counts rows in dictionaries and fractions."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError
from halfmask._validation import decimal
from halfmask.guarantees import (
    GUARANTEES,
    AlphaKAnonymity,
    AverageRisk,
    BasicBetaLikeness,
    Classes,
    DeltaDisclosurePrivacy,
    DistinctLDiversity,
    EnhancedBetaLikeness,
    EntropyLDiversity,
    EstimatedKMap,
    KAnonymity,
    LargestRisk,
    PopulationUniques,
    ProfitabilityProsecutor,
    ProfitabilityProsecutorNoAttack,
    RecordsAtRisk,
    RecursiveCLDiversity,
    SampleUniques,
    TCloseness,
    measure,
)
from halfmask.guarantees._exact import at_most, below

Row = tuple[int | None, str | None, int | None]
ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(0, 1),
        st.none() | st.sampled_from("ab"),
        st.none() | st.integers(0, 4),
    ),
    min_size=1,
    max_size=40,
)
THRESHOLDS = st.sampled_from([0.1, 0.2, 0.25, 0.3, 1 / 3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0])


def frame_of(rows: list[Row]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"p": pl.Int64, "q": pl.String, "s": pl.Int64}, orient="row")


def counts_by_class(rows: list[Row]) -> dict[tuple[int | None, str | None], Counter[int | None]]:
    found: dict[tuple[int | None, str | None], Counter[int | None]] = defaultdict(Counter)
    for p, q, s in rows:
        found[p, q][s] += 1
    return found


def typed(threshold: float) -> Fraction:
    """Return what was typed: a decimal, or a third."""
    return {1 / 3: Fraction(1, 3)}.get(threshold, Fraction(str(threshold)))


def shares(counts: Counter[int | None], values: list[int | None]) -> list[Fraction]:
    return [Fraction(counts[value], counts.total()) for value in values]


def in_order(rows: list[Row]) -> list[int | None]:
    occurring = {row[2] for row in rows}
    return [*sorted(v for v in occurring if v is not None), *([None] if None in occurring else [])]


def naive_equal(rows: list[Row]) -> list[Fraction]:
    values = in_order(rows)
    whole = shares(Counter(row[2] for row in rows), values)
    return [
        sum((abs(a - b) for a, b in zip(shares(counts, values), whole, strict=True)), Fraction())
        / 2
        for counts in counts_by_class(rows).values()
    ]


def naive_ordered(rows: list[Row]) -> list[Fraction]:
    values = in_order(rows)
    whole = shares(Counter(row[2] for row in rows), values)
    out = []
    for counts in counts_by_class(rows).values():
        carried, moved = Fraction(), Fraction()
        for a, b in zip(shares(counts, values), whole, strict=True):
            carried += a - b
            moved += abs(carried)
        out.append(moved / max(len(values) - 1, 1))
    return out


def naive_recursive(counts: Counter[int | None], l: int) -> Fraction | None:
    r = sorted(counts.values(), reverse=True)
    return Fraction(r[0], sum(r[l - 1 :])) if len(r) >= l else None


def naive_entropy_holds(counts: Counter[int | None], l: Fraction) -> bool:
    """``exp(H) >= l`` with integers: ``n^n >= l^n * product(c^c)``."""
    n = counts.total()
    return bool(l**n * math.prod(c**c for c in counts.values()) <= n**n)


def judged(rows, guarantee):
    (judgement,) = measure(frame_of(rows), quasi_identifiers=["p", "q"], guarantees=[guarantee])
    return judgement


def agree(judgement, expected, failing):
    """Compare levels and misses, of which the order of the classes isn't promised."""
    assert sorted(judgement.levels.tolist()) == pytest.approx(sorted(map(float, expected)))
    assert judgement.failing.size == failing
    assert judgement.holds == (failing == 0)
    assert judgement.classes == len(expected)
    missed = judgement.levels[judgement.failing].tolist()
    rest = np.delete(judgement.levels, judgement.failing).tolist()
    worst = max if judgement.guarantee.worse_when_larger else min
    assert judgement.achieved == worst(judgement.levels.tolist())
    if missed and rest:
        assert worst([worst(missed), *rest]) == worst(missed)


@pytest.mark.slow
@given(ROWS, st.integers(1, 6))
def test_k_is_the_number_of_rows(rows, k):
    sizes = [counts.total() for counts in counts_by_class(rows).values()]

    judgement = judged(rows, KAnonymity(k=k))

    agree(judgement, sizes, sum(size < k for size in sizes))
    assert judgement.rows == len(rows)
    assert judgement.rows_failing == sum(size for size in sizes if size < k)


@pytest.mark.slow
@given(ROWS, st.sampled_from([0.05, 0.09, 0.1, 0.2, 0.33, 1 / 3, 0.5]))
@example([(0, "a", 0)] * 10, 0.1)
@example([(0, "a", 0)] * 3, 1 / 3)
def test_the_largest_risk_is_one_over_the_rows_of_a_class(rows, risk):
    found = [Fraction(1, counts.total()) for counts in counts_by_class(rows).values()]

    agree(judged(rows, LargestRisk(risk=risk)), found, sum(x > typed(risk) for x in found))


@pytest.mark.slow
@given(ROWS, st.integers(1, 5))
def test_distinct_l_is_the_number_of_values(rows, l):
    found = [len(counts) for counts in counts_by_class(rows).values()]

    agree(judged(rows, DistinctLDiversity(l=l, column="s")), found, sum(x < l for x in found))


@pytest.mark.slow
@given(ROWS, THRESHOLDS | st.floats(1, 6))
@example([(0, "a", v) for v in (0, 0, 0, 1)], 1.76)  # the level is 1.7548
@example([(0, "a", v) for v in (0, 0, 0, 0, 1, 2, 3, None)], 4.0)  # exp(H) is 4, unevenly
@example([(0, "a", v) for v in (0, 1, 2)], 3.0)  # math.exp(math.log(3)) is above 3, a hair
def test_entropy_l_is_the_exponential_of_the_entropy(rows, l):
    assume(l >= 1)
    classes = list(counts_by_class(rows).values())
    levels = [
        math.exp(-math.fsum(c / n * math.log(c / n) for c in counts.values()))
        for counts in classes
        for n in [counts.total()]
    ]
    failing = sum(not naive_entropy_holds(counts, typed(l)) for counts in classes)

    agree(judged(rows, EntropyLDiversity(l=l, column="s")), levels, failing)


@pytest.mark.slow
@given(ROWS, THRESHOLDS, st.integers(2, 4))
@example([(0, "a", v) for v in (0, 1, 2)], 0.5, 2)
@example([(0, "a", 0), *[(0, "a", 1)] * 10], 10.0, 2)  # r1 = c * r2: strictly less is asked
def test_recursive_c_is_the_most_frequent_over_the_rarer(rows, c, l):
    found = [naive_recursive(counts, l) for counts in counts_by_class(rows).values()]
    failing = sum(x is None or x >= typed(c) for x in found)

    agree(
        judged(rows, RecursiveCLDiversity(c=c, l=l, column="s")),
        [math.inf if x is None else x for x in found],
        failing,
    )


@pytest.mark.slow
@given(ROWS, THRESHOLDS)
@example([(0, "a", v) for v in range(5)] + [(1, "a", v) for v in (0, 0, 0, 1, 2)], 0.2)
def test_equal_distance_is_half_of_the_absolute_differences(rows, t):
    assume(t <= 1)
    found = naive_equal(rows)

    agree(judged(rows, TCloseness(t=t, column="s")), found, sum(x > typed(t) for x in found))


@pytest.mark.slow
@given(ROWS, THRESHOLDS)
def test_ordered_distance_cumulates_differences_in_the_order_of_the_values(rows, t):
    assume(t <= 1)
    found = naive_ordered(rows)

    agree(
        judged(rows, TCloseness(t=t, column="s", distance="ordered")),
        found,
        sum(x > typed(t) for x in found),
    )


@pytest.mark.slow
@given(ROWS, st.sampled_from([0.1, 0.25, 0.3, 1 / 3, 0.5, 0.7, 0.99]), st.integers(1, 5))
@example([(0, "a", v) for v in (0, 0, 0, 1, 1, 2, 2, 3, 3, 4)], 0.3, 10)  # alpha itself
@example([(0, "a", v) for v in (0, 1, 2)], 1 / 3, 2)
def test_alpha_is_the_share_of_the_most_frequent_value(rows, alpha, k):
    found = [
        Fraction(max(counts.values()), counts.total()) if counts.total() >= k else None
        for counts in counts_by_class(rows).values()
    ]

    agree(
        judged(rows, AlphaKAnonymity(alpha=alpha, k=k, column="s")),
        [math.inf if x is None else x for x in found],
        sum(x is None or x > typed(alpha) for x in found),
    )


def naive_ratios(rows: list[Row]) -> list[list[tuple[Fraction, Fraction]]]:
    """Return for each class the shares (q in it, p in the table) of every value of the table."""
    values = in_order(rows)
    whole = shares(Counter(row[2] for row in rows), values)
    return [
        list(zip(shares(counts, values), whole, strict=True))
        for counts in counts_by_class(rows).values()
    ]


@pytest.mark.slow
@given(ROWS, st.sampled_from([0.05, 0.3, 0.7, 1.0, 2.5]))
@example([(0, "a", 0), (0, "a", 1), (1, "a", 0)], 0.7)  # the second class lacks a value
def test_delta_bounds_the_log_of_the_ratio_of_shares_both_ways(rows, delta):
    found = [
        max(abs(math.log(q / p)) if q else math.inf for q, p in each) for each in naive_ratios(rows)
    ]

    agree(
        judged(rows, DeltaDisclosurePrivacy(delta=delta, column="s")),
        found,
        sum(x >= delta for x in found),
    )


@pytest.mark.slow
@given(ROWS, st.sampled_from([0.1, 0.25, 0.5, 1.0, 2.0, 3.0]))
@example([(0, "a", 0), (0, "a", 0), (1, "a", 1), (1, "a", 1)], 1.0)  # a share doubles: beta itself
def test_beta_bounds_what_becomes_more_frequent(rows, beta):
    found = [max((q - p) / p for q, p in each) for each in naive_ratios(rows)]

    agree(
        judged(rows, BasicBetaLikeness(beta=beta, column="s")),
        found,
        sum(x > typed(beta) for x in found),
    )


@pytest.mark.slow
@given(ROWS, st.sampled_from([0.1, 0.25, 0.5, 1.0, 2.0, 3.0]))
@example([(0, "a", 0), (0, "a", 0), (1, "a", 1), (1, "a", 1)], 3.0)  # 1 is above log(2)
@example([(0, "a", 0), (1, "a", 0)], 0.1)  # one value: nothing to gain
def test_enhanced_beta_bounds_frequent_values_too(rows, beta):
    found = [
        math.inf
        if any((q - p) / p > -math.log(p) for q, p in each)
        else max((q - p) / p for q, p in each)
        for each in naive_ratios(rows)
    ]

    agree(
        judged(rows, EnhancedBetaLikeness(beta=beta, column="s")),
        found,
        sum(x > typed(beta) for x in found),
    )


def test_logarithms_nearer_to_the_bound_than_floats_can_tell_are_settled():
    """A share of 3/2 of the table's, against log(1.5) cut and rounded up at the 17th digit."""
    classes = Classes.from_codes([0] * 4 + [1] * 4, 2, {"s": ([0, 0, 0, 1, 0, 1, 1, 1], 2)})
    level = DeltaDisclosurePrivacy(delta=9, column="s").judge(classes).achieved
    digits = (Decimal(1) / 2).ln().copy_abs()  # the other side: half of the table's share

    assert level == pytest.approx(math.log(2))
    below_it, above_it = (
        next(x for x in (level, math.nextafter(level, to)) if (Decimal(str(x)) > digits) is up)
        for to, up in ((0, False), (1, True))
    )
    assert not DeltaDisclosurePrivacy(delta=below_it, column="s").judge(classes).holds
    assert DeltaDisclosurePrivacy(delta=above_it, column="s").judge(classes).holds


def test_share_ratios_that_leave_64_bits_are_exact():
    """Two classes of three thousand million rows: one row more than half in the first."""
    big = 3 * 10**9
    histogram = Classes.from_codes([0, 0, 1, 1], 2, {"s": ([0, 1, 0, 1], 2)}).histogram("s")
    histogram = type(histogram)(
        offsets=histogram.offsets,
        codes=histogram.codes,
        counts=np.array([big // 2 + 1, big // 2 - 1, big // 2 - 1, big // 2 + 1]),
        totals=np.array([big, big]),
    )
    classes = Classes(np.array([big, big]), {"s": histogram})
    gain = 2 / big

    for kind in (BasicBetaLikeness, EnhancedBetaLikeness):
        judgement = kind(beta=gain * 1.0001, column="s").judge(classes)
        assert judgement.levels.tolist() == pytest.approx([gain] * 2)
        assert judgement.holds
        assert kind(beta=gain * 0.9999, column="s").judge(classes).failing.tolist() == [0, 1]
    assert not DeltaDisclosurePrivacy(delta=gain * 0.9999, column="s").judge(classes).holds
    assert DeltaDisclosurePrivacy(delta=gain * 1.0001, column="s").judge(classes).holds


GUARANTEES_OF_ROWS = [
    KAnonymity(k=3),
    EstimatedKMap(k=6, sampling_fraction=0.2, significance=0.1, estimator="zero-truncated-poisson"),
    LargestRisk(risk=0.33),
    AverageRisk(risk=0.4),
    SampleUniques(share=0.2),
    RecordsAtRisk(share=0.3, risk=0.33),
    PopulationUniques(share=0.3, sampling_fraction=0.2),
    ProfitabilityProsecutor(
        publisher_benefit=2, publisher_loss=5, adversary_gain=9, adversary_cost=1
    ),
    ProfitabilityProsecutorNoAttack(adversary_gain=5, adversary_cost=2),
    DistinctLDiversity(l=2, column="s"),
    EntropyLDiversity(l=1.7, column="s"),
    RecursiveCLDiversity(c=1.5, l=2, column="s"),
    TCloseness(t=0.3, column="s"),
    TCloseness(t=0.2, column="s", distance="ordered"),
    AlphaKAnonymity(alpha=0.6, k=1, column="s"),
    DeltaDisclosurePrivacy(delta=0.7, column="s"),
    BasicBetaLikeness(beta=1, column="s"),
    EnhancedBetaLikeness(beta=1, column="s"),
]


def test_every_model_is_tried_below():
    tried = {guarantee.model for guarantee in GUARANTEES_OF_ROWS}
    elsewhere = {
        it for it, kind in GUARANTEES.items() if kind.needs_population or kind.needs_written
    }
    assert tried == set(GUARANTEES) - elsewhere


@pytest.mark.slow
@pytest.mark.parametrize(
    "guarantee", [each for each in GUARANTEES_OF_ROWS if each.monotone], ids=str
)
def test_merging_classes_never_breaks_a_monotone_guarantee(guarantee):
    """A merged class is no worse than the worst that it is made of, and passes if they all do."""

    @given(ROWS, st.lists(st.integers(0, 2), min_size=9, max_size=9))
    def check(rows, into):
        classes = Classes.of(frame_of(rows), quasi_identifiers=["p", "q"], sensitive=["s"])
        _, target = np.unique(into[: classes.n_classes], return_inverse=True)
        merged = classes.coarsened(target, int(target.max()) + 1)

        before, after = guarantee.judge(classes), guarantee.judge(merged)

        assert guarantee.monotone
        for index, level in enumerate(after.levels.tolist()):
            parts = before.levels[target == index].tolist()
            if guarantee.worse_when_larger:
                assert level <= max(parts) * (1 + 1e-12)
            else:
                assert level >= min(parts) * (1 - 1e-12)
            if guarantee.of_table:
                assert after.holds or not before.holds
            elif not set(before.failing.tolist()) & set(np.flatnonzero(target == index).tolist()):
                assert index not in after.failing

    check()


@pytest.mark.slow
@pytest.mark.parametrize("guarantee", GUARANTEES_OF_ROWS, ids=str)
def test_levels_depend_on_rows_only_by_their_counts(guarantee):
    """Shuffled rows give the same levels; a table twice over doubles k and leaves the rest."""

    @given(ROWS, st.randoms(use_true_random=False))
    def check(rows, random):
        shuffled = list(rows)
        random.shuffle(shuffled)
        once = sorted(judged(rows, guarantee).levels.tolist())
        halved = {"largest-risk": 0.5, "average-risk": 0.5, "sample-uniqueness": 0}
        halved["profitability-prosecutor-no-attack"] = 0.5
        factor = {"k-anonymity": 2.0, **halved}.get(guarantee.model, 1)

        assert sorted(judged(shuffled, guarantee).levels.tolist()) == pytest.approx(once)
        thresholds = {"records-at-risk", "profitability-prosecutor"}
        if guarantee.model in thresholds or guarantee.basis == "estimated":
            return  # a class of twice the rows may not be at risk, or another is estimated
        assert sorted(judged(rows * 2, guarantee).levels.tolist()) == pytest.approx(
            [factor * level for level in once]
        )

    check()


@pytest.mark.parametrize("guarantee", GUARANTEES_OF_ROWS, ids=str)
def test_a_table_without_rows_is_not_judged(guarantee):
    with pytest.raises(ParameterError, match="no rows"):
        measure(frame_of([]), quasi_identifiers=["p"], guarantees=[guarantee])


@pytest.mark.parametrize("guarantee", GUARANTEES_OF_ROWS, ids=str)
def test_a_class_without_rows_is_not_judged(guarantee):
    classes = Classes.from_codes([0, 2], 3, {"s": ([0, 0], 1)})

    with pytest.raises(ParameterError, match="a class has none"):
        guarantee.judge(classes)


@pytest.mark.parametrize("guarantee", [each for each in GUARANTEES_OF_ROWS if each.column], ids=str)
def test_a_column_that_is_not_there_is_named(guarantee):
    with pytest.raises(ColumnNotFoundError, match="'s'"):
        measure(pl.DataFrame({"p": [1]}), quasi_identifiers=["p"], guarantees=[guarantee])
    with pytest.raises(ColumnNotFoundError, match="'s'"):
        guarantee.judge(Classes.from_codes([0], 1))


def test_thresholds_are_met_at_equality_and_missed_one_row_beyond():
    """One tenth and three tenths have no binary form; the decimal that was typed counts."""
    values = [0] * 9 + [1] + [0] * 8 + [1] * 2 + [0] * 7 + [1] * 3
    classes = Classes.from_codes(np.repeat([0, 1, 2], 10), 3, {"s": (values, 2)})

    judgement = TCloseness(t=0.1, column="s").judge(classes)

    assert judgement.levels.tolist() == [0.1, 0.0, 0.1]
    assert judgement.holds
    assert TCloseness(t=0.0999999999999, column="s").judge(classes).failing.tolist() == [0, 2]
    assert RecursiveCLDiversity(c=9, l=2, column="s").judge(classes).failing.tolist() == [0]
    assert RecursiveCLDiversity(c=9.000001, l=2, column="s").judge(classes).holds


def test_counts_that_leave_64_bits_are_compared_exactly():
    """Three thousand million rows in each of two classes: the products need 65 bits."""
    big = 3 * 10**9
    histogram = Classes.from_codes([0, 0, 1, 1], 2, {"s": ([0, 1, 0, 1], 2)}).histogram("s")
    counts = np.array([big // 2 + 1, big // 2 - 1, big // 2 - 1, big // 2 + 1])
    histogram = type(histogram)(
        offsets=histogram.offsets,
        codes=histogram.codes,
        counts=counts,
        totals=np.array([big, big]),
    )
    classes = Classes(np.array([big, big]), {"s": histogram})

    for distance in ("equal", "ordered"):
        exact = Fraction(1, big)
        just_below = float(exact) * (1 - 1e-12)
        judgement = TCloseness(t=float(exact) * 1.0001, column="s", distance=distance)
        assert judgement.judge(classes).levels.tolist() == pytest.approx([float(exact)] * 2)
        assert judgement.judge(classes).holds
        strict = TCloseness(t=just_below, column="s", distance=distance)
        assert strict.judge(classes).failing.tolist() == [0, 1]


def test_large_uneven_classes_near_the_threshold_are_settled_on_the_careful_side():
    """So near to l that floats can't tell, and too large for integers: the class misses."""
    counts = [4001] * 2 + [4000] * 2
    codes = np.repeat(np.arange(4), counts)
    classes = Classes.from_codes(np.zeros(len(codes)), 1, {"s": (codes, 4)})
    level = EntropyLDiversity(l=1, column="s").judge(classes).achieved

    assert level < 4
    assert EntropyLDiversity(l=level, column="s").judge(classes).failing.tolist() == [0]
    assert EntropyLDiversity(l=level * (1 - 1e-8), column="s").judge(classes).holds


@pytest.mark.parametrize("m", [2, 3, 5, 6, 7, 11, 25, 60])
@pytest.mark.parametrize("each", [1, 3, 49])
def test_evenly_frequent_values_have_their_number_as_level(m, each):
    """In floats the exponential of the logarithm of 5 is 4.999999999999999."""
    codes = np.repeat(np.arange(m), each)
    classes = Classes.from_codes(np.zeros(len(codes)), 1, {"s": (codes, m)})

    judgement = EntropyLDiversity(l=m, column="s").judge(classes)

    assert judgement.achieved == m
    assert judgement.holds


def test_large_classes_are_settled_exactly_where_their_counts_have_a_common_factor():
    codes = np.repeat(np.arange(5), [4000, 1000, 1000, 1000, 1000])
    classes = Classes.from_codes(np.zeros(len(codes)), 1, {"s": (codes, 5)})

    assert EntropyLDiversity(l=4, column="s").judge(classes).holds
    assert not EntropyLDiversity(l=4.0000000001, column="s").judge(classes).holds


@given(st.integers(2, 400).flatmap(lambda n: st.tuples(st.integers(1, n - 1), st.just(n))))
@example((1, 3))
@example((2, 3))
@example((5, 399))
def test_a_threshold_may_be_a_quotient_and_its_float_is_not_rounded(pair):
    """The decimal of 1/3 is below a third, that of 2/3 as well: classes of three kept neither."""
    part, whole = pair
    ills = [*[0] * part, *range(1, 1 + whole - part)]
    classes = Classes.from_codes([0] * whole, 1, {"s": (ills, 400)})
    alone = Classes.from_codes([*range(part), *[part] * (whole - part)], part + 1)

    for share, holds in ((part / whole, True), (math.nextafter(part / whole, 0), False)):
        judged_ = AlphaKAnonymity(alpha=share, k=1, column="s").judge(classes)
        assert judged_.holds == holds
        if whole - part > 1:
            assert SampleUniques(share=share).judge(alone).holds == holds
    for fewer in (0, 1):
        rows = Classes.from_codes([0] * (whole - fewer), 1)
        assert LargestRisk(risk=1 / whole).judge(rows).holds == (not fewer)


def test_a_threshold_is_the_decimal_that_was_typed():
    """The nearest binary to 0.3 is below three tenths, that to 0.1 is above one."""
    three_tenths = [0] * 8 + [1] * 2 + [0] * 2 + [1] * 8
    classes = Classes.from_codes(np.repeat([0, 1], 10), 2, {"s": (three_tenths, 2)})
    one_tenth = Classes.from_codes([0] * 11, 1, {"s": ([0] + [1] * 10, 2)})

    assert TCloseness(t=0.3, column="s").judge(classes).holds
    assert not RecursiveCLDiversity(c=10, l=2, column="s").judge(one_tenth).holds
    one_of_ten = Classes.from_codes([0] * 20, 1, {"s": ([0, *range(1, 20)], 20)})
    assert not RecursiveCLDiversity(c=0.1, l=11, column="s").judge(one_of_ten).holds


@given(
    st.lists(st.tuples(st.integers(0, 2**40), st.integers(1, 2**40)), min_size=1, max_size=5),
    st.fractions(0, 2) | st.floats(0.001, 2).map(decimal),
)
def test_fractions_are_compared_exactly_whatever_their_size(pairs, bound):
    pairs.append((bound.numerator, bound.denominator))
    numerators, denominators = (np.array(part, dtype=object) for part in zip(*pairs, strict=True))
    if max(map(max, pairs)) < 2**62:
        numerators, denominators = numerators.astype(np.int64), denominators.astype(np.int64)

    expected = [Fraction(*pair) for pair in pairs]
    assert at_most(numerators, denominators, bound).tolist() == [x <= bound for x in expected]
    assert below(numerators, denominators, bound).tolist() == [x < bound for x in expected]


@pytest.mark.parametrize("library", [pd.DataFrame, pa.table])
def test_frames_of_other_libraries_are_measured(library):
    people = library({"sex": ["f", "f", "m", "m", "m"]})

    (judgement,) = measure(people, quasi_identifiers=["sex"], guarantees=[KAnonymity(k=2)])

    assert judgement.achieved == 2


def test_what_is_no_frame_is_not_measured():
    with pytest.raises(DataError):
        measure("people.csv", quasi_identifiers=["sex"], guarantees=[KAnonymity(k=2)])
