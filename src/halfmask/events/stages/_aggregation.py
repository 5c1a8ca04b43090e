"""Aggregation: the stage that writes one line for many events, and none for few."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError
from halfmask.claims import EventClaims
from halfmask.events.block._grouping import number_rows, number_runs, words_by_cell
from halfmask.events.block._levels import brought, enclosing
from halfmask.events.block._paths import Path
from halfmask.events.block._quantities import Quantities
from halfmask.events.block._values import Kind
from halfmask.events.block._words import person_word
from halfmask.events.policy._policy_sections import place
from halfmask.events.running._context import BlockView, Context
from halfmask.events.stages._cells import Cell, CellLines, Key
from halfmask.events.stages._clock import EventClock, pane_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from halfmask.events.block._bad_lines import Limits
    from halfmask.events.block._block import Block
    from halfmask.events.block._level import Level
    from halfmask.events.block._values import Values
    from halfmask.events.block._words import Token
    from halfmask.events.block._writing import Changed
    from halfmask.events.policy._policy import EventPolicy
    from halfmask.events.policy._stage_sections import AggregateSection, MeasureSection
    from halfmask.events.stages._clock import Closing, Pane, Placed
    from halfmask.events.streams import Chunk


#: The key of the cell of all events of a window.
ALL: Key = (None,)


@dataclass(slots=True, kw_only=True, eq=False)
class Gathering:
    """What one section has gathered."""

    section: AggregateSection
    entity: str | None
    cells: dict[Pane, dict[Key, Cell]] = field(default_factory=dict)
    totals: dict[Pane, dict[Key, Cell]] = field(default_factory=dict)

    def add(self, changed: Changed, block: Block, placed: Placed, unread: Counter[str]) -> None:
        """Take a block's events in."""
        level, keys = self._keys(changed)
        panes = placed.number[level.event]
        first, rows = number_rows([panes, *(codes for codes, _ in keys)])
        known = []
        for slot in first.tolist():
            key = tuple(None if at[slot] < 0 else tokens[at[slot]] for at, tokens in keys)
            # Events of no pane come to cells that nobody keeps.
            kept = self.cells if panes[slot] >= 0 else {}
            known.append(self._cell(kept, placed.panes[panes[slot]], key))
        cells = np.where(panes >= 0, rows, -1)
        self._fill(known, cells, level, changed, block, unread)
        if self.section.totals:
            whole = [self._cell(self.totals, pane, ALL) for pane in placed.panes]
            self._fill(whole, panes, level, changed, block, Counter())

    def _keys(self, changed: Changed) -> tuple[Level, list[tuple[NDArray[np.int64], list[Token]]]]:
        columns = [changed.columns[place(path).place] for path in self.section.by.values()]
        deepest = max((values.level for values in columns), key=_depth, default=changed.events)
        keys = []
        for values in columns:
            codes, tokens = brought(values, deepest).distinct()
            plain = [kind < Kind.OBJECT for kind, _ in tokens]
            keys.append((np.where(np.array([*plain, False])[codes], codes, -1), tokens))
        return deepest, keys

    def _cell(self, cells: dict[Pane, dict[Key, Cell]], pane: Pane, key: Key) -> Cell:
        there = cells.setdefault(pane, {})
        found = there.get(key)
        if found is None:
            found = there[key] = Cell.of(len(self.section.measures))
        return found

    def _fill(
        self,
        known: list[Cell],
        cells: NDArray[np.int64],
        level: Level,
        changed: Changed,
        block: Block,
        unread: Counter[str],
    ) -> None:
        used = np.flatnonzero(cells >= 0)
        if not len(used):
            return
        events = np.unique(cells[used] * np.int64(block.n_events) + level.event[used])
        for cell, count in _counted(events // block.n_events):
            known[cell].events += count
        if self.entity is not None:
            entities = brought(block.values(self.entity), level)
            for cell, word in words_by_cell(cells, entities, word=person_word):
                known[cell].entities.add(word)
        for number, measure in enumerate(self.section.measures):
            values = _values(measure, changed, block)
            beneath = cells[enclosing(values.level, level.path)]
            _measure(known, beneath, number, measure, values, unread)


def _measure(
    known: list[Cell],
    cells: NDArray[np.int64],
    number: int,
    measure: MeasureSection,
    values: Values,
    unread: Counter[str],
) -> None:
    """Add the values of a measure to the cells that they belong to."""
    if measure.numeric:
        view = BlockView(read=lambda _: values, events=len(values.kinds), first_event=0)
        context = Context(view=view, path=measure.path)
        units = () if measure.unit is None else (measure.unit,)
        numbers = Quantities.read(values, context, units)
        scalar = (values.kinds > int(Kind.NULL)) & (cells >= 0)
        unread["unread-numbers"] += int(np.count_nonzero(scalar & ~numbers.fits))
        for cell, run in number_runs(cells, numbers):
            known[cell].measures[number].add(run)
    elif measure.do == "distinct":
        for cell, word in words_by_cell(cells, values):
            known[cell].measures[number].words.add(word)
    else:
        there = (values.kinds > int(Kind.NULL)) & (cells >= 0)
        for cell, count in _counted(np.sort(cells[there])):
            known[cell].measures[number].count += count


def _counted(ordered: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return each number of an ordered run, and how often it occurs."""
    found, counts = np.unique(ordered, return_counts=True)
    return list(zip(found.tolist(), counts.tolist(), strict=True))


def _depth(level: Level) -> int:
    return len(Path.parse(level.path).steps)


def _values(measure: MeasureSection, changed: Changed, block: Block) -> Values:
    path = place(measure.path).place
    return changed.columns[path] if measure.of == "released" else block.values(path)


_FORMAT = "halfmask events cells"
_VERSION = 1


class Aggregation:
    """Writes lines of cells: of each key and window one, once the window is over.

    Notes
    -----
    **Guarantees.** No event is released. A cell is written if it has the minimum of events and of
    distinct entities that its section says, counted exactly; where totals are written, too, so has
    what is left of the total without the cells that are written. Sums are exact: decimal, not
    binary. Late events are dropped, or written as cells of their own, which fulfil the same by
    themselves. The lines depend on the events alone, not on where blocks end or whether the stage
    went on from a state.

    **Edge cases.** A minimum count doesn't bound how much one entity contributes: a sum can be
    nearly one customer's, and the smallest and largest value are somebody's. Somebody in two
    windows is counted in both. Events without an entity count as events, not as entities.
    """

    passes_through = False

    def __init__(self, policy: EventPolicy) -> None:
        self._clock = EventClock(policy)
        self._gatherings = [
            Gathering(
                section=section,
                entity=policy.stream.entity if section.min_entities is not None else None,
            )
            for section in policy.aggregates
        ]
        self._writers = [
            CellLines(section, entity=policy.stream.entity) for section in policy.aggregates
        ]
        self._counts: Counter[str] = Counter()
        self._events = 0

    def look_ahead(self, chunks: Iterable[Chunk], limits: Limits) -> None:
        """Count the events of each window before they come, so that none is late."""
        self._clock.look_ahead(chunks, limits)

    def take(self, changed: Changed, block: Block) -> bytes:
        """Take a block in, and return the lines of the windows that are over."""
        placed = self._clock.place(block, changed.wanted, first_event=self._events)
        self._events += block.n_events
        if placed.panes:
            for gathering in self._gatherings:
                gathering.add(changed, block, placed, self._counts)
            self._counts["events"] += int(np.count_nonzero(placed.number >= 0))
        return self._written(placed.closings)

    def finish(self) -> bytes:
        """Return the lines of the windows that were still open."""
        return self._written(self._clock.finish(events=self._events))

    def _written(self, closings: tuple[Closing, ...]) -> bytes:
        return b"".join(
            writer.lines(
                gathering.cells.pop(closing.pane, {}),
                gathering.totals.pop(closing.pane, {}).get(ALL),
                window=self._clock.written(closing.pane),
                is_update=closing.pane[2] is not None,
                counts=self._counts,
            )
            for closing in closings
            for gathering, writer in zip(self._gatherings, self._writers, strict=True)
        )

    def state(self) -> bytes:
        """Return what the stage knows: entities and values among it; seal it in the vault."""
        form = {
            "format": _FORMAT,
            "version": _VERSION,
            "clock": self._clock.state(),
            "events": self._events,
            "counts": dict(sorted(self._counts.items())),
            "cells": [_panes_to_json(it.cells) for it in self._gatherings],
            "totals": [_panes_to_json(it.totals) for it in self._gatherings],
        }
        return json.dumps(form, ensure_ascii=False, separators=(",", ":")).encode()

    def restore(self, state: bytes) -> None:
        """Go on from what `state` returned."""
        try:
            form = json.loads(state)
            if (form["format"], form["version"]) != (_FORMAT, _VERSION):
                raise ValueError  # noqa: TRY301 # caught below
            self._clock.restore(form["clock"])
            self._events, self._counts = int(form["events"]), Counter(form["counts"])
            states = zip(self._gatherings, form["cells"], form["totals"], strict=True)
            for gathering, cells, totals in states:
                measures, fields = len(gathering.section.measures), len(gathering.section.by)
                gathering.cells = _panes_from_json(cells, fields=fields, measures=measures)
                gathering.totals = _panes_from_json(totals, fields=len(ALL), measures=measures)
        except (ValueError, TypeError, KeyError):
            raise DataError("The bytes hold no state of aggregates, or a damaged one.") from None

    def renew(self) -> None:
        """Count from 0 for the next input; times that were met stay met."""
        self._counts.clear()
        self._clock.renew()

    def summary(self) -> dict[str, int]:
        """Return counts: events in cells, late ones, cells that were written and held back."""
        return {**dict(sorted(self._counts.items())), **dict(sorted(self._clock.dropped.items()))}

    def claims(self) -> EventClaims:
        """Return what is claimed of the lines, for `halfmask.verifier.events.verify_events`."""
        return EventClaims(claims=tuple(writer.claim() for writer in self._writers))


def _panes_to_json(cells: dict[Pane, dict[Key, Cell]]) -> list[Any]:
    return [
        [pane, [[_key_to_json(key), cell.to_json()] for key, cell in there.items()]]
        for pane, there in cells.items()
    ]


def _key_to_json(key: Key) -> list[Any]:
    return [None if token is None else [int(token[0]), token[1].decode()] for token in key]


def _panes_from_json(panes: Any, *, fields: int, measures: int) -> dict[Pane, dict[Key, Cell]]:  # noqa: ANN401 # what JSON held
    return {
        pane_of(pane): {
            _key_of(key, fields): Cell.from_json(cell, measures=measures) for key, cell in there
        }
        for pane, there in panes
    }


def _key_of(key: list[Any], fields: int) -> Key:
    if len(key) != fields:
        raise ValueError
    return tuple(None if it is None else (Kind(it[0]), str(it[1]).encode()) for it in key)
