"""Times of a sample: whether rules can read them, and the grid in which events have company."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from halfmask.events.block._level import Level
from halfmask.events.block._times import DAY, OWN, Zone, ZoneClock, read_times
from halfmask.events.block._values import Values
from halfmask.events.policy._sections import Duration
from halfmask.events.running._context import BlockView, Context
from halfmask.events.stages._grid import cell_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.events.block._times import Unit
    from halfmask.events.description._facts import FieldFacts

#: From the finest on.
GRIDS: Final = ("1 hour", "1 day", "1 week", "1 month")
#: In a cell of so many others, nearly all events have company.
LEAST: Final = 10
NEARLY_ALL: Final = 0.95
_OWN_CLOCKS: Final = ZoneClock(OWN, zoneless="UTC", form="local")


def zoneless(facts: FieldFacts) -> bool:
    """Return whether times as text lack their zone."""
    return facts.profile.date_format is not None and "no-zone" in _failures(facts, None, None)


def has_own_clocks(facts: FieldFacts) -> bool:
    """Return whether times as text say that their clock isn't that of UTC."""
    if facts.profile.date_format is None:
        return False
    some = facts.series.unique()
    values = Values.of(Level.of_events(some.len()), some.to_list())
    _, ahead = _OWN_CLOCKS.read(values, _context(some.len()), None)
    return bool(ahead.any())


def grid_of(
    facts: FieldFacts, unit: Unit | None, entities: NDArray[np.int64] | None
) -> tuple[str, str]:
    """Return the finest grid in whose cells nearly all events have company, and why."""
    who = np.arange(int(facts.event.max()) + 1) if entities is None else entities
    word = "events" if entities is None else "entities"
    for grid in GRIDS:
        share = company_in_time(facts, unit, who[facts.event], grid)
        if share >= NEARLY_ALL:
            return grid, (
                f"In cells of {grid}, {share:.0%} of the events looked at are among those of "
                f"{LEAST} {word} or more; a denser stream has more company."
            )
    return GRIDS[-1], (
        f"Even in cells of {GRIDS[-1]} not all events looked at are among those of {LEAST} {word}."
    )


def company_in_time(
    facts: FieldFacts, unit: Unit | None, who: NDArray[np.int64], grid: str
) -> float:
    """Return the share of events whose cell has events of enough others."""
    clock, fits = _clocks(facts, unit)
    if not fits.any():
        return 0.0
    cells = cell_of(clock[fits], Duration.parse(grid))[0]
    whose = who[fits]
    codes = np.unique(cells, return_inverse=True)[1]
    known = whose >= 0
    pairs = np.unique(np.stack([codes[known], whose[known]]), axis=1)[0]
    each = np.bincount(pairs, minlength=int(codes.max()) + 1)
    return float(np.mean(each[codes] >= LEAST))


def is_finer(facts: FieldFacts, unit: Unit | None, than: FieldFacts, of: Unit | None) -> bool:
    """Return whether a field has the times of day to another's dates, in any zone."""
    (days, rest, event), (dates, others, dated) = _days(facts, unit), _days(than, of)
    if others.any() or not rest.any():
        return False
    _, mine, its = np.intersect1d(event, dated, assume_unique=True, return_indices=True)
    near = np.count_nonzero(np.abs(days[mine] - dates[its]) <= 1)
    return bool(near >= NEARLY_ALL * len(dates))


def _days(facts: FieldFacts, unit: Unit | None) -> tuple[NDArray[np.int64], ...]:
    """Return the days of times since 1970 by their clocks, their times of day, and the events."""
    clock, fits = _clocks(facts, unit)
    return *np.divmod(clock[fits], DAY), facts.event[fits]


def _clocks(facts: FieldFacts, unit: Unit | None) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return what the own clocks of times show, and where there is a time."""
    values = Values.of(Level.of_events(facts.series.len()), facts.series.to_list())
    times, ahead = _OWN_CLOCKS.read(values, _context(facts.series.len()), unit)
    return times.utc + ahead, times.fits


def _failures(facts: FieldFacts, zone: Zone | None, unit: Unit | None) -> set[str]:
    some = facts.series.unique()
    context = _context(some.len())
    read_times(
        Values.of(Level.of_events(some.len()), some.to_list()), context, zone=zone, unit=unit
    )
    return set(context.failures)


def _context(events: int) -> Context:
    nothing: dict[str, Values] = {}
    return Context(view=BlockView(read=nothing.__getitem__, events=events, first_event=0), path="")
