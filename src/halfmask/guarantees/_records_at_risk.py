"""Records at risk: few rows have a prosecutor risk above a threshold."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import floor
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask._validation import decimal, number_between
from halfmask.guarantees._table_guarantee import Ints, TableGuarantee, sizes_around, smallest_first

if TYPE_CHECKING:
    from halfmask.guarantees._classes import Classes


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RecordsAtRisk(TableGuarantee):
    """At most the share ``share`` of the rows has a prosecutor risk above ``risk``.

    The prosecutor risk of a row is 1 over the rows of its class. Source: K. El Emam, "Guide to the
    De-Identification of Personal Health Information", 2013, chapter 16 (the risk R_a).

    Parameters
    ----------
    share
        The largest share of rows at risk, from 0 to below 1.
    risk
        The prosecutor risk above which a row is at risk, above 0 and below 1.

    Raises
    ------
    ParameterError
        When a parameter is out of its range.

    See Also
    --------
    LargestRisk : No row may be at risk.
    SampleUniques : The rows with a risk of 1.

    Notes
    -----
    **Guarantees.** Both parameters are read as the decimals that were typed and compared in
    integers, so the judgement is exact. Monotone: merging puts no row at risk. Classes to blame:
    the smallest, until their rows are as many as there are more than allowed. Where a person is the
    unit, the share is of persons: one who is at risk in any class is at risk.

    **Edge cases.** A share of 0 is `LargestRisk`. With ``risk=0.09``, 11 rows are at risk, because
    1/11 is above it.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> few = RecordsAtRisk(share=0.3, risk=0.4)
    >>> judgement = few.judge(Classes.from_codes([0, 0, 0, 1, 1, 2], 3))
    >>> judgement.achieved, judgement.failing.tolist()
    (0.5, [1, 2])
    """

    model: ClassVar[str] = "records-at-risk"
    sentence: ClassVar[str] = (
        "No larger share of the rows has a prosecutor risk, 1 over the rows of its class, above "
        "the threshold."
    )
    bounded: ClassVar[str] = "share"
    counts_persons: ClassVar[bool] = True
    monotone_in_persons: ClassVar[bool] = True

    share: float = field(metadata={"ge": 0, "lt": 1})
    risk: float = field(metadata={"gt": 0, "lt": 1})

    def __post_init__(self) -> None:
        owner = "RecordsAtRisk"
        number_between(0.0, 1.0, owner=owner, high_open=True, share=self.share)
        number_between(0.0, 1.0, owner=owner, low_open=True, high_open=True, risk=self.risk)

    @property
    def _least(self) -> int:
        """1 over the risk, rounded up."""
        return -int(-1 // decimal(self.risk))

    def _counted(self, classes: Classes) -> tuple[int, int]:
        """Return how many rows, or persons, are at risk, and how many there are."""
        sizes, units = sizes_around(classes)
        return int(units[sizes < self._least].sum()), int(units.sum())

    def _level_of_table(self, classes: Classes) -> tuple[float, bool]:
        at_risk, units = self._counted(classes)
        return at_risk / units, at_risk <= decimal(self.share) * units

    def _to_blame(self, classes: Classes) -> Ints:
        at_risk = np.flatnonzero(classes.sizes < self._least).astype(np.int64)
        found, units = self._counted(classes)
        excess = found - floor(decimal(self.share) * units)
        return smallest_first(classes.sizes, at_risk, excess=excess, of_rows=True)
