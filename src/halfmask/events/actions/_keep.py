"""Keep: the value is released unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from halfmask.events.actions._action import Action
from halfmask.events.block._levels import only
from halfmask.events.block._values import Kind

if TYPE_CHECKING:
    from halfmask.events.actions._action import Resources
    from halfmask.events.block._values import Values
    from halfmask.events.running._context import Applier, Context


class Keep(Action):
    """Write the value unchanged. No other action does.

    Notes
    -----
    **Guarantees.** None: the value is released. What was written comes out, whether it is what the
    field's name says or not.

    **Edge cases.** Objects and arrays aren't kept, since what is in them isn't named: they are
    counted as ``wrong-type``.

    Examples
    --------
    >>> Keep().weaknesses
    ('value-kept',)
    """

    do: Literal["keep"] = "keep"

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """The value itself."""
        return ("value-kept",)

    def bind(self, resources: Resources) -> Applier:  # noqa: ARG002 # as every action's
        """Return the keeper."""
        return _Keeper()


class _Keeper:
    __slots__ = ()
    is_local = True

    def apply(self, values: Values, context: Context) -> Values:
        kinds = (Kind.FALSE, Kind.TRUE, Kind.INTEGER, Kind.NUMBER, Kind.STRING)
        fits = context.scalars(values, *kinds)
        return only(values, fits | (values.kinds == int(Kind.NULL)))
