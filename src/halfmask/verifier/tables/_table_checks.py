"""Checks of models that judge the table as a whole, from the sizes of its classes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from halfmask.verifier.tables._rules import (
    SLACK,
    Parameters,
    TableRule,
    Unjudgeable,
    number,
    whole,
)
from halfmask.verifier.tables._uniques import ESTIMATORS, unique_share

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def average_risk(parameters: Parameters) -> TableRule:
    """Bound the mean over the rows of 1 over the rows that are compatible with each."""
    risk = number(parameters, "risk", 0)

    def level(rows: NDArray[np.int64], compatible: NDArray[np.int64]) -> float:
        return math.fsum((rows / compatible).tolist()) / int(rows.sum())

    def of_persons(smallest: NDArray[np.int64]) -> float:
        return math.fsum((1.0 / smallest).tolist()) / len(smallest)

    # A mean that equals the threshold as typed rounds to the same float, and keeps.
    return TableRule(
        level=level, worst=max, keeps=lambda found: found <= risk, of_persons=of_persons
    )


def sample_uniqueness(parameters: Parameters) -> TableRule:
    """Bound the share of the rows that no other row is compatible with."""
    share = number(parameters, "share", 0)

    def level(rows: NDArray[np.int64], compatible: NDArray[np.int64]) -> float:
        return int(rows[compatible == 1].sum()) / int(rows.sum())

    def of_persons(smallest: NDArray[np.int64]) -> float:
        return int((smallest == 1).sum()) / len(smallest)

    # A share that equals the threshold as typed rounds to the same float, and keeps.
    return TableRule(
        level=level, worst=max, keeps=lambda found: found <= share, of_persons=of_persons
    )


def records_at_risk(parameters: Parameters) -> TableRule:
    """Bound the share of the rows for which 1 over the compatible rows is above a risk."""
    share, risk = number(parameters, "share", 0), number(parameters, "risk", 0)

    def level(rows: NDArray[np.int64], compatible: NDArray[np.int64]) -> float:
        return int(rows[1.0 / compatible > risk].sum()) / int(rows.sum())

    def of_persons(smallest: NDArray[np.int64]) -> float:
        return int((1.0 / smallest > risk).sum()) / len(smallest)

    return TableRule(
        level=level, worst=max, keeps=lambda found: found <= share, of_persons=of_persons
    )


def population_uniqueness(parameters: Parameters) -> TableRule:
    """Bound the share of the population that is unique, by an estimate from the class sizes."""
    share, estimator = number(parameters, "share", 0), str(parameters["estimator"])
    if estimator not in {*ESTIMATORS, "dankar"}:
        raise Unjudgeable("its estimator is none that the verifier knows")
    if ("population" in parameters) == ("sampling_fraction" in parameters):
        raise Unjudgeable("it doesn't state the population once, as a number of people or a share")
    if "population" in parameters:
        stated, sampled = whole(parameters, "population", 1), 1.0
    else:
        stated, sampled = 0, number(parameters, "sampling_fraction", 0)
    if not 0 < sampled <= 1:
        raise Unjudgeable("its sampling_fraction is no share of a population")

    def level(rows: NDArray[np.int64], compatible: NDArray[np.int64]) -> float:
        n = int(rows.sum())
        people = stated or max(n, round(n / sampled))
        return unique_share(rows, compatible, population=people, estimator=estimator)

    return TableRule(level=level, worst=max, keeps=lambda found: found <= share + SLACK)
