"""Success in a table of another size."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from halfmask.assess.attacks import SuccessCount
from halfmask.assess.attacks._arms import Expected
from halfmask.assess.attacks.tables._singling_out import alone_arm, alone_in_part


@pytest.mark.parametrize("part", [1, 2, 3, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_alone_in_a_part_is_what_counting_all_parts_gives(count: int, part: int):
    parts = list(itertools.combinations(range(5), part))
    by_hand = np.mean([sum(person < count for person in some) == 1 for some in parts])

    assert alone_in_part([count], 5, part)[0] == pytest.approx(by_hand)


def test_a_whole_table_is_counted_as_it_is():
    arm = alone_arm(np.array([1, 1, 0, 2]), 8, size=50, part=50)

    assert arm == SuccessCount(2, 8)


@pytest.mark.parametrize("counts", [[0, 0], [1, 1], [1, 2, 7], [3, 4, 4, 4]])
def test_a_part_is_what_counting_all_parts_gives(counts: list[int]):
    parts = list(itertools.combinations(range(7), 3))
    by_hand = sum(
        np.mean([sum(person < count for person in some) == 1 for some in parts]) for count in counts
    )

    arm = alone_arm(np.array(counts), 10, size=7, part=3)

    assert arm.value == pytest.approx(by_hand / 10)
    assert arm.trials == 10
    low, high = arm.bounds(0.05)
    assert 0 <= low <= arm.value <= high


def test_bounds_of_a_part_hold_as_often_as_they_say():
    """Guesses of known weights; the mean over all tables is the binomial's."""
    rng = np.random.default_rng(0)
    weights = rng.uniform(0, 1 / 400, 2000)
    truth = float((100 * weights * (1 - weights) ** 99).mean())
    found = [
        alone_arm(rng.binomial(400, weights), 2000, size=400, part=100).bounds(0.05)
        for _ in range(200)
    ]

    assert sum(low > truth for low, _ in found) <= 10
    assert sum(high < truth for _, high in found) <= 10
    # Nearer than those of trials of which nothing is known but that they lie in [0, 1].
    loose = Expected(truth * 2000, 2000).bounds(0.05)
    assert np.mean([high - low for low, high in found]) < 0.8 * (loose[1] - loose[0])
