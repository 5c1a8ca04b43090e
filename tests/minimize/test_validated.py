"""Validation: which steps are tested, and how often a bound is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.data import Groups
from halfmask.minimize._score import Called, Explained, Right
from halfmask.minimize._search import SearchStep
from halfmask.minimize._validated import ValidationRows, last_valid_step, min_rows, stations
from minimize.people_rule import (  # type: ignore[import-not-found] # beside, not in a package
    minimized,
    people,
)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=300))
def test_stations_are_steps_in_order_and_end_at_the_last(scores):
    found = stations(scores)

    assert found == sorted(set(found))
    assert all(0 < number < len(scores) for number in found)
    assert not found or found[-1] == len(scores) - 1


def test_min_rows_is_the_fewest_that_can_be_sure():
    for target, error in [(0.98, 0.05), (0.9, 0.5), (0.5, 0.01)]:
        n = min_rows(target, error)
        assert n is not None
        same = np.zeros(n)
        assert Right().bound(same, same, error=error) >= target
        assert Right().bound(same[1:], same[1:], error=error) < target
    assert min_rows(1.0, 0.05) is None


@pytest.mark.parametrize("score", [Right(), Called(lambda t, p: (t == p).mean(), None, 0)])
def test_a_bound_is_wrong_as_often_as_it_says(score):
    rng = np.random.default_rng(0)
    truth = np.zeros(300)

    wrong = [
        score.bound(truth, (rng.random(300) > 0.9).astype(float), error=0.1) > 0.9
        for _ in range(200 if isinstance(score, Right) else 60)
    ]

    assert np.mean(wrong) < 0.2


def test_the_bound_of_r2_is_wrong_as_often_as_it_says():
    rng = np.random.default_rng(0)
    bounds = []
    for _ in range(400):
        truth = rng.normal(size=200)
        bounds.append(Explained(1.0).bound(truth, truth + rng.normal(0, 0.3, 200), error=0.1))

    # The true R2 is 1 - 0.3**2.
    assert 0.05 < np.mean(np.array(bounds) > 0.91) < 0.17


def unlucky(luck):
    """Make a model that changes its answer to one in a hundred rows with each step."""
    return lambda codes: (luck < 0.01 * codes[0]).astype(float)


def test_the_way_is_followed_until_a_step_misses_the_target():
    """Steps of known score: the test may go too far as often as the error says, and not more."""
    steps = [SearchStep(1 - 0.01 * i, {0: np.array([i, 1])}) for i in range(20)]
    rng = np.random.default_rng(0)
    far = []
    for _ in range(100):
        rows = ValidationRows(
            ask=unlucky(rng.random(400)),
            codes=np.zeros((1, 400), dtype=np.int64),
            truth=np.zeros(400),
            own=np.zeros(400),
            score=Right(),
        )
        kept = last_valid_step(steps, rows, target=0.92, error=0.05, certain=True)
        assert kept.bound >= 0.92
        far.append(kept.step.score)

    assert np.mean(np.array(far) < 0.92 - 1e-9) < 0.12
    assert 0.93 < np.mean(far) < 0.97


def places(values, feature):
    """Find the part of each value by what the parts say, without the minimizer's own codes."""
    found = []
    for value in values:
        hits = [
            number
            for number, part in enumerate(feature.parts)
            if (
                value in part.values  # no frame's
                if feature.asked == "groups"
                else (part.low is None or value >= part.low)
                and (part.high is None or value < part.high)
            )
        ]
        assert len(hits) == 1
        found += hits
    return np.array(found)


def test_the_parts_are_what_transform_does():
    frame = people()
    minimizer = minimized().fit(frame)

    written = minimizer.transform(frame)

    for name in ("age", "city"):
        feature = minimizer.generalizations_[name]
        expected = [feature.parts[part].representative for part in places(frame[name], feature)]
        assert written[name].to_list() == expected
    assert written["shoe"].n_unique() == 1
    assert minimizer.transform(written).equals(written)


def test_groups_are_nodes_of_a_hierarchy():
    tree = Groups(
        {"italy": ["rome", "milan"], "norway": ["oslo", "bergen"], "france": ["lyon", "paris"]}
    )

    minimizer = minimized(hierarchies={"city": tree}).fit(people())

    city = minimizer.generalizations_["city"]
    assert sorted(part.label for part in city.parts) == ["france", "italy", "norway"]
