"""What sets a few masks apart from the others: one record, with the usual case as its default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskTraits:
    """How a mask differs from most: its class attribute ``traits``.

    Parameters
    ----------
    keeps_equality
        Whether different values stay different, as with tokens.
    reads_raw
        Whether `fit` gets the columns in `reads` without other masks.
    splits_values
        Whether equal cells can be written differently. A count of different values, as in
        l-diversity, would then not be true of people.
    generalizes
        Whether it generalizes: its ``hierarchy`` takes the rows of the column's hierarchy.
    alone
        Whether its claim isn't true of classes, so that a policy with guarantees can't have it.
    takes_order
        Whether it uses the order of a column's categories. Texts with an order are given to it as
        a polars ``Enum``.
    keyed_by
        The columns that say which rows are of one person, whose rows it moves together.
    unstated
        Parameters that name categories. They stay out of manifests and reports.

    Examples
    --------
    >>> from halfmask.masks import KeyedTokens, Rounding
    >>> traits_of(KeyedTokens).keeps_equality, traits_of(Rounding(base=5)).keeps_equality
    (True, False)
    """

    keeps_equality: bool = False
    reads_raw: bool = False
    splits_values: bool = False
    generalizes: bool = False
    alone: bool = False
    takes_order: bool = False
    keyed_by: tuple[str, ...] = ()
    unstated: tuple[str, ...] = ()


_USUAL: Final = MaskTraits()


def traits_of(mask: object) -> MaskTraits:
    """Return the traits of a mask; the usual ones if it has none of its own.

    Parameters
    ----------
    mask
        A mask of any kind, or its class.
    """
    found = getattr(mask, "traits", _USUAL)
    return found if isinstance(found, MaskTraits) else _USUAL
