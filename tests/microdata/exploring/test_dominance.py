"""The frontier against a comparison of each point with each other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from halfmask.microdata.exploring._dominance import undominated

SHARES = st.sampled_from([0.0, 0.1, 0.2, 0.2, 0.5, 1.0])
POINTS = st.lists(st.tuples(SHARES, SHARES), max_size=30)


def naive(points):
    """Compare each point with each other, by the definition."""
    return [
        not any(
            a <= risk and b <= lost and (a < risk or b < lost)
            for a, b in points  # it doesn't dominate itself
        )
        for risk, lost in points
    ]


def is_best(points):
    return undominated([it[0] for it in points], [it[1] for it in points]).tolist()


@given(POINTS)
def test_the_frontier_is_what_no_other_point_dominates(points):
    assert is_best(points) == naive(points)


@given(POINTS)
def test_some_point_is_on_the_frontier(points):
    assert any(is_best(points)) == bool(points)


def test_equal_points_are_both_on_it():
    assert is_best([(0.1, 0.2), (0.1, 0.2), (0.1, 0.3)]) == [True, True, False]
