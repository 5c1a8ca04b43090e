"""The marketer's risk, by hand."""

from __future__ import annotations

import pytest

from halfmask.assess.risk import marketer_risk


def test_against_the_people_of_the_table_it_is_classes_by_rows(alone):
    risk = marketer_risk(alone)

    assert (risk.linked.value, risk.linked.baseline, risk.against_population) == (0.4, 0.1, False)
    assert "a person on a list of everyone in the table" in risk.sentence
    assert "40 % of the rows" in risk.sentence


def test_against_a_population_rows_are_told_from_more_people(alike):
    """0.5 + 2/4 + 2/5 + 5/5 of 10 rows; a guess is right for one in twenty people."""
    risk = marketer_risk(alike)

    assert risk.linked.value == pytest.approx(0.24)
    assert (risk.linked.baseline, risk.against_population) == (1 / 20, True)
    assert "a person of the population" in risk.sentence
    assert risk.to_dict()["against_population"] is True
