from __future__ import annotations

import pytest

from halfmask._errors import ParameterError
from halfmask.assess.risk import Risk


def test_a_counted_risk_has_no_interval():
    risk = Risk.counted(0.25, baseline=0.1)

    assert risk.to_dict() == {
        "value": 0.25,
        "low": 0.25,
        "high": 0.25,
        "baseline": 0.1,
        "control": None,
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"value": 1.1, "low": 0, "high": 1.1},
        {"value": -0.1, "low": -0.1, "high": 0},
        {"value": float("nan"), "low": 0, "high": 1},
        {"value": 0.5, "low": 0.6, "high": 0.7},
        {"value": 0.5, "low": 0.3, "high": 0.4},
        {"value": 0.5, "low": 0.5, "high": 0.5, "baseline": 2.0},
        {"value": 0.5, "low": 0.5, "high": 0.5, "control": -1.0},
        {"value": None, "low": 0.5, "high": 0.5},
    ],
)
def test_what_is_no_share_between_its_ends_is_refused(wrong):
    with pytest.raises(ParameterError):
        Risk(**wrong)
