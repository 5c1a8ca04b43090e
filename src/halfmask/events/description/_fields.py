"""What was counted of one place of a sample of events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from halfmask.description.column_names import NameHint, hint_of, words_of
from halfmask.description.profile import profile_of
from halfmask.description.singling_out import codes_of, share_unique, single_out
from halfmask.description.thresholds import COMPANY, IN_COMPANY
from halfmask.description.verdicts import can_be
from halfmask.events.block._level import Level
from halfmask.events.block._paths import Path, Step
from halfmask.events.block._times import DAY, OWN, Zone, ZoneClock, read_times
from halfmask.events.block._values import Kind, Values
from halfmask.events.policy._sections import Duration
from halfmask.events.running._context import BlockView, Context
from halfmask.events.stages._grid import cell_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.description import SinglingOut
    from halfmask.description.profile import ColumnProfile
    from halfmask.events.block._times import Unit
    from halfmask.events.description._tree import Node


#: JSON's words for what is met, in this order.
_WORDS: Final = {
    Kind.NULL: "null",
    Kind.TRUE: "boolean",
    Kind.INTEGER: "integer",
    Kind.NUMBER: "number",
    Kind.STRING: "string",
    Kind.OBJECT: "object",
    Kind.ARRAY: "array",
}
_LARGEST: Final = 1 << 63


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FieldFacts:
    """Counts of a place, and its scalars while they are looked at."""

    place: Path
    types: Mapping[str, int]
    events: int
    profile: ColumnProfile
    names: int
    longest: int
    hint: NameHint | None
    series: pl.Series = field(repr=False)
    event: NDArray[np.int64] = field(repr=False)

    @property
    def path(self) -> str:
        """The place as text."""
        return self.place.place

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its own name; of an element, those of its array."""
        names = [step for step in self.place.steps if isinstance(step, str)]
        own = next((it for it in reversed(self.place.steps) if it is not Step.ELEMENT), None)
        return words_of(names[-1]) if isinstance(own, str) and names else ()

    @property
    def above(self) -> tuple[str, ...]:
        """The words of the name of what encloses it."""
        names = [step for step in self.place.steps if isinstance(step, str)]
        return words_of(names[-2]) if len(names) > 1 else ()

    @property
    def scalar_types(self) -> tuple[str, ...]:
        """The types of its scalars; numbers are one type, null is none."""
        found = {"number" if it == "integer" else it for it in self.types}
        return tuple(sorted(found - {"null", "object", "array"}))

    @property
    def nested(self) -> bool:
        """Whether it was met as an object or an array."""
        return "object" in self.types or "array" in self.types

    @property
    def of_events(self) -> bool:
        """Whether it is a field of the event, outside of arrays and maps."""
        return self.place.concrete and not self.place.level


def facts_of(steps: tuple[str | Step, ...], node: Node) -> FieldFacts:
    """Count what was met at a place."""
    place = Path(steps=steps)
    starred = Step.FIELD in steps  # counts of several names were added up
    series, hint = _make_series(place, node), _find_hint(steps)
    profile = profile_of(series)
    return FieldFacts(
        place=place,
        types={word: node.kinds[kind] for kind, word in _WORDS.items() if node.kinds[kind]},
        events=len(set(node.events)) if starred and node.values else node.met,
        profile=profile,
        names=node.names,
        longest=node.longest,
        hint=hint if hint is not None and can_be(profile, hint) else None,
        series=series,
        event=np.array(node.events, np.int64),
    )


def _make_series(place: Path, node: Node) -> pl.Series:
    """Return the scalars as a column; of several types, or too large numbers, as texts."""
    kinds = {type(value) for value in node.values}
    name = str(place.steps[-1])
    if kinds == {bool}:
        return pl.Series(name, node.values, dtype=pl.Boolean)
    if kinds == {int} and all(-_LARGEST <= value < _LARGEST for value in node.values):
        return pl.Series(name, node.values, dtype=pl.Int64)
    if kinds <= {int, float} and kinds:
        if float not in kinds:
            return pl.Series(name, list(map(str, node.values)), dtype=pl.String)
        return pl.Series(name, list(map(float, node.values)), dtype=pl.Float64)
    return pl.Series(name, list(map(str, node.values)), dtype=pl.String)


def _find_hint(steps: tuple[str | Step, ...]) -> NameHint | None:
    """Return what the name says; one that says little is read with the name before it."""
    names = [step for step in steps if isinstance(step, str)]
    if not names or steps[-1] is Step.FIELD:
        return None
    alone = hint_of(names[-1])
    if alone is None or alone.strong or len(names) == 1:
        return alone
    together = hint_of(f"{names[-2]} {names[-1]}")
    return together if together is not None and together.strong else alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Identifying:
    """What singles events out."""

    sets: tuple[SinglingOut, ...]
    gains: Mapping[str, float]
    share_unique: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rarity:
    """How many entities the values of a field are met with."""

    one_entity: float | None
    rarest_events: int
    rarest_entities: int | None


def count_identifying(found: Sequence[FieldFacts], events: int) -> Identifying:
    """Count which fields single events out, alone and together."""
    frame = pl.DataFrame({facts.path: _hash_events(facts, events) for facts in found})
    if not frame.width or not events:
        return Identifying(sets=(), gains={}, share_unique=0.0)
    counted = single_out(frame, frame.columns)
    return Identifying(
        sets=counted.sets,
        gains=counted.gains,
        share_unique=share_unique(frame, frame.columns),
    )


