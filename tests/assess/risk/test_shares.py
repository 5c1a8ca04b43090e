"""Shares of rows above a threshold."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask._errors import ParameterError
from halfmask.assess.risk import THRESHOLDS, Alike
from halfmask.assess.risk._class_risks import shares_above


@pytest.mark.parametrize("k", [2, 3, 5, 7, 10, 11, 20, 33, 100])
def test_a_threshold_that_is_met_exactly_is_not_passed(k):
    """1 / k in floating point is what a person types as the decimal of 1 / k where it has one."""
    sizes = np.array([k, k - 1])
    shares = shares_above(Alike(rows=sizes, sample=sizes), 1.0 / sizes, (1 / k,))

    assert [each.rows for each in shares] == [k - 1]


def test_the_usual_thresholds_are_fractions_in_order(alike):
    shares = shares_above(alike, 1.0 / alike.sample, THRESHOLDS)

    assert [each.threshold for each in shares] == sorted(set(THRESHOLDS))
    # Chances of 1, 1/2 and 1/5: all of the ten rows are above 0.1, five above 0.2.
    assert [each.rows for each in shares] == [10, 10, 10, 5, 5]


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan")])
def test_a_threshold_is_a_fraction(alike, threshold):
    with pytest.raises(ParameterError, match="threshold"):
        shares_above(alike, 1.0 / alike.sample, (threshold,))


def test_it_says_so(alike):
    (share,) = shares_above(alike, 1.0 / alike.sample, (0.33,))

    assert share.sentence == "For 5 rows (50 %) the chance is above 33 %."
    assert share.to_dict() == {"threshold": 0.33, "share": 0.5, "rows": 5}
