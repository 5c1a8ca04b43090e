"""Arrays whose elements are left out or become several, and what stands beneath them then."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ParameterError
from halfmask.events.actions._generalize import GOES, STAYS, Splitter
from halfmask.events.actions._round import scale_numbers
from halfmask.events.block._level import Level
from halfmask.events.block._levels import merged, only, repeated
from halfmask.events.block._paths import Path
from halfmask.events.block._values import Kind, Values
from halfmask.events.running._context import BlockView, Context

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from decimal import Decimal

    from numpy.typing import NDArray

    from halfmask.events.block._block import Block
    from halfmask.events.block._words import Token
    from halfmask.events.running._context import Condition
    from halfmask.events.secrets._tables import ElementPart


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ContainerRule:
    """A rule of whole elements, made ready."""

    number: int
    path: str
    when: Sequence[Condition]
    splitter: Splitter | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Made:
    """What a table says of one field of new elements."""

    set: Values
    times: tuple[Sequence[Decimal | None], NDArray[np.int64]] | None
    rule: int


@dataclass(slots=True, kw_only=True, eq=False)
class ArrayRebuild:
    """A block whose elements are left out or have become several."""

    block: Block
    rules: Sequence[ContainerRule]
    first_event: int
    done: Callable[[int, Context], None]
    view: BlockView = field(init=False)
    _levels: dict[str, tuple[Level, NDArray[np.int64]]] = field(default_factory=dict)
    _made: dict[str, list[_Made]] = field(default_factory=dict)
    _read: dict[str, Values] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.view = BlockView(
            read=self.original,
            events=self.block.n_events,
            first_event=self.first_event,
            room=self.block.room,
        )
        if not self.rules:
            return
        for path, level in self.block.levels.items():
            self._rebuild(path, level)
        self._read.clear()

    def original(self, path: str) -> Values:
        """Return what a path held, for each element that there is now."""
        found = self._read.get(path)
        if found is None:
            values = self.block.values(path)
            level, index = self._levels.get(values.level.path, (values.level, None))
            found = self._read[path] = values if index is None else values.take(index, level)
        return found

    def level(self, path: str) -> Level:
        """Return a level of the rebuilt block."""
        return self._levels[path][0] if path in self._levels else self.block.levels[path]

    def values(self, path: str) -> Values:
        """Return what a path holds now: what tables set and multiplied in it."""
        found = self.original(path)
        for made in self._made.get(path, ()):
            if made.times is not None:
                factors, codes = made.times
                hit = codes < len(factors) - 1
                context = Context(view=self.view, path=path)
                changed = scale_numbers(only(found, hit), context, factors, codes)
                self.done(made.rule, context)
                found = merged([changed, only(found, ~hit)])
            found = merged([made.set, found])
        return found

    def _rebuild(self, path: str, level: Level) -> None:
        above = None if level.above is None else self._levels.get(level.above.path)
        if above is not None:
            self._levels[path] = _under(level, *above)
        rules = [rule for rule in self.rules if rule.path == path]
        if not rules:
            return
        self._read.clear()
        base, index = self._levels.get(path, (level, np.arange(level.slots)))
        chosen, starts, parts = self._chosen(base, rules)
        counts = np.ones(base.slots, np.int64)
        counts[chosen == GOES] = 0
        split = chosen >= 0
        lengths = np.array([len(each) for each in parts] or [0], np.int64)
        counts[split] = lengths[chosen[split]]
        above_level = base.above
        if above_level is None:
            raise ParameterError("Only elements of arrays are left out or become several.")
        grown, taken = repeated(base, counts, above_level)
        self._levels[path] = grown, index[taken]
        # The number of each new element among all that tables make, -1 for those that stayed.
        firsts = np.concatenate([[0], np.cumsum(lengths)])
        within = np.arange(grown.slots) - np.repeat(np.cumsum(counts) - counts, counts)
        entry = chosen[taken]
        made = np.where(entry >= 0, firsts[np.maximum(entry, 0)] + within, -1)
        for rule, start, stop in starts:
            self._make(path, grown, made, rule, parts[start:stop], int(firsts[start]))

    def _chosen(
        self, level: Level, rules: Sequence[ContainerRule]
    ) -> tuple[NDArray[np.int64], list[tuple[int, int, int]], list[tuple[ElementPart, ...]]]:
        """Return the entry of each element over all rules, and which entries are whose."""
        chosen = np.full(level.slots, STAYS, np.int64)
        left = np.ones(level.slots, np.bool_)
        starts: list[tuple[int, int, int]] = []
        parts: list[tuple[ElementPart, ...]] = []
        for rule in rules:
            context = Context(view=self.view, path=rule.path)
            here = left.copy()
            for condition in rule.when:
                here &= condition.holds(context.values(condition.path, level))
            left &= ~here
            if rule.splitter is None:
                chosen[here] = GOES
                continue
            found = rule.splitter.chosen(level, here, context)
            self.done(rule.number, context)
            found = np.where(found >= 0, found + len(parts), found)
            chosen[here] = found[here]
            starts.append((rule.number, len(parts), len(parts) + len(rule.splitter.parts)))
            parts += rule.splitter.parts
        return chosen, starts, parts

    def _make(  # of one place alone
        self,
        path: str,
        level: Level,
        made: NDArray[np.int64],
        rule: int,
        parts: Sequence[tuple[ElementPart, ...]],
        first: int,
    ) -> None:
        flat = [part for each in parts for part in each]
        here = (made >= first) & (made < first + len(flat))
        codes = np.where(here, made - first, len(flat))
        fields = dict.fromkeys(name for part in flat for name in (*part.set, *part.times))
        for name in fields:
            tokens: list[Token] = [part.set.get(name, (Kind.MISSING, b"")) for part in flat]
            factors = [part.times.get(name) for part in flat]
            times = None
            if any(factor is not None for factor in factors):
                known = np.array([factor is not None for factor in [*factors, None]])
                times = [*factors, None], np.where(known[codes], codes, len(flat))
            column = Values.from_tokens(level, codes, [*tokens, (Kind.MISSING, b"")])
            found = _Made(set=column, times=times, rule=rule)
            self._made.setdefault(field_path(path, name), []).append(found)


def field_path(path: str, name: str) -> str:
    """Return the path of a field that a table names from the element on."""
    element = Path.parse(path)
    found = Path(steps=(*element.steps, *Path.parse(name).steps))
    if not found.concrete or found.level != element.place:
        raise ParameterError(
            "A secret table of kind 'recode-many' names a field that isn't one of its elements."
        )
    return found.place


def _under(level: Level, above: Level, index: NDArray[np.int64]) -> tuple[Level, NDArray[np.int64]]:
    """Return a level beneath one whose slots are now others, and where its slots come from."""
    starts, counts = level.offsets[index], np.diff(level.offsets)[index]
    grown = Level.under(above, level.path, counts, present=level.present[index])
    within = np.arange(grown.slots) - np.repeat(np.cumsum(counts) - counts, counts)
    return grown, np.repeat(starts, counts) + within