def rarity_of(facts: FieldFacts, entities: NDArray[np.int64] | None) -> Rarity:
    """Count the events and entities that each value of a field is met with."""
    codes, _ = codes_of(facts.series)
    if not len(codes):
        return Rarity(one_entity=None, rarest_events=0, rarest_entities=None)
    least = int(_count_events(codes, facts.event).min())
    if entities is None:
        return Rarity(one_entity=None, rarest_events=least, rarest_entities=None)
    whose = entities[facts.event]
    known = whose >= 0
    each = np.zeros(int(codes.max()) + 1, np.int64)
    if known.any():
        values = np.unique(np.stack([codes[known], whose[known]]), axis=1)[0]
        each += np.bincount(values, minlength=len(each))
    return Rarity(
        one_entity=float(np.mean(each == 1)), rarest_events=least, rarest_entities=int(each.min())
    )


def _count_events(codes: NDArray[np.int64], event: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return in how many events each code is."""
    return np.bincount(np.unique(np.stack([codes, event]), axis=1)[0])


def _hash_events(facts: FieldFacts, events: int) -> pl.Series:
    """Return one number for each event, the same where all values of the field are."""
    order = np.argsort(facts.event, kind="stable")
    event, codes = facts.event[order], codes_of(facts.series)[0][order].astype(np.uint64)
    mixed = np.zeros(events, np.uint64)
    place = np.arange(len(event)) - np.searchsorted(event, event)
    with np.errstate(over="ignore"):
        np.add.at(
            mixed, event, _mix_bits(_mix_bits(codes + np.uint64(1)) ^ place.astype(np.uint64))
        )
    return pl.Series(facts.path, mixed)


def _mix_bits(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return words with their bits mixed (the finalizer of SplitMix64, Steele and others 2014)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


#: From the finest on.
GRIDS: Final = ("1 hour", "1 day", "1 week", "1 month")
_OWN_CLOCKS: Final = ZoneClock(OWN, zoneless="UTC", form="local")


def lacks_zone(facts: FieldFacts) -> bool:
    """Return whether times as text lack their zone."""
    return facts.profile.date_format is not None and "no-zone" in _find_failures(facts, None, None)


def has_own_clocks(facts: FieldFacts) -> bool:
    """Return whether times as text say that their clock isn't that of UTC."""
    if facts.profile.date_format is None:
        return False
    some = facts.series.unique()
    values = Values.of(Level.of_events(some.len()), some.to_list())
    _, ahead = _OWN_CLOCKS.read(values, _make_context(some.len()), None)
    return bool(ahead.any())


def grid_of(
    facts: FieldFacts, unit: Unit | None, entities: NDArray[np.int64] | None
) -> tuple[str, str]:
    """Return the finest grid in whose cells nearly all events have company, and why."""
    who = np.arange(int(facts.event.max()) + 1) if entities is None else entities
    word = "events" if entities is None else "entities"
    for grid in GRIDS:
        share = company_in_time(facts, unit, who[facts.event], grid)
        if share >= IN_COMPANY:
            return grid, (
                f"In cells of {grid}, {share:.0%} of the events looked at are among those of "
                f"{COMPANY} {word} or more; a denser stream has more company."
            )
    return GRIDS[-1], (
        f"Even in cells of {GRIDS[-1]} not all events looked at are among those of {COMPANY} "
        f"{word}."
    )


def company_in_time(
    facts: FieldFacts, unit: Unit | None, who: NDArray[np.int64], grid: str
) -> float:
    """Return the share of events whose cell has events of enough others."""
    clock, fits = _read_clocks(facts, unit)
    if not fits.any():
        return 0.0
    cells = cell_of(clock[fits], Duration.parse(grid))[0]
    whose = who[fits]
    codes = np.unique(cells, return_inverse=True)[1]
    known = whose >= 0
    pairs = np.unique(np.stack([codes[known], whose[known]]), axis=1)[0]
    each = np.bincount(pairs, minlength=int(codes.max()) + 1)
    return float(np.mean(each[codes] >= COMPANY))


def is_finer(facts: FieldFacts, unit: Unit | None, than: FieldFacts, of: Unit | None) -> bool:
    """Return whether a field has the times of day to another's dates, in any zone."""
    (days, rest, event), (dates, others, dated) = _days(facts, unit), _days(than, of)
    if others.any() or not rest.any():
        return False
    _, mine, its = np.intersect1d(event, dated, assume_unique=True, return_indices=True)
    near = np.count_nonzero(np.abs(days[mine] - dates[its]) <= 1)
    return bool(near >= IN_COMPANY * len(dates))


def _days(facts: FieldFacts, unit: Unit | None) -> tuple[NDArray[np.int64], ...]:
    """Return the days of times since 1970 by their clocks, their times of day, and the events."""
    clock, fits = _read_clocks(facts, unit)
    return *np.divmod(clock[fits], DAY), facts.event[fits]


def _read_clocks(
    facts: FieldFacts, unit: Unit | None
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return what the own clocks of times show, and where there is a time."""
    values = Values.of(Level.of_events(facts.series.len()), facts.series.to_list())
    times, ahead = _OWN_CLOCKS.read(values, _make_context(facts.series.len()), unit)
    return times.utc + ahead, times.fits


def _find_failures(facts: FieldFacts, zone: Zone | None, unit: Unit | None) -> set[str]:
    some = facts.series.unique()
    context = _make_context(some.len())
    read_times(
        Values.of(Level.of_events(some.len()), some.to_list()), context, zone=zone, unit=unit
    )
    return set(context.failures)


def _make_context(events: int) -> Context:
    nothing: dict[str, Values] = {}
    return Context(view=BlockView(read=nothing.__getitem__, events=events, first_event=0), path="")
