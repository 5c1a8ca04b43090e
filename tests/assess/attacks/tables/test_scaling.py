"""Success in a table of another size."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from halfmask.assess.attacks.tables._scaling import alone_in_part, control_arm, model


@pytest.mark.parametrize("part", [1, 2, 3, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_alone_in_a_part_is_what_counting_all_parts_gives(count: int, part: int):
    parts = list(itertools.combinations(range(5), part))
    by_hand = np.mean([sum(person < count for person in some) == 1 for some in parts])

    assert alone_in_part([count], 5, part)[0] == pytest.approx(by_hand)


@pytest.mark.parametrize(("n", "weight"), [(10, 0.3), (500, 0.002), (3, 0.999)])
def test_the_model_is_the_mean_over_shares(n: int, weight: float):
    shares = (np.arange(200_000) + 0.5) / 200_000 * weight

    assert float(model(n, weight)) == pytest.approx((n * shares * (1 - shares) ** (n - 1)).mean())


def test_a_control_of_the_same_size_is_counted_as_it_is():
    counts = np.array([1, 1, 0, 2])

    arm = control_arm(counts, 8, size=50, wanted=50)
    assert (arm.value, arm.trials) == (0.25, 8)


def test_a_larger_control_is_cut_to_size():
    counts = np.array([1] * 10)

    assert control_arm(counts, 10, size=100, wanted=25).value == pytest.approx(0.25)


def test_a_smaller_control_grows_as_guesses_do():
    """Guesses of known weights, in tables of both sizes."""
    rng = np.random.default_rng(0)
    weights = rng.uniform(0, 1 / 400, 4000)
    small, large = rng.binomial(200, weights), rng.binomial(400, weights)

    arm = control_arm(small, 4000, size=200, wanted=400)

    assert arm.value == pytest.approx((large == 1).mean(), rel=0.1)
    assert arm.value > (small == 1).mean()
    assert arm.value <= 1.0


def test_a_control_without_success_stays_without():
    arm = control_arm(np.zeros(100, dtype=int), 100, size=50, wanted=200)

    assert arm.value == 0.0
    assert arm.bounds(0.05)[1] > 0.0295  # as much wider as it must grow
