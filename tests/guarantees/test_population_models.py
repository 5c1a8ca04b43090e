"""Models about a population, against fractions and against ARX's loops."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ParameterError
from halfmask.claims import ClassClaim, Evidence
from halfmask.guarantees import (
    AverageJournalistRisk,
    Classes,
    DeltaPresence,
    EstimatedKMap,
    JournalistRecordsAtRisk,
    KMap,
    LargestJournalistRisk,
    MarketerThreshold,
    ProfitabilityJournalist,
    ProfitabilityJournalistNoAttack,
    measure,
)
from halfmask.verifier.tables._model_checks import level_rule_of

CLASSES = st.lists(st.tuples(st.integers(1, 12), st.integers(0, 30)), min_size=1, max_size=12).map(
    lambda pairs: [(n, n + more) for n, more in pairs]
)
DECIMALS = st.integers(1, 99).map(lambda n: n / 100)


def counted(pairs, *, outside=0, shared=None):
    sizes, people = np.array(pairs, dtype=np.int64).T
    return Classes(sizes, population=people, outside=outside, shared=shared)


def exact(number):
    return {1 / 3: Fraction(1, 3)}.get(number, Fraction(str(number)))


@given(CLASSES, DECIMALS, st.integers(1, 20))
def test_levels_and_verdicts_are_those_of_fractions(pairs, bound, k):
    classes, limit = counted(pairs), exact(bound)
    n_rows = sum(n for n, _ in pairs)
    mean = sum((Fraction(n, f) for n, f in pairs), Fraction(0)) / n_rows
    from_people = max(mean, Fraction(len(pairs), sum(f for _, f in pairs)))
    at_risk = Fraction(sum(n for n, f in pairs if Fraction(1, f) > Fraction(1, 5)), n_rows)
    expected = [
        (KMap(k=k), min(f for _, f in pairs), [f >= k for _, f in pairs]),
        (LargestJournalistRisk(risk=bound), Fraction(1, min(f for _, f in pairs)),
         [Fraction(1, f) <= limit for _, f in pairs]),
        (DeltaPresence(delta_min=0, delta_max=bound), max(Fraction(n, f) for n, f in pairs),
         [Fraction(n, f) <= limit for n, f in pairs]),
        (MarketerThreshold(risk=bound), mean, mean <= limit),
        (AverageJournalistRisk(risk=bound), from_people, from_people <= limit),
        (JournalistRecordsAtRisk(share=bound, risk=0.2), at_risk, at_risk <= limit),
    ]  # fmt: skip
    for guarantee, level, kept in expected:
        judgement = guarantee.judge(classes)
        assert judgement.achieved == pytest.approx(float(level), rel=1e-12)
        if isinstance(kept, list):
            missed = [i for i, each in enumerate(kept) if not each]
            assert judgement.failing.tolist() == missed, guarantee
        else:
            assert judgement.holds == kept, guarantee
        assert guarantee.needs_population
        with pytest.raises(ParameterError, match="weren't counted"):
            guarantee.judge(Classes(classes.sizes))


AMOUNTS = st.integers(1, 60).map(lambda n: n / 4)


@given(CLASSES, AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS)
def test_the_game_in_the_population_is_played_in_fractions(pairs, benefit, loss, gain, cost):
    classes, people = counted(pairs), [f for _, f in pairs]
    game = ProfitabilityJournalist(
        publisher_benefit=benefit, publisher_loss=loss, adversary_gain=gain, adversary_cost=cost
    )
    lost = [exact(loss) / f if exact(gain) / f > exact(cost) else Fraction(0) for f in people]
    judgement = game.judge(classes)
    assert judgement.levels.tolist() == pytest.approx([float(each) for each in lost])
    missed = [i for i, each in enumerate(lost) if each >= exact(benefit)]
    assert judgement.failing.tolist() == missed
    none = ProfitabilityJournalistNoAttack(adversary_gain=gain, adversary_cost=cost)
    missed = [i for i, f in enumerate(people) if exact(gain) / f >= exact(cost)]
    assert none.judge(classes).failing.tolist() == missed
    assert (game.min_rows, none.min_rows) == (1, 1)


@given(CLASSES, DECIMALS)
def test_merging_classes_that_dont_overlap_breaks_nothing(pairs, bound):
    classes = counted(pairs)
    into = np.arange(len(pairs)) // 2
    merged = classes.coarsened(into, int(into.max()) + 1)
    for guarantee in (
        KMap(k=6), LargestJournalistRisk(risk=bound), MarketerThreshold(risk=bound),
        AverageJournalistRisk(risk=bound), JournalistRecordsAtRisk(share=bound, risk=0.2),
        DeltaPresence(delta_min=bound / 2, delta_max=bound),
        ProfitabilityJournalistNoAttack(adversary_gain=5, adversary_cost=bound),
        ProfitabilityJournalist(
            publisher_benefit=bound, publisher_loss=3, adversary_gain=5, adversary_cost=1
        ),
    ):  # fmt: skip
        if guarantee.judge(classes).holds:
            assert guarantee.judge(merged).holds, guarantee


@pytest.mark.parametrize(
    ("pairs", "more", "failing"),
    [
        ([(2, 10), (5, 10)], {}, []),
        ([(1, 10), (5, 10)], {}, [0]),
        ([(2, 10), (6, 10)], {}, [1]),
        ([(2, 10), (5, 10)], {"outside": 1}, [0, 1]),
        ([(2, 10), (5, 10)], {"shared": np.array([3, 0])}, [0]),
    ],
)
def test_presence_misses_on_both_sides_and_where_people_fit_none_or_two(pairs, more, failing):
    judgement = DeltaPresence(delta_min=0.2, delta_max=0.5).judge(counted(pairs, **more))

    assert judgement.failing.tolist() == failing
    assert math.isinf(judgement.achieved) == (failing not in ([], [1]))
    without = DeltaPresence(delta_min=0, delta_max=0.5).judge(counted(pairs, outside=9))
    assert without.failing.tolist() == [i for i, (n, f) in enumerate(pairs) if 2 * n > f]


def arx(k, fraction, significance, estimator):
    """Return the class size that ARX's KMap derives, by its loops in floats."""
    mean, threshold = k * fraction, 1 - significance
    none = math.exp(-mean)
    chance, n, total = none, 0, 0.0
    if estimator == "poisson":
        while total < threshold:
            total += chance
            n += 1
            chance *= mean / n
        return min(k, n)
    n, chance = 1, none * mean
    while total < threshold:
        total += chance / (1 - none)
        n += 1
        chance *= mean / n
    return min(k, n)


