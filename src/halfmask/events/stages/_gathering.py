"""Gathering: what one section of aggregates has of the events so far, by window and key."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask.events.block._grouping import grouped, number_runs, words_by_cell
from halfmask.events.block._levels import brought, enclosing
from halfmask.events.block._paths import Path
from halfmask.events.block._quantities import Quantities
from halfmask.events.block._values import Kind
from halfmask.events.block._words import person_word
from halfmask.events.policy._policy_sections import place
from halfmask.events.running._context import BlockView, Context
from halfmask.events.stages._cells import Cell, Key

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.events.block._block import Block
    from halfmask.events.block._changed import Changed
    from halfmask.events.block._level import Level
    from halfmask.events.block._values import Values
    from halfmask.events.block._words import Token
    from halfmask.events.policy._stage_sections import AggregateSection, MeasureSection
    from halfmask.events.stages._clock import Pane, Placed

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
        first, rows = grouped([panes, *(codes for codes, _ in keys)])
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
