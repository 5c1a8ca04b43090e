"""The game between publisher and attacker, played row by row in fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from halfmask import ParameterError
from halfmask.guarantees import (
    Classes,
    KAnonymity,
    ProfitabilityProsecutor,
    ProfitabilityProsecutorNoAttack,
    size_asked,
)

SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=12)
AMOUNTS = st.sampled_from([0, 0.1, 0.3, 0.7, 1, 2.5, 3, 4, 10, 300, 1 / 3])
ABOVE_ZERO = st.sampled_from([0.1, 0.3, 0.7, 1, 2.5, 3, 4, 10, 300, 1 / 3])


def exact(amount):
    return {1 / 3: Fraction(1, 3)}.get(amount, Fraction(str(amount)))


@given(SIZES, ABOVE_ZERO, AMOUNTS, AMOUNTS, AMOUNTS)
@example([3, 4], 100, 300, 300, 4)
@example([7], 1, 10, 0.7, 0.1)  # an attack on seven rows earns nothing
@example([3], 0.1, 0.3, 10, 0)  # it costs the publisher all that the row earns
def test_a_row_is_released_if_the_game_pays(sizes, benefit, loss, gain, cost):
    game = ProfitabilityProsecutor(
        publisher_benefit=benefit, publisher_loss=loss, adversary_gain=gain, adversary_cost=cost
    )
    lost = []
    for size in sizes:
        success = Fraction(1, size)
        attacked = exact(gain) * success - exact(cost) > 0
        lost.append(exact(loss) * success if attacked else Fraction())
    failing = [i for i, each in enumerate(lost) if exact(benefit) - each <= 0]

    judgement = game.judge(Classes(np.array(sizes)))

    assert judgement.failing.tolist() == failing
    assert judgement.levels.tolist() == pytest.approx([float(each) for each in lost])


@pytest.mark.slow
@given(SIZES, ABOVE_ZERO, ABOVE_ZERO)
@example([3], 0.3, 0.1)
@example([75, 76], 300, 4)
def test_no_attack_pays(sizes, gain, cost):
    """As in ARX, an attack may not even break even: 300 over 4 asks for 76 rows."""
    game = ProfitabilityProsecutorNoAttack(adversary_gain=gain, adversary_cost=cost)
    earned = [exact(gain) / size for size in sizes]

    judgement = game.judge(Classes(np.array(sizes)))

    assert judgement.failing.tolist() == [i for i, e in enumerate(earned) if e >= exact(cost)]
    assert judgement.levels.tolist() == pytest.approx([float(each) for each in earned])


@given(ABOVE_ZERO, AMOUNTS, AMOUNTS, AMOUNTS)
def test_the_engine_grows_classes_just_large_enough(benefit, loss, gain, cost):
    game = ProfitabilityProsecutor(
        publisher_benefit=benefit, publisher_loss=loss, adversary_gain=gain, adversary_cost=cost
    )
    rows = game.min_rows

    assert size_asked([game]) == max(1, rows)
    assert game.judge(Classes(np.array([rows, rows + 1, 10 * rows]))).holds
    if rows > 1:
        assert not game.judge(Classes(np.array([rows - 1]))).holds


def test_larger_classes_are_never_worse():
    """Any class that holds, and any rows that come into it: brute force."""
    for gain in (0, 1, 5, 12):
        for cost in (0, 0.5, 3):
            for loss in (0, 2, 7):
                game = ProfitabilityProsecutor(
                    publisher_benefit=1,
                    publisher_loss=loss,
                    adversary_gain=gain,
                    adversary_cost=cost,
                )
                judgement = game.judge(Classes(np.arange(1, 30)))
                assert game.monotone
                assert game.monotone_with_suppression
                met = ~np.isin(np.arange(29), judgement.failing)
                assert (np.diff(met.astype(int)) >= 0).all()
                assert (np.diff(judgement.levels) <= 0).all()


def test_an_attack_that_costs_nothing_is_made():
    free = ProfitabilityProsecutor(
        publisher_benefit=1, publisher_loss=5, adversary_gain=0.001, adversary_cost=0
    )
    useless = ProfitabilityProsecutor(
        publisher_benefit=1, publisher_loss=5, adversary_gain=0, adversary_cost=0
    )

    assert free.judge(Classes(np.array([5, 6]))).failing.tolist() == [0]
    assert useless.judge(Classes(np.array([1]))).achieved == 0


def test_without_attack_it_is_k_anonymity():
    classes = Classes(np.arange(1, 200))
    game = ProfitabilityProsecutorNoAttack(adversary_gain=300, adversary_cost=4)

    assert game.judge(classes).failing.tolist() == KAnonymity(k=76).judge(classes).failing.tolist()


@pytest.mark.parametrize("wrong", [-1, math.inf, math.nan, "1", None])
@pytest.mark.parametrize(
    "name", ["publisher_benefit", "publisher_loss", "adversary_gain", "adversary_cost"]
)
def test_amounts_are_numbers(name, wrong):
    amounts = {
        "publisher_benefit": 1,
        "publisher_loss": 1,
        "adversary_gain": 1,
        "adversary_cost": 1,
        name: wrong,
    }
    with pytest.raises(ParameterError, match=name):
        ProfitabilityProsecutor(**amounts)
    if name.startswith("adversary"):
        of_attacker = {key: amounts[key] for key in ("adversary_gain", "adversary_cost")}
        for each in (wrong, 0):
            with pytest.raises(ParameterError, match=name):
                ProfitabilityProsecutorNoAttack(**of_attacker | {name: each})
