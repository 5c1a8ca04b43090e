"""LKC-privacy: an attacker who knows L values finds K rows, and is sure of no value above C."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from halfmask._validation import integer_at_least, number_between
from halfmask.guarantees._alpha_k_anonymity import AlphaKAnonymity
from halfmask.guarantees._subset_guarantee import SubsetGuarantee

if TYPE_CHECKING:
    from halfmask.guarantees._guarantee import Guarantee


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LKCPrivacy(SubsetGuarantee):
    """Over any ``l`` columns each class has ``k`` rows, no value in over ``c``.

    The level of a class is the largest share of a sensitive value among the rows that share some
    ``l`` written values with it; infinite where fewer than ``k`` rows do. Source: N. Mohammed,
    B. C. M. Fung, P. C. K. Hung and C. Lee, "Anonymizing healthcare data: a case study on the
    blood transfusion service", KDD 2009; here for every sensitive value.

    Parameters
    ----------
    l
        How many quasi-identifiers an attacker knows at most, 1 or more.
    k
        The least number of rows of a combination, 1 or more.
    c
        The largest share of a sensitive value among them, above 0 and below 1.
    column
        The sensitive column.

    See Also
    --------
    SubsetKAnonymity : The same without a sensitive column.
    AlphaKAnonymity : For an attacker who knows all quasi-identifiers.

    Notes
    -----
    **Guarantees.** Shares are compared as fractions with ``c``, read as the decimal that was typed,
    so the judgement is exact. Weaker than (alpha, k)-anonymity: an attacker who knows more than
    ``l`` quasi-identifiers may find a single row.

    **Edge cases.** Missing cells count as a value. With a ``c`` below the share of a value in the
    whole table, nothing meets it.

    Examples
    --------
    >>> import polars as pl
    >>> from halfmask.guarantees import measure
    >>> people = pl.DataFrame(
    ...     {"sex": ["f", "f", "m", "m"], "town": ["A", "B", "A", "B"], "ill": ["x", "y", "y", "x"]}
    ... )
    >>> guarantees = [LKCPrivacy(l=1, k=2, c=0.5, column="ill")]
    >>> measure(people, quasi_identifiers=["sex", "town"], guarantees=guarantees)[0].achieved
    0.5
    """

    model: ClassVar[str] = "lkc-privacy"
    sentence: ClassVar[str] = (
        "The values of any l quasi-identifiers of a row occur together in at least k rows, and no "
        "value of the column has more than the share c of these rows."
    )
    bounded: ClassVar[str] = "c"
    worse_when_larger: ClassVar[bool] = True

    l: int = field(metadata={"ge": 1})
    k: int = field(metadata={"ge": 2})
    c: float = field(metadata={"gt": 0, "lt": 1})
    column: str

    def __post_init__(self) -> None:
        integer_at_least(1, owner="LKCPrivacy", l=self.l, k=self.k)
        number_between(0.0, 1.0, owner="LKCPrivacy", low_open=True, high_open=True, c=self.c)

    @property
    def known(self) -> int:
        """``l``."""
        return int(self.l)

    @property
    def class_size(self) -> int:
        """``k``."""
        return int(self.k)

    @property
    def over_all(self) -> Guarantee:
        """(alpha, k)-anonymity over each ``l`` columns."""
        return AlphaKAnonymity(alpha=self.c, k=self.k, column=self.column)
