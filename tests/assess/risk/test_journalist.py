"""The journalist's risk, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask._errors import ParameterError
from halfmask.assess.risk import Alike, journalist_risk


def test_it_is_one_by_the_people_who_look_alike(alike):
    """Chances 1/2, 1/4, 1/5, 1/5: rows reach 0.5 + 0.5 + 0.4 + 1 = 2.4 of 10, drawn people 4/16."""
    risk = journalist_risk(alike, thresholds=(0.2, 0.3))

    assert (risk.highest.value, risk.rows_at_highest) == (0.5, 1)
    assert risk.average.value == 4 / 16
    assert risk.highest.baseline == 1 / 20
    assert [each.rows for each in risk.at_risk] == [3, 1]


def test_the_mean_over_rows_counts_where_it_is_the_larger():
    """Rows 1 and 9 of 1 and 10 people: (1 + 9/10) / 10 of rows, 2/11 of drawn people."""
    rows = np.array([1, 9])
    risk = journalist_risk(
        Alike(rows=rows, sample=rows, population=np.array([1, 10])), thresholds=()
    )

    assert risk.average.value == pytest.approx(1.9 / 10)
    assert risk.average.baseline is None


def test_overlapping_classes_are_judged_by_rows_alone():
    """Wildcards: both classes look like the same two people, who must not be counted twice."""
    both = Alike(rows=np.array([1, 1]), sample=np.array([2, 2]), population=np.array([2, 2]))

    assert journalist_risk(both, thresholds=()).average.value == 0.5


def test_it_takes_a_population(alone):
    with pytest.raises(ParameterError, match="takes the population"):
        journalist_risk(alone, thresholds=())


def test_it_says_so(alike):
    sentence = journalist_risk(alike, thresholds=()).sentence

    assert "a chance of 50 % at worst (1 row) and of 25 % on average" in sentence
