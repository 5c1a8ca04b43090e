"""Round and Scale: fewer digits of a number, or its product with a secret factor, exactly."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from halfmask._errors import PolicyError
from halfmask._sections import Number, Whole
from halfmask.events.actions._action import Action, OnceEach
from halfmask.events.block._levels import merged, only
from halfmask.events.block._quantities import MOST, Quantities, rounded_to, ten_to
from halfmask.events.block._values import Values
from halfmask.events.block._words import lookup_word
from halfmask.events.policy._sections import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.events.actions._action import Resources
    from halfmask.events.running._context import Applier, Context
    from halfmask.events.secrets._tables import TableKind


_MOST_DIGITS = 18
_POWERS = 10 ** np.arange(_MOST_DIGITS + 1, dtype=np.int64)


class Round(Action):
    """Round numbers by their decimal digits: 2.675 to two digits is 2.68.

    Parameters
    ----------
    decimals, step, significant
        One of them: so many digits behind the point, 0 to 18; multiples of a step, such as 0.05 or
        100; so many digits in all, 1 to 18.
    to
        ``nearest`` (ties to the even digit), ``down`` or ``up``.
    units
        Texts that end in one of them are amounts, such as ``" EUR"`` in ``"7.99 EUR"``; they keep
        it. Without units, texts are dropped and counted as ``wrong-type``.

    Notes
    -----
    **Guarantees.** What is written depends on the rounded number and the unit alone; digits behind
    the point are written alike, whatever was written before.

    **Edge cases.** It reveals the order of numbers that are rounded to different ones. Equal
    ones stay equal, and a rare rounded number is as rare as before: the largest order stays the
    largest. Numbers of more than 18 digits are dropped and counted as ``out-of-range``.

    Examples
    --------
    >>> Round(step=0.05, units=(" EUR",)).weaknesses
    ('order-leaking', 'equality-leaking', 'frequency-leaking')
    """

    do: Literal["round"] = "round"
    decimals: Annotated[Whole, Field(ge=0, le=_MOST_DIGITS)] | None = None
    step: Number | Text | None = None
    significant: Annotated[Whole, Field(ge=1, le=_MOST_DIGITS)] | None = None
    to: Literal["nearest", "down", "up"] = "nearest"
    units: tuple[Text, ...] = ()

    def model_post_init(self, context: object, /) -> None:  # noqa: ARG002 # pydantic's
        """Check that there is one way to round."""
        given = [each for each in (self.decimals, self.step, self.significant) if each is not None]
        if len(given) != 1:
            raise PolicyError(
                f"round must have exactly one of 'decimals', 'step' and 'significant'. "
                f"Got {len(given)} of them."
            )
        if self.step is not None:
            _exact(self.step)

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What rounded numbers reveal."""
        return ("order-leaking", "equality-leaking", "frequency-leaking")

    def bind(self, resources: Resources) -> Applier:  # noqa: ARG002 # as every action's
        """Return the rounder."""
        if self.significant is not None:
            return OnceEach(_Significant(self, self.significant))
        units, places = (1, self.decimals or 0) if self.step is None else _exact(self.step)
        return _Stepping(self, units, places)


def _exact(step: float | str) -> tuple[int, int]:
    """Return a step as units and places."""
    try:
        number = Decimal(str(step))
    except InvalidOperation:
        number = Decimal(0)
    if number.is_finite() and number > 0:
        _, digits, exponent = number.normalize().as_tuple()
        power = int(exponent)
        if len(digits) + max(power, 0) <= _MOST_DIGITS and -power <= _MOST_DIGITS:
            return int(number.scaleb(max(-power, 0))), max(-power, 0)
    raise PolicyError("'step' must be a number above 0, of up to 18 digits.")


