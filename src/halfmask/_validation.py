"""Checks of arguments, each named once by its caller so that the message can't drift."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Collection, Mapping
from dataclasses import fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from halfmask._errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


#: The largest denominator of a quotient that is read from a float; all such differ as floats.
_QUOTIENT = 10**6


def decimal(number: float) -> Fraction:
    """Read a parameter as what was typed: 0.1 is one tenth, and 1/3 a third, as Python typed it.

    Examples
    --------
    >>> decimal(0.1), decimal(1 / 3), decimal(0.333)
    (Fraction(1, 10), Fraction(1, 3), Fraction(333, 1000))
    """
    typed = Fraction(str(number))
    quotient = typed.limit_denominator(_QUOTIENT)
    return quotient if float(quotient) == number else typed


def rows_of_share(share: float, rows: int, *, nearest: bool = False) -> int:
    """Return how many rows a share of them is, rounded down or to the nearest.

    The share is the decimal that was typed, or a quotient that Python computed.

    Examples
    --------
    >>> rows_of_share(0.29, 100), int(0.29 * 100), rows_of_share(2 / 48, 48)
    (29, 28, 2)
    """
    twice = 2 if nearest else 1  # half a row more is rounded up
    units = math.floor(decimal(share) * rows * twice)
    units += rows > 0 and (units + 1) / (rows * twice) <= share
    return (units + 1) // 2 if nearest else units


def _range(low: float, high: float, *, low_open: bool, high_open: bool) -> str:
    return f"{'(' if low_open else '['}{low:g}, {high:g}{')' if high_open else ']'}"


def integer_at_least(minimum: int, *, owner: str, **named: object) -> None:
    """Raise unless each named argument is an integer of at least ``minimum``.

    Examples
    --------
    >>> integer_at_least(1, owner="KAnonymity", k=1)
    >>> integer_at_least(2, owner="KAnonymity", k=1)
    Traceback (most recent call last):
    ...
    halfmask._errors.ParameterError: The 'k' parameter of KAnonymity must be an int in the
    range [2, inf). Got 1 instead.
    """
    for name, value in named.items():
        if not _is_integer(value) or int(value) < minimum:  # type: ignore[call-overload] # it is one
            raise ParameterError(
                f"The {name!r} parameter of {owner} must be an int in the range "
                f"[{minimum}, inf). Got {shown(value)} instead."
            )


def number_between(
    low: float,
    high: float,
    /,
    *,
    owner: str,
    low_open: bool = False,
    high_open: bool = False,
    **named: object,
) -> None:
    """Raise unless each named argument is a finite number between ``low`` and ``high``."""
    for name, value in named.items():
        fits = (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and abs(value) <= sys.float_info.max  # of an integer that no float holds, too
            and (low < value or (value == low and not low_open))
            and (value < high or (value == high and not high_open))
        )
        if not fits:
            interval = _range(low, high, low_open=low_open, high_open=high_open or math.isinf(high))
            raise ParameterError(
                f"The {name!r} parameter of {owner} must be a number in the range "
                f"{interval}. Got {shown(value)} instead."
            )


def fraction(*, owner: str, **named: object) -> None:
    """Raise unless each named argument is a number between 0 and 1, both allowed."""
    number_between(0.0, 1.0, owner=owner, **named)  # type: ignore[arg-type] # names are the caller's


def one_of(allowed: Collection[str], *, owner: str, **named: object) -> None:
    """Raise unless each named argument is one of the allowed words."""
    for name, value in named.items():
        if not isinstance(value, str) or value not in allowed:
            raise ParameterError(
                f"The {name!r} parameter of {owner} must be one of "
                f"{', '.join(sorted(map(repr, allowed)))}. Got {shown(value)} instead."
            )


def check_fields(value: Any) -> None:  # noqa: ANN401 # a dataclass
    """Raise unless each field of a dataclass keeps to the bounds of its metadata.

    Bounds are those of policies: ``ge``, ``gt``, ``le``, ``lt``, and ``min_length`` of texts that
    aren't empty; and ``one_of``, the words that are allowed. With ``of`` they hold for each item.
    ``None`` is allowed where the annotation has it.
    """
    owner = type(value).__name__
    for each in fields(value):
        bounds, given = each.metadata, getattr(value, each.name)
        for item in given if "of" in bounds else (given,):
            named = {each.name: item}
            if item is None and "None" in str(each.type):
                continue
            if "one_of" in bounds:
                one_of(bounds["one_of"], owner=owner, **named)
            elif "min_length" in bounds and not (isinstance(item, str) and item):
                raise ParameterError(
                    f"The {each.name!r} parameter of {owner} must be a text that isn't empty."
                )
            elif "int" in str(each.type) and "ge" in bounds:
                integer_at_least(bounds["ge"], owner=owner, **named)
                if "le" in bounds:
                    whole: dict[str, Any] = {each.name: int(item)}
                    number_between(bounds["ge"], bounds["le"], owner=owner, **whole)
            elif "ge" in bounds or "gt" in bounds:
                low, high = bounds.get("ge", bounds.get("gt")), bounds.get("le", bounds.get("lt"))
                number_between(
                    low,
                    math.inf if high is None else high,
                    owner=owner,
                    low_open="gt" in bounds,
                    high_open="lt" in bounds,
                    **named,
                )


def mapping_of(
    what: str,
    fits: Callable[[object], bool],
    *,
    owner: str,
    hint: str | None = None,
    **named: object,
) -> None:
    """Raise unless each named argument maps names of columns to values that fit.

    Examples
    --------
    >>> mapping_of("texts", lambda it: isinstance(it, str), owner="Masker", masks={0: "x"})
    Traceback (most recent call last):
    ...
    halfmask._errors.ParameterError: The 'masks' parameter of Masker must map names of columns
    to texts. Got a key of type int.
    """
    for name, value in named.items():
        if not isinstance(value, Mapping):
            got = f"a value of type {type(value).__name__}"
        elif any(not isinstance(key, str) for key in value):
            got = f"a key of type {_first_type(key for key in value if not isinstance(key, str))}"
        elif not all(map(fits, value.values())):
            got = (
                f"a value of type {_first_type(it for it in value.values() if not fits(it))} in it"
            )
        else:
            continue
        raise ParameterError(
            f"The {name!r} parameter of {owner} must map names of columns to {what}. Got {got}.",
            hint=hint,
        )


def list_of(
    what: str,
    fits: Callable[[object], bool],
    *,
    owner: str,
    hint: str | None = None,
    **named: object,
) -> None:
    """Raise unless each named argument is a list, or anything like one, of values that fit.

    Examples
    --------
    >>> list_of("names", lambda it: isinstance(it, str), owner="Synthesizer", order="age")
    Traceback (most recent call last):
    ...
    halfmask._errors.ParameterError: The 'order' parameter of Synthesizer must be a list of
    names. Got a value of type str.
    """
    for name, value in named.items():
        if not isinstance(value, Collection) or isinstance(value, str | bytes | Mapping):
            got = f"a value of type {type(value).__name__}"
        elif not all(map(fits, value)):
            got = f"a list with a value of type {_first_type(it for it in value if not fits(it))}"
        else:
            continue
        raise ParameterError(
            f"The {name!r} parameter of {owner} must be a list of {what}. Got {got}.", hint=hint
        )


def each_name(names: Iterable[str], *, owner: str) -> list[str]:
    """Return quasi-identifiers, each once; raise if they are no list of names.

    Examples
    --------
    >>> each_name("age", owner="suda")
    Traceback (most recent call last):
    ...
    halfmask._errors.ParameterError: The 'quasi_identifiers' parameter of suda must be a list of
    names of columns. Got a value of type str.
    <BLANKLINE>
    Hint: Write quasi_identifiers=["age"].
    """
    hint = 'Write quasi_identifiers=["age"].'
    list_of("names of columns", is_text, owner=owner, hint=hint, quasi_identifiers=names)
    return list(dict.fromkeys(map(str, names)))  # numpy has texts of its own


def is_text(value: object) -> bool:
    """Return whether a value is a text."""
    return isinstance(value, str)


def _first_type(values: Iterable[object]) -> str:
    return type(next(iter(values))).__name__


def _is_integer(value: object) -> bool:
    try:
        operator.index(value)  # type: ignore[arg-type] # that is asked
    except TypeError:
        return False
    return not isinstance(value, bool)


def shown(value: object) -> str:
    """Return what may be said of an argument: a number or short word as it is, else its type."""
    if (
        isinstance(value, int | float)
        or value is None
        or (isinstance(value, str) and len(value) < 40)
    ):
        return repr(value)
    return f"a value of type {type(value).__name__}"
