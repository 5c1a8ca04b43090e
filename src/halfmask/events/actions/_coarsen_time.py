"""CoarsenTime and Shift: times on a grid of a clock, or moved by a secret span."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from halfmask._errors import PolicyError
from halfmask.events.actions._action import Action, OnceEach
from halfmask.events.block._levels import merged, only
from halfmask.events.block._times import (
    DAY,
    EARLIEST,
    LATEST,
    OWN,
    ClockText,
    Form,
    Unit,
    ZoneClock,
    ZoneText,
)
from halfmask.events.block._values import Values
from halfmask.events.block._words import lookup_word
from halfmask.events.policy._sections import Duration, DurationText, Text
from halfmask.events.secrets._keys import EntityDraws, event_draws, steps
from halfmask.events.stages._grid import cell_of, origin_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.events.actions._action import Resources
    from halfmask.events.running._context import Applier, Context
    from halfmask.events.secrets._tables import TableKind


#: Those that a compiled loop writes.
_FORMS: dict[Form, int] = {"date": 0, "local": 1, "offset": 2}


class CoarsenTime(Action):
    """Write the cell of a grid that a time lies in, or a time drawn within it.

    Parameters
    ----------
    every
        The grid: such as ``1 minute``, ``15 minutes``, ``1 day``, ``1 week`` (from Monday on),
        ``1 month``, ``1 year``. Days and what is longer begin at midnight of the zone's clock.
    zone
        Whose clock the grid and what is written are of. ``own``: the clock that each text was
        written by, so that days are those of the place where it happened.
    to
        ``down``, ``nearest`` or ``up``: which point of the grid is written.
    jitter
        Write a point within the cell instead, drawn under the key from points so far apart, such
        as ``1 second``: with it, what is written looks like a time and is none.
    zoneless
        The zone of texts that don't say theirs; by default that of ``[stream]``; without one they
        are dropped and counted as ``no-zone``.
    unit
        What numbers count since 1970; without it numbers are dropped and counted.
    write
        ``local``: the zone's clock; ``offset``: with how far that is from UTC; ``date``;
        ``seconds``, ``milliseconds`` or ``microseconds`` since 1970.

    Notes
    -----
    **Guarantees.** What is written depends on the time's cell alone; with jitter also on a draw
    that is independent of the time. Repeats of one event don't average out to the time, only to the
    cell.

    **Edge cases.** It reveals the order of events that are further apart than a cell, how many
    fall into a cell, and intervals between them to within a cell. A cell with one event in it says
    that there was one. Where clocks are put back an hour occurs twice, and ``local`` doesn't say
    which it was; where they are put forward a cell may be written that the clock skips.
    ``offset`` with ``own`` reveals in which zone an event happened.

    Examples
    --------
    >>> CoarsenTime(every="15 minutes", zone="Europe/Berlin").weaknesses
    ('order-leaking', 'interval-leaking', 'frequency-leaking')
    """

    do: Literal["coarsen-time"] = "coarsen-time"
    every: DurationText
    zone: ClockText
    to: Literal["down", "nearest", "up"] = "down"
    jitter: DurationText | None = None
    zoneless: ZoneText | None = None
    unit: Unit | None = None
    write: Form = "local"

    def model_post_init(self, context: object, /) -> None:  # noqa: ARG002 # pydantic's
        """Check that the grid is one, and the jitter within it."""
        grid = Duration.parse(self.every)
        if grid.micros <= 0 and grid.months <= 0:
            raise PolicyError("'every' must be longer than nothing.")
        if self.jitter is not None:
            fine = Duration.parse(self.jitter)
            shortest = grid.micros or grid.months * 28 * DAY
            if fine.months or not 0 < fine.micros <= shortest:
                raise PolicyError("'jitter' must be a duration above 0, and at most 'every'.")
            if self.to != "down":
                raise PolicyError("'jitter' goes with to = 'down': it is within the cell.")
        check_clock(self.zone, self.write)

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What a grid of times reveals."""
        return ("order-leaking", "interval-leaking", "frequency-leaking")

    def bind(self, resources: Resources) -> Applier:
        """Return the coarsener."""
        coarsener = _Coarsener(self, resources)
        if self.jitter is not None:
            return coarsener
        return coarsener.evenly() or OnceEach(coarsener)


