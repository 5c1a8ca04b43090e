"""Shift: all times of an entity by the same, within a window or by a secret table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from halfmask._errors import PolicyError
from halfmask.events.actions._action import Action
from halfmask.events.actions._coarsen_time import check_clock
from halfmask.events.block._times import Form, Unit, ZoneClock
from halfmask.events.block._words import lookup_word
from halfmask.events.block._zones import ClockText, ZoneText
from halfmask.events.policy._durations import Duration, DurationText
from halfmask.events.policy._sections import Text
from halfmask.events.secrets._draws import EntityDraws, steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.events.actions._action import Resources
    from halfmask.events.block._values import Values
    from halfmask.events.running._context import Applier, Context
    from halfmask.events.secrets._tables import TableKind


class Shift(Action):
    """Shift the times of each entity by an offset of its own.

    Parameters
    ----------
    within
        The window: shifts lie between minus and plus this, such as ``30 days``. Either this or a
        table.
    step
        Shifts are multiples of it; whole days keep the time of day.
    table
        The name of a secret table of kind ``shift``, by entity.
    by
        The path of the entity; by default that of ``[stream]``.
    zone
        Whose clock is shifted and written: a day is a day of that clock, 25 hours or not;
        ``own``: of each text the clock that it was written by.
    domain
        Fields of one domain are shifted alike for an entity; by default those with the same entity.
    zoneless, unit, write
        As of `CoarsenTime`.

    Notes
    -----
    **Guarantees.** Without the key or table, a time alone is known to within the window. All times
    of an entity in a domain are shifted alike, today and tomorrow.

    **Edge cases.** It reveals intervals: each entity's are exact, and they are a fingerprint.
    Of 5,000 people with six dates in two years, two intervals in a row singled out 91 in 100, three
    nearly all (measured for this project). One known date of an entity gives all its others. Many
    entities' shifts average out, so the season, the weekday (with steps of weeks) or a strike is
    still seen; a shift of less than a day keeps the date's neighbourhood. Coarsen what is shifted.
    Entities that aren't in the table, or aren't there, are dropped and counted as
    ``not-in-table`` and ``no-entity``.

    Examples
    --------
    >>> Shift(within="30 days", by="customer.id", zone="UTC").weaknesses
    ('interval-fingerprint', 'known-date', 'order-leaking')
    """

    do: Literal["shift"] = "shift"
    within: DurationText | None = None
    step: DurationText = "1 day"
    table: Text | None = None
    by: Text | None = None
    zone: ClockText
    domain: Text | None = None
    zoneless: ZoneText | None = None
    unit: Unit | None = None
    write: Form = "local"

    def model_post_init(self, context: object, /) -> None:  # noqa: ARG002 # pydantic's
        """Check that there is one way to shift."""
        if (self.within is None) == (self.table is None):
            raise PolicyError("shift must have either 'within' or 'table'.")
        check_clock(self.zone, self.write)
        step = Duration.parse(self.step)
        if step.months or step.micros <= 0:
            raise PolicyError("'step' must be a duration above 0, without months.")
        if self.within is not None:
            window = Duration.parse(self.within)
            if window.months or window.micros < step.micros:
                raise PolicyError(
                    "'within' must be at least as long as 'step', without months.",
                    hint='Write days, such as "30 days"; or a finer step.',
                )

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What shifted times reveal."""
        return ("interval-fingerprint", "known-date", "order-leaking")

    def reads(self) -> tuple[str, ...]:
        """Return the entity's path, where it is the rule's own."""
        return () if self.by is None else (self.by,)

    def needs(self) -> tuple[str, ...]:
        """Return what the stream must name: the entity, where the rule doesn't."""
        return ("entity",) if self.by is None else ()

    def tables(self) -> tuple[tuple[str, TableKind], ...]:
        """Return the table's name."""
        return () if self.table is None else ((self.table, "shift"),)

    def bind(self, resources: Resources) -> Applier:
        """Return the shifter."""
        return _Shifter(self, resources)


class _Shifter:
    __slots__ = (
        "_action", "_clock", "_draws", "_entity", "_step", "_table", "_window",
    )  # fmt: skip

    def __init__(self, action: Shift, resources: Resources) -> None:
        self._action = action
        self._entity = resources.entity_of(action.by)
        self._draws = EntityDraws(resources.keys.of("shift", action.domain or self._entity))
        self._step = Duration.parse(action.step).micros
        window = 0 if action.within is None else Duration.parse(action.within).micros
        self._window = window // self._step
        table = action.table
        self._table = None if table is None else resources.table(table, "shift").entries()
        self._clock = ZoneClock(
            action.zone,
            zoneless=action.zoneless or resources.zone,
            form=action.write if resources.is_last else "offset",
        )

    def apply(self, values: Values, context: Context) -> Values:
        times, ahead = self._clock.read(values, context, self._action.unit)
        shift, known = self._shifts(values, context, times.fits)
        times.fits[:] &= known
        return self._clock.write(times, times.utc + ahead + shift, ahead, context)

    def _shifts(
        self, values: Values, context: Context, fits: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the shift of each slot, and whether there is one."""
        entities = context.values(self._entity, values.level)
        if self._table is None:
            drawn, named = self._draws.of(entities)
            context.fail("no-entity", values.level, fits & ~named)
            return (steps(drawn, 2 * self._window + 1) - self._window) * self._step, named
        codes, tokens = entities.distinct()
        words = [lookup_word(*token) for token in tokens]
        shifts = [None if word is None else self._table.get(word) for word in words] + [None]
        named = np.array([word is not None for word in words] + [False])[codes]
        known = np.array([each is not None for each in shifts])[codes]
        context.fail("no-entity", values.level, fits & ~named)
        context.fail("not-in-table", values.level, fits & named & ~known)
        return np.array([each or 0 for each in shifts], np.int64)[codes], known
