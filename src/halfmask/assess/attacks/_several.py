"""Settings of attacks that are lists: a single value is refused, with a hint."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from halfmask._errors import ParameterError


def several(
    values: object, *, parameter: str, owner: str, of: str, or_none: bool = False
) -> tuple[Any, ...]:
    """Return a list of any kind as a tuple; the same value may be in it twice.

    Examples
    --------
    >>> several([2, 4], parameter="known", owner="KnownEvents", of="numbers")
    (2, 4)
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ParameterError(
            f"The {parameter!r} parameter of {owner} must be a list of {of}. "
            f"Got a value of type {type(values).__name__}.",
            hint="Put one into a list, too.",
        )
    found = tuple(values)
    if not found and not or_none:
        raise ParameterError(
            f"The {parameter!r} parameter of {owner} must be a list of {of}, at least one. "
            "Got an empty one."
        )
    return found