@pytest.mark.parametrize("estimator", ["poisson", "zero-truncated-poisson"])
@pytest.mark.parametrize("k", [2, 5, 20, 100])
@pytest.mark.parametrize("fraction", [0.001, 0.01, 0.1, 0.37, 0.9, 1.0])
@pytest.mark.parametrize("significance", [0.01, 0.05, 0.2])
def test_the_rows_asked_for_are_those_of_arx_and_of_the_verifier(
    estimator, k, fraction, significance
):
    parameters = {
        "k": k,
        "sampling_fraction": fraction,
        "significance": significance,
        "estimator": estimator,
    }
    likely = EstimatedKMap(**parameters)

    assert likely.min_rows == likely.required == arx(k, fraction, significance, estimator)
    rule = level_rule_of(
        ClassClaim(
            model=likely.model,
            parameters=likely.parameters,
            column=None,
            quasi_identifiers=("age",),
            evidence=Evidence(achieved=0, classes=0, rows=0, smallest_class=0),
            basis="estimated",
        )
    )
    assert rule.keeps(likely.min_rows)
    assert not rule.keeps(likely.min_rows - 1)


def test_measure_counts_people_who_equal_a_class():
    table = pl.DataFrame({"age": ["a", "a", "b"], "sex": ["f", "f", None]})
    people = pl.DataFrame({"age": ["a"] * 5 + ["b", "b", "c"], "sex": ["f"] * 5 + [None, "m", "m"]})

    judgements = measure(
        table,
        quasi_identifiers=["age", "sex"],
        guarantees=[KMap(k=2), DeltaPresence(delta_min=0, delta_max=0.5)],
        population=people,
    )

    assert sorted(judgements[0].levels.tolist()) == [1, 5]
    assert sorted(judgements[1].levels.tolist()) == [0.4, 1]
    outside = DeltaPresence(delta_min=0.1, delta_max=0.9)
    (judgement,) = measure(
        table, quasi_identifiers=["age", "sex"], guarantees=[outside], population=people
    )
    assert len(judgement.failing) == 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: DeltaPresence(delta_min=0.5, delta_max=0.5),
        lambda: DeltaPresence(delta_min=0, delta_max=1),
        lambda: MarketerThreshold(risk=0),
        lambda: EstimatedKMap(k=5, sampling_fraction=0, significance=0.05, estimator="poisson"),
        lambda: EstimatedKMap(k=5, sampling_fraction=0.1, significance=0.05, estimator="snb"),  # type: ignore[arg-type] # refused
    ],
)
def test_parameters_that_guarantee_nothing_are_refused(make):
    with pytest.raises(ParameterError):
        make()


def test_people_who_fit_several_classes_count_once_on_average():
    """Three classes that 7 people fit each, 14 in all: 3 / 14, above a bound of .2."""
    sizes, fitting = np.array([4, 4, 4]), np.array([7, 7, 7])
    asked = AverageJournalistRisk(risk=0.2)
    shared = np.array([3, 4, 3])

    judgement = asked.judge(Classes(sizes, population=fitting, shared=shared, inside=14))

    assert judgement.achieved == pytest.approx(3 / 14)
    assert not judgement.holds
    with pytest.raises(ParameterError, match="weren't counted once"):
        asked.judge(Classes(sizes, population=fitting, shared=shared))
