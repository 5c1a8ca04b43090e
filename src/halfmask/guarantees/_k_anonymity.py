"""k-anonymity: every row looks like at least k - 1 others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from halfmask._validation import integer_at_least
from halfmask.guarantees._guarantee import Guarantee, Levels, Met

if TYPE_CHECKING:
    from halfmask.guarantees._classes import Classes


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class KAnonymity(Guarantee):
    """Every class has at least ``k`` rows.

    The level of a class is its size. Source: P. Samarati and L. Sweeney, "Protecting privacy when
    disclosing information: k-anonymity and its enforcement through generalization and
    suppression", SRI-CSL-98-04, 1998; L. Sweeney, IJUFKS 10(5), 2002, definition 3.

    Parameters
    ----------
    k
        The least number of rows in a class, 1 or more.

    See Also
    --------
    DistinctLDiversity : Protects a sensitive column as well.
    halfmask.measure : Judge a table that is already grouped.

    Notes
    -----
    **Guarantees.** The comparison is exact, because sizes are integers. Monotone: the size of
    merged classes is the sum of their sizes.

    It doesn't protect a sensitive value that all rows of a class share: see l-diversity and
    t-closeness.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> judgement = KAnonymity(k=2).judge(Classes.from_codes([0, 0, 1], 2))
    >>> judgement.achieved, judgement.holds, judgement.failing.tolist()
    (1.0, False, [1])
    """

    model: ClassVar[str] = "k-anonymity"
    sentence: ClassVar[str] = "Every row shares its quasi-identifiers with at least k - 1 others."
    bounded: ClassVar[str] = "k"
    monotone_with_suppression: ClassVar[bool] = True
    counts_persons: ClassVar[bool] = True
    monotone_in_persons: ClassVar[bool] = True

    k: int = field(metadata={"ge": 2})

    def __post_init__(self) -> None:
        integer_at_least(1, owner="KAnonymity", k=self.k)

    @property
    def min_rows(self) -> int:
        """``k``."""
        return int(self.k)

    def _measure(self, classes: Classes) -> tuple[Levels, Met]:
        return classes.sizes.astype(np.float64), classes.sizes >= self.k
