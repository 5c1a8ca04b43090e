"""Erase: the value isn't there any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from halfmask.events.actions._action import Action
from halfmask.events.block._levels import absent

if TYPE_CHECKING:
    from halfmask.events.actions._action import Resources
    from halfmask.events.block._values import Values
    from halfmask.events.running._context import Applier, Context


class Erase(Action):
    """Drop the value; of an array with a condition, drop elements.

    What no rule names is left out anyway. This action says so where another rule of the same path
    would keep it: the first rule whose condition holds does its work.

    Notes
    -----
    **Guarantees.** Nothing of the value is written.

    **Edge cases.** Elements that are left out make an array shorter, so that its length reveals how
    many stayed. That a field is absent reveals that the condition held.

    Examples
    --------
    >>> Erase().weaknesses
    ()
    """

    do: Literal["erase"] = "erase"

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """None."""
        return ()

    def bind(self, resources: Resources) -> Applier:  # noqa: ARG002 # as every action's
        """Return the eraser."""
        return _Eraser()


class _Eraser:
    __slots__ = ()
    is_local = True

    def apply(self, values: Values, context: Context) -> Values:  # noqa: ARG002 # as every one
        return absent(values.level)
