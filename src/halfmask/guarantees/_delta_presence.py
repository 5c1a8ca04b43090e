"""Delta-presence: how sure it is that a person of the population is in the table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask._errors import ParameterError
from halfmask._validation import check_fields, decimal
from halfmask.guarantees._exact import at_most
from halfmask.guarantees._guarantee import Guarantee, Levels, Met

if TYPE_CHECKING:
    from halfmask.guarantees._classes import Classes


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DeltaPresence(Guarantee):
    """For each person, the probability to be in the table is within two bounds.

    Each of F people of the population who fit a class of n rows is in the table with probability
    n / F. Source: M. E. Nergiz, M. Atzori and C. Clifton, SIGMOD 2007,
    definition 1.

    Parameters
    ----------
    delta_min
        The least probability, from 0 to below ``delta_max``. Above 0 nobody of the population may
        be left out: everyone must fit a class.
    delta_max
        The largest probability, below 1.

    See Also
    --------
    KMap : Bounds the people that fit a class, not the rows among them.

    Notes
    -----
    **Guarantees.** Exact: the bounds are read as the decimals that were typed and compared in
    integers. The level of a class is n / F, or infinite where it misses for another reason.
    Monotone: n / F of merged classes lies between theirs.

    **Edge cases.** A class misses, too, where a person fits another class as well: then the
    probabilities of both say too little of them. Classes that overlap are merged, so use a method
    whose classes don't: the boxes of ``mdav`` may all become one class. With
    ``delta_min`` above 0, all classes miss while someone fits none, such as the people of
    suppressed rows.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> classes = Classes(np.array([1, 4]), population=np.array([10, 6]))
    >>> judgement = DeltaPresence(delta_min=0, delta_max=0.5).judge(classes)
    >>> judgement.levels.round(3).tolist(), judgement.failing.tolist()
    ([0.1, 0.667], [1])
    """

    model: ClassVar[str] = "delta-presence"
    sentence: ClassVar[str] = (
        "Each person of the population is in the table with a probability within the bounds."
    )
    bounded: ClassVar[str] = "delta_max"
    worse_when_larger: ClassVar[bool] = True
    needs_population: ClassVar[bool] = True

    delta_min: float = field(metadata={"ge": 0, "lt": 1})
    delta_max: float = field(metadata={"gt": 0, "lt": 1})

    def __post_init__(self) -> None:
        check_fields(self)
        if self.delta_min >= self.delta_max:
            raise ParameterError(
                "The 'delta_min' parameter of DeltaPresence must be below 'delta_max'. "
                f"Got {self.delta_min!r} and {self.delta_max!r}."
            )

    def _measure(self, classes: Classes) -> tuple[Levels, Met]:
        rows, people = classes.sizes, classes.people
        there = people > 0
        least = decimal(self.delta_min)
        # n / F >= delta_min, turned round: at_most asks for a positive denominator.
        enough = np.ones_like(there) if not least else at_most(people, rows, 1 / least)
        apart = there & enough & (not least or classes.outside == 0)
        if classes.shared is not None:
            apart &= classes.shared == 0
        levels = np.where(apart, rows / np.maximum(people, 1), np.inf)
        return levels, apart & at_most(rows, np.maximum(people, 1), decimal(self.delta_max))
