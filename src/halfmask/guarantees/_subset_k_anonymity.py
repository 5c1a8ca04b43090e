"""Subset k-anonymity: any m quasi-identifiers of a row occur in at least k rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from halfmask._validation import integer_at_least
from halfmask.guarantees._k_anonymity import KAnonymity
from halfmask.guarantees._subset_guarantee import SubsetGuarantee

if TYPE_CHECKING:
    from halfmask.guarantees._guarantee import Guarantee


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SubsetKAnonymity(SubsetGuarantee):
    """Over any ``m`` quasi-identifiers, every class has at least ``k`` rows.

    The level of a class is the number of rows with its rarest combination of ``m`` written values.
    Source: the frequencies of combinations of mu-Argus (A. Hundepool et al., "Statistical
    Disclosure Control", 2012) and ``combs`` of sdcMicro's local suppression; the same
    for sets of items is k^m-anonymity (Terrovitis, Mamoulis and Kalnis, VLDB 2008).

    Parameters
    ----------
    k
        The least number of rows of a combination, 1 or more.
    m
        How many quasi-identifiers an attacker knows at most, 1 or more.

    See Also
    --------
    KAnonymity : For an attacker who knows all quasi-identifiers.
    LKCPrivacy : Bounds what is learned of a sensitive column, too.

    Notes
    -----
    **Guarantees.** Integers are compared, so the judgement is exact. Weaker than k-anonymity: an
    attacker who knows more than ``m`` quasi-identifiers may find a single row.

    **Edge cases.** A missing cell is a value. With ``m`` as the number of columns it is
    k-anonymity.

    Examples
    --------
    >>> import polars as pl
    >>> from halfmask.guarantees import measure
    >>> people = pl.DataFrame({"sex": ["f", "f", "m", "m"], "town": ["A", "B", "A", "B"]})
    >>> guarantees = [SubsetKAnonymity(k=2, m=1), SubsetKAnonymity(k=2, m=2)]
    >>> judged = measure(people, quasi_identifiers=["sex", "town"], guarantees=guarantees)
    >>> [(each.achieved, each.holds) for each in judged]
    [(2.0, True), (1.0, False)]
    """

    model: ClassVar[str] = "subset-k-anonymity"
    sentence: ClassVar[str] = (
        "The values of any m quasi-identifiers of a row occur together in at least k rows."
    )
    bounded: ClassVar[str] = "k"

    k: int = field(metadata={"ge": 2})
    m: int = field(metadata={"ge": 1})

    def __post_init__(self) -> None:
        integer_at_least(1, owner="SubsetKAnonymity", k=self.k, m=self.m)

    @property
    def known(self) -> int:
        """``m``."""
        return int(self.m)

    @property
    def class_size(self) -> int:
        """``k``."""
        return int(self.k)

    @property
    def over_all(self) -> Guarantee:
        """k-anonymity over each ``m`` columns."""
        return KAnonymity(k=self.k)
