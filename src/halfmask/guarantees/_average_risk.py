"""Average risk: the mean prosecutor risk of the rows is at most a threshold."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask._validation import decimal, number_between
from halfmask.guarantees._table_guarantee import Ints, TableGuarantee, smallest_first

if TYPE_CHECKING:
    from halfmask.guarantees._classes import Classes


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AverageRisk(TableGuarantee):
    """The average prosecutor risk of the rows is at most ``risk``.

    The prosecutor risk of a row is 1 over the rows of its class; the average over all rows is the
    number of classes over the number of rows. Source: K. El Emam, "Guide to the De-Identification
    of Personal Health Information", 2013, chapter 16.

    Parameters
    ----------
    risk
        The largest average risk, above 0 and below 1.

    Raises
    ------
    ParameterError
        When ``risk`` isn't a number above 0 and below 1.

    See Also
    --------
    LargestRisk : Bounds the risk of every row.
    RecordsAtRisk : Bounds the share of the rows whose risk is above a threshold.

    Notes
    -----
    **Guarantees.** ``risk`` is read as the decimal that was typed and compared in integers, so the
    judgement is exact. Monotone: merging leaves fewer classes and as many rows. Classes to blame:
    the smallest, as many as there are more than allowed. Where a person is the unit, the mean is
    over persons, and the risk of one with rows in several classes is the largest of them.

    **Edge cases.** An average says nothing of a single row: a row may still be unique. For the
    strict average risk, ask for `KAnonymity` as well.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> judgement = AverageRisk(risk=0.33).judge(Classes.from_codes([0, 0, 0, 0, 1, 1, 2], 3))
    >>> round(judgement.achieved, 3), judgement.holds, judgement.failing.tolist()
    (0.429, False, [2])
    """

    model: ClassVar[str] = "average-risk"
    sentence: ClassVar[str] = (
        "The mean over all rows of 1 over the rows of their class isn't above it."
    )
    monotone_with_suppression: ClassVar[bool] = True
    bounded: ClassVar[str] = "risk"
    counts_persons: ClassVar[bool] = True
    monotone_in_persons: ClassVar[bool] = True

    risk: float = field(metadata={"gt": 0, "lt": 1})

    def __post_init__(self) -> None:
        number_between(0.0, 1.0, owner="AverageRisk", low_open=True, high_open=True, risk=self.risk)

    def _level_of_table(self, classes: Classes) -> tuple[float, bool]:
        total, units = _total_risk(classes)
        return float(total / units), total <= decimal(self.risk) * units

    def _to_blame(self, classes: Classes) -> Ints:
        total, units = _total_risk(classes)
        every = np.arange(classes.n_classes, dtype=np.int64)
        excess = ceil(total - floor(decimal(self.risk) * units))
        return smallest_first(classes.sizes, every, excess=excess)


def _total_risk(classes: Classes) -> tuple[Fraction, int]:
    """Return the sum of the risks of all rows, or persons, and how many these are."""
    if classes.members is None:  # each class has a total risk of 1
        return Fraction(classes.n_classes), classes.rows
    sizes, counts = np.unique(classes.members.smallest_classes(), return_counts=True)
    risks = (Fraction(n, size) for size, n in zip(sizes.tolist(), counts.tolist(), strict=True))
    return sum(risks, Fraction(0)), int(counts.sum())
