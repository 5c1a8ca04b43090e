"""Guided: how it cuts, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask._errors import ParameterError
from halfmask.anonymize import Anonymizer, Guided, Method, Mondrian
from halfmask.guarantees import KAnonymity


def test_it_is_a_method_that_needs_a_guide():
    assert isinstance(Guided(), Method)
    assert (Guided.name, Guided.needs_guide) == ("guided", True)


def test_it_leads_by_the_guides_and_the_minimal_gain():
    guides = np.array([[0.0], [1.0]])

    plan = Guided(min_gain=0.5).plan_growth(guides)

    assert plan.guides is guides
    assert (plan.min_gain, plan.strict) == (0.5, True)
    assert "1 guides" in repr(plan)


def test_without_a_guide_it_says_what_to_give():
    with pytest.raises(ParameterError, match="labels or predictions"):
        Guided().plan_growth(None)


@pytest.mark.parametrize("gain", [-0.1, 1.1, float("nan")])
def test_the_minimal_gain_is_a_fraction(gain):
    with pytest.raises(ParameterError, match="min_gain"):
        Guided(min_gain=gain)


def test_it_cuts_where_the_label_parts_and_not_at_the_median():
    """Twelve people in a row; the label turns after the fourth, where k = 4 just allows a cut."""
    ages = np.arange(12.0)[:, None]
    label = (ages[:, 0] >= 4).astype(int)

    def cells(method):
        anonymizer = Anonymizer(guarantees=[KAnonymity(k=4)], method=method)
        return anonymizer.fit(ages, label).cells_.tolist()

    assert cells(Mondrian()) == [0] * 6 + [1] * 6
    # Behind the turn nothing is gained by a cut, so the widest column is cut on at its median.
    assert cells(Guided()) == [0] * 4 + [1] * 4 + [2] * 4


def test_a_gain_that_is_too_small_leaves_the_cut_to_mondrian():
    """The best cut takes all of the spread away; one that must take more is none."""
    rng = np.random.default_rng(0)
    ages, label = np.arange(64.0)[:, None], rng.integers(0, 2, 64)

    def cells(method):
        return Anonymizer(guarantees=[KAnonymity(k=4)], method=method).fit(ages, label).cells_

    assert np.array_equal(cells(Guided(min_gain=1.0)), cells(Mondrian()))
    assert not np.array_equal(cells(Guided(min_gain=0.0)), cells(Mondrian()))
