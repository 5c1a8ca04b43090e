"""Scale: numbers times a secret factor for each value of another field."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from halfmask._errors import PolicyError
from halfmask._sections import Number, Whole
from halfmask.events.actions._action import Action
from halfmask.events.block._quantities import MOST, Quantities, rounded_to, ten_to
from halfmask.events.block._words import lookup_word
from halfmask.events.policy._sections import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.events.actions._action import Resources
    from halfmask.events.block._values import Values
    from halfmask.events.running._context import Applier, Context
    from halfmask.events.secrets._tables import TableKind

_MOST_DIGITS = 18


class Scale(Action):
    """Multiply numbers by a factor that a secret table has for another field.

    Parameters
    ----------
    table
        The name of a secret table of kind ``scale``.
    by
        The path of the field that is looked up, of the same element or what encloses it.
    other
        The factor where the table has none; without it those numbers are dropped, and counted as
        ``not-in-table``. Write 1 to keep them unchanged.
    decimals
        Round what comes out to so many digits behind the point.
    units
        As of `Round`.

    Notes
    -----
    **Guarantees.** The product is exact in decimal digits.

    **Edge cases.** It reveals ratios: of numbers with the same factor, which one is twice the
    other is still seen, and one that is known gives the factor. 0 stays 0. Products of more than 18
    digits are dropped and counted as ``out-of-range``.

    Examples
    --------
    >>> Scale(table="factors", by="products[].name", other=1.0).weaknesses
    ('ratios-kept', 'zero-kept', 'joinable')
    """

    do: Literal["scale"] = "scale"
    table: Text
    by: Text
    other: Number | None = None
    decimals: Annotated[Whole, Field(ge=0, le=_MOST_DIGITS)] | None = None
    units: tuple[Text, ...] = ()

    def model_post_init(self, context: object, /) -> None:  # noqa: ARG002 # pydantic's
        """Check that the factor isn't too long."""
        if self.other is not None and len(Decimal(repr(self.other)).as_tuple().digits) > 15:
            raise PolicyError("'other' must have at most 15 digits.")

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What products reveal."""
        return ("ratios-kept", "zero-kept", "joinable")

    def reads(self) -> tuple[str, ...]:
        """Return the path of the field that is looked up."""
        return (self.by,)

    def tables(self) -> tuple[tuple[str, TableKind], ...]:
        """Return the table's name."""
        return ((self.table, "scale"),)

    def bind(self, resources: Resources) -> Applier:
        """Return the scaler."""
        return _Scaler(self, resources)


class _Scaler:
    __slots__ = ("_action", "_entries", "_other")

    def __init__(self, action: Scale, resources: Resources) -> None:
        self._action = action
        self._entries: dict[str, Decimal] = resources.table(action.table, "scale").entries()
        self._other = None if action.other is None else Decimal(repr(action.other))

    def apply(self, values: Values, context: Context) -> Values:
        codes, tokens = context.values(self._action.by, values.level).distinct()
        words = [lookup_word(*token) for token in tokens]
        factors = [
            self._other if word is None else self._entries.get(word, self._other) for word in words
        ]
        return scaled(values, context, [*factors, self._other], codes, self._action)


def scaled(
    values: Values,
    context: Context,
    factors: Sequence[Decimal | None],
    codes: NDArray[np.integer],
    action: Scale | None = None,
) -> Values:
    """Return numbers times factors; None counts as ``not-in-table``."""
    read = Quantities.read(values, context, () if action is None else action.units)
    parts = [(0, 0) if factor is None else _parts(factor) for factor in factors]
    pairs = np.array(parts, np.int64).reshape(-1, 2)
    known = np.array([factor is not None for factor in factors], np.bool_)[codes]
    context.fail("not-in-table", values.level, read.fits & ~known)
    units, places = pairs[:, 0][codes], pairs[:, 1][codes]
    small = np.abs(read.units) <= MOST // np.maximum(np.abs(units), 1)
    product, digits = np.where(small, read.units, 0) * units, read.places + places
    # Zeros behind the point that the factor's digits made.
    while (more := (digits > read.places) & (product % 10 == 0)).any():
        product, digits = np.where(more, product // 10, product), digits - more
    small &= digits <= _MOST_DIGITS
    context.fail("out-of-range", values.level, read.fits & known & ~small)
    fits = read.fits & known & small
    product, digits = np.where(fits, product, 0), np.where(fits, digits, 0)
    if action is not None and action.decimals is not None:
        cut = np.maximum(digits - action.decimals, 0)
        product, digits = rounded_to(product, ten_to(cut), "nearest") // ten_to(cut), digits - cut
    return read.written(product, digits, fits)


def _parts(factor: Decimal) -> tuple[int, int]:
    """Return a factor as units and places."""
    plain = factor.normalize()
    places = max(-int(plain.as_tuple().exponent), 0)
    return int(plain.scaleb(places)), places
