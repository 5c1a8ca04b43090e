"""k-map: every row fits at least k people of the population."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask._validation import integer_at_least
from halfmask.guarantees._guarantee import Guarantee, Levels, Met

if TYPE_CHECKING:
    from halfmask.guarantees._classes import Classes


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class KMap(Guarantee):
    """Every row fits at least ``k`` people of the population.

    The level of a class is the number of people whose values fit what is written for it.
    Source: L. Sweeney, "Computational disclosure control", PhD thesis, MIT, 2001, section 4.3.

    Parameters
    ----------
    k
        The least number of people that fit a class, 1 or more.

    Raises
    ------
    ParameterError
        When ``k`` isn't an integer of at least 1.

    See Also
    --------
    KAnonymity : Counts the rows of the table instead.

    Notes
    -----
    **Guarantees.** Exact: people are counted. Monotone: what is written for merged classes covers
    what was written for each.

    It protects from an attacker who doesn't know who is in the table. One who does is held off
    by k-anonymity alone: a class may have a single row.

    **Edge cases.** Ranges may overlap; a person counts for each class that they fit.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmask.guarantees import Classes
    >>> judgement = KMap(k=5).judge(Classes(np.array([1, 2]), population=np.array([7, 4])))
    >>> judgement.achieved, judgement.failing.tolist()
    (4.0, [1])
    """

    model: ClassVar[str] = "k-map"
    sentence: ClassVar[str] = "Every row fits at least k people of the population."
    bounded: ClassVar[str] = "k"
    needs_population: ClassVar[bool] = True

    k: int = field(metadata={"ge": 2})

    def __post_init__(self) -> None:
        integer_at_least(1, owner="KMap", k=self.k)

    def _measure(self, classes: Classes) -> tuple[Levels, Met]:
        people = classes.people
        return people.astype(np.float64), people >= self.k
