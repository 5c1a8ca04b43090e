"""Largest risk: no row is re-identified with a probability above a threshold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask._validation import decimal, number_between
from halfmask.guarantees._exact import at_most
from halfmask.guarantees._guarantee import Guarantee, Levels, Met

if TYPE_CHECKING:
    from halfmask.guarantees._classes import Classes


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LargestRisk(Guarantee):
    """No row has a prosecutor risk above ``risk``.

    The level of a class is the prosecutor risk of its rows, 1 over their number: the attacker knows
    that the person is in the table. Source: K. El Emam and F. K. Dankar, "Protecting privacy using
    k-anonymity", JAMIA 15(5), 2008.

    Parameters
    ----------
    risk
        The largest risk, above 0 and below 1.

    Raises
    ------
    ParameterError
        When ``risk`` isn't a number above 0 and below 1.

    See Also
    --------
    KAnonymity : The same, in rows.

    Notes
    -----
    **Guarantees.** ``risk`` is read as the decimal that was typed and compared in integers, so the
    judgement is exact. Monotone: merged classes are larger.

    **Edge cases.** 0.09 asks for 12 rows in a class, because 1/11 is above it. For a minimum of 11
    rows, ask for ``KAnonymity(k=11)``.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> judgement = LargestRisk(risk=0.33).judge(Classes.from_codes([0, 0, 0, 0, 1, 1, 1], 2))
    >>> judgement.levels.round(3).tolist(), judgement.failing.tolist()
    ([0.25, 0.333], [1])
    """

    model: ClassVar[str] = "largest-risk"
    sentence: ClassVar[str] = (
        "No row has a prosecutor risk, 1 over the rows of its class, above it."
    )
    bounded: ClassVar[str] = "risk"
    monotone_with_suppression: ClassVar[bool] = True
    worse_when_larger: ClassVar[bool] = True
    counts_persons: ClassVar[bool] = True
    monotone_in_persons: ClassVar[bool] = True

    risk: float = field(metadata={"gt": 0, "lt": 1})

    def __post_init__(self) -> None:
        number_between(0.0, 1.0, owner="LargestRisk", low_open=True, high_open=True, risk=self.risk)

    @property
    def min_rows(self) -> int:
        """1 over the risk, rounded up."""
        return -int(-1 // decimal(self.risk))

    def _measure(self, classes: Classes) -> tuple[Levels, Met]:
        ones = np.ones_like(classes.sizes)
        return 1 / classes.sizes, at_most(ones, classes.sizes, decimal(self.risk))
