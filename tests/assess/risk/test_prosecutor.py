"""The prosecutor's risk, by hand."""

from __future__ import annotations

import numpy as np

from halfmask.assess.risk import Alike, prosecutor_risk


def test_it_is_one_by_the_size_of_the_class(alike):
    """Chances 1, 1/2, 1/2 and 1/5 of 1, 2, 2 and 5 rows: 4/10 on average."""
    risk = prosecutor_risk(alike, thresholds=(0.1, 0.2, 0.5))

    assert (risk.highest.value, risk.average.value, risk.rows_at_highest) == (1.0, 0.4, 1)
    assert risk.highest.baseline == risk.average.baseline == 0.1
    # 1/5 isn't above 0.2, nor 1/2 above 0.5.
    assert [(each.threshold, each.rows) for each in risk.at_risk] == [(0.1, 10), (0.2, 5), (0.5, 1)]


def test_a_wildcard_hides_a_row_among_those_it_may_be():
    risk = prosecutor_risk(Alike(rows=np.array([1, 4]), sample=np.array([5, 5])), thresholds=())

    assert (risk.highest.value, risk.rows_at_highest, risk.at_risk) == (0.2, 5, ())


def test_it_says_so(alike):
    risk = prosecutor_risk(alike, thresholds=(0.2,))

    assert "a chance of 100 % at worst (1 row) and of 40 % on average" in risk.sentence
    assert risk.to_dict()["at_risk"] == [{"threshold": 0.2, "share": 0.5, "rows": 5}]
