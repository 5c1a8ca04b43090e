"""Checks of models that judge the table as a whole, from the sizes of its classes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from halfmask.verifier.tables._rules import Parameters, TableRule, number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["average_risk", "records_at_risk", "sample_uniqueness"]


def average_risk(parameters: Parameters) -> TableRule:
    """Bound the mean over the rows of 1 over the rows that are compatible with each."""
    risk = number(parameters, "risk", 0)

    def level(rows: NDArray[np.int64], compatible: NDArray[np.int64]) -> float:
        return math.fsum((rows / compatible).tolist()) / int(rows.sum())

    # A mean that equals the threshold as typed rounds to the same float, and keeps.
    return TableRule(level=level, worst=max, keeps=lambda found: found <= risk)


def sample_uniqueness(parameters: Parameters) -> TableRule:
    """Bound the share of the rows that no other row is compatible with."""
    share = number(parameters, "share", 0)

    def level(rows: NDArray[np.int64], compatible: NDArray[np.int64]) -> float:
        return int(rows[compatible == 1].sum()) / int(rows.sum())

    # A share that equals the threshold as typed rounds to the same float, and keeps.
    return TableRule(level=level, worst=max, keeps=lambda found: found <= share)


def records_at_risk(parameters: Parameters) -> TableRule:
    """Bound the share of the rows for which 1 over the compatible rows is above a risk."""
    share, risk = number(parameters, "share", 0), number(parameters, "risk", 0)

    def level(rows: NDArray[np.int64], compatible: NDArray[np.int64]) -> float:
        return int(rows[1.0 / compatible > risk].sum()) / int(rows.sum())

    return TableRule(level=level, worst=max, keeps=lambda found: found <= share)