def check_clock(zone: str, write: Form) -> None:
    """Refuse to write the own clock of texts as a number, which doesn't say it."""
    if zone == OWN and write not in _FORMS:
        raise PolicyError(
            f"zone = 'own' can't be written as {write}, which count in UTC.",
            hint="Name a zone, or write local, offset or date.",
        )


class _Coarsener:
    __slots__ = ("_action", "_clock", "_form", "_grid", "_jitter", "_key")

    def __init__(self, action: CoarsenTime, resources: Resources) -> None:
        self._action = action
        self._grid = Duration.parse(action.every)
        self._jitter = None if action.jitter is None else Duration.parse(action.jitter).micros
        self._key = resources.keys.words("jitter", resources.path)
        self._form: Form = action.write if resources.is_last else "offset"
        zoneless = action.zoneless or resources.zone
        self._clock = ZoneClock(action.zone, zoneless=zoneless, form=self._form)

    def evenly(self) -> _Even | None:
        """Return what does the same by one compiled loop; None if it can't."""
        ahead, zoneless = self._clock.even, self._clock.zoneless
        behind = 0 if zoneless is None else zoneless.even
        if ahead is None or behind is None or self._grid.months or self._form not in _FORMS:
            return None
        return _Even(
            others=OnceEach(self),
            zoneless=zoneless is not None,
            behind=behind,
            ahead=ahead,
            every=self._grid.micros,
            origin=origin_of(self._grid),
            to=self._action.to,
            form=_FORMS[self._form],
        )

    def apply(self, values: Values, context: Context) -> Values:
        times, ahead = self._clock.read(values, context, self._action.unit)
        clock = np.where(times.fits, times.utc + ahead, 0)
        start, stop = cell_of(clock, self._grid)
        if self._jitter is not None:
            points = -(-(stop - start) // self._jitter)
            level = values.level
            drawn = event_draws(level, first_event=context.first_event, key=self._key)
            start += (drawn % points.astype(np.uint64)).astype(np.int64) * self._jitter
        elif self._action.to == "up":
            start = np.where(clock > start, stop, start)
        elif self._action.to == "nearest":
            start = np.where(clock - start >= stop - clock, stop, start)
        return self._clock.write(times, start, ahead, context)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Even:
    """Coarsens texts by a grid and zones whose clocks are even; what it can't, others do."""

    others: OnceEach
    zoneless: bool
    behind: int
    ahead: int
    every: int
    origin: int
    to: Literal["down", "nearest", "up"]
    form: int
    is_local: ClassVar[bool] = True

    def apply(self, values: Values, context: Context) -> Values:
        """Return the points of the grid."""
        from halfmask.kernels.text import time_grids  # noqa: PLC0415 # numba is slow to import
        from halfmask.kernels.text.iso_times import LONGEST  # noqa: PLC0415 # as above

        to = {"down": time_grids.DOWN, "nearest": time_grids.NEAREST, "up": time_grids.UP}[self.to]
        level, room = values.level, context.room
        count = level.slots
        out, kinds = room.array(LONGEST * count, np.uint8), room.array(count, np.uint8)
        begins, ends = room.array(count, np.int64), room.array(count, np.int64)
        left = np.empty(count, np.bool_)
        others = time_grids.coarsen_times(
            values.data, values.kinds, values.starts, values.stops, int(self.zoneless), self.behind,
            self.ahead, EARLIEST, LATEST, self.every, self.origin, to, self.form,
            out, kinds, begins, ends, left,
        )  # fmt: skip
        end = int(ends[-1]) if count else 0
        made = Values(level=level, kinds=kinds, data=out[:end], starts=begins, stops=ends)
        return merged([made, self.others.apply(only(values, left), context)]) if others else made


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