class _Stepping:
    """Rounds to multiples of a step: plain numbers by a compiled loop, others by the column."""

    __slots__ = ("_decimals", "_others", "_steps", "_to")
    is_local = True

    def __init__(self, action: Round, units: int, places: int) -> None:
        self._others = OnceEach(_Exactly(action, units, places))
        self._decimals = places
        self._to = action.to
        self._steps = np.where(units <= MOST // _POWERS, units * _POWERS, 0)

    def apply(self, values: Values, context: Context) -> Values:
        from halfmask.kernels.text import rounding  # noqa: PLC0415 # numba is slow to import
        from halfmask.kernels.text.json_numbers import LONGEST  # noqa: PLC0415 # as above

        level = values.level
        to = {"nearest": rounding.NEAREST, "down": rounding.DOWN, "up": rounding.UP}[self._to]
        room, count = context.room, level.slots
        out, kinds = room.array(LONGEST * count, np.uint8), room.array(count, np.uint8)
        begins, ends = room.array(count, np.int64), room.array(count, np.int64)
        left = np.empty(count, np.bool_)
        others = rounding.round_tokens(
            values.data, values.kinds, values.starts, values.stops, self._steps, _POWERS,
            self._decimals, to, np.zeros(rounding.MEMORY, np.uint64), out, kinds, begins, ends,
            left,
        )  # fmt: skip
        end = int(ends[-1]) if count else 0
        rounded = Values(level=level, kinds=kinds, data=out[:end], starts=begins, stops=ends)
        if not others:
            return rounded
        return merged([rounded, self._others.apply(only(values, left), context)])


class _Exactly:
    """Rounds numbers of any form, with and without units."""

    __slots__ = ("_action", "_places", "_units")

    def __init__(self, action: Round, units: int, places: int) -> None:
        self._action, self._units, self._places = action, units, places

    def apply(self, values: Values, context: Context) -> Values:
        read = Quantities.read(values, context, self._action.units)
        # Both the number and the step are brought to the digits of the finer of them.
        places = np.maximum(read.places, self._places)
        units, fits = raise_units(read.units, places - read.places)
        # A step that would be too large is larger than twice any number.
        power = places - self._places
        step = np.where(self._units <= MOST // ten_to(power), self._units * ten_to(power), MOST)
        rounded = rounded_to(units, step, self._action.to) // ten_to(power)
        fits &= (step < MOST) | (rounded == 0)
        context.fail("out-of-range", values.level, read.fits & ~fits)
        where = np.full(len(units), self._places)
        return read.written(np.where(fits, rounded, 0), where, read.fits & fits)


class _Significant:
    """Rounds to so many digits in all."""

    __slots__ = ("_action", "_digits")

    def __init__(self, action: Round, digits: int) -> None:
        self._action, self._digits = action, digits

    def apply(self, values: Values, context: Context) -> Values:
        read = Quantities.read(values, context, self._action.units)
        powers = 10 ** np.arange(1, 19, dtype=np.int64)
        length = np.searchsorted(powers, np.abs(read.units), side="right") + 1
        power = np.maximum(length - self._digits, 0)
        rounded = rounded_to(read.units, ten_to(power), self._action.to)
        # Zeros that rounding made behind the point aren't written.
        cut = np.minimum(power, read.places)
        return read.written(rounded // ten_to(cut), read.places - cut, read.fits)


def raise_units(
    units: NDArray[np.int64], power: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return units times ten to a power, and where that isn't too large; 0 elsewhere."""
    fits = np.abs(units) < MOST // ten_to(power)
    return np.where(fits, units, 0) * ten_to(power), fits


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
        return scale_numbers(values, context, [*factors, self._other], codes, self._action)


def scale_numbers(
    values: Values,
    context: Context,
    factors: Sequence[Decimal | None],
    codes: NDArray[np.integer],
    action: Scale | None = None,
) -> Values:
    """Return numbers times factors; None counts as ``not-in-table``."""
    read = Quantities.read(values, context, () if action is None else action.units)
    parts = [(0, 0) if factor is None else _units_and_places(factor) for factor in factors]
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


def _units_and_places(factor: Decimal) -> tuple[int, int]:
    """Return a factor as units and places."""
    plain = factor.normalize()
    places = max(-int(plain.as_tuple().exponent), 0)
    return int(plain.scaleb(places)), places
