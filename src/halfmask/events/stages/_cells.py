"""Cell: what is known of the events of one key and window, exactly, and its line."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from halfmask._errors import HierarchyError
from halfmask.claims import CellsClaim
from halfmask.data import Hierarchy, Intervals
from halfmask.events.block._values import Kind, written_text
from halfmask.events.block._words import exact_float, lookup_word
from halfmask.events.policy._policy_sections import place

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from halfmask.events.actions import HierarchySection
    from halfmask.events.block._words import Token
    from halfmask.events.policy._stage_sections import AggregateSection, MeasureSection


#: The released value of each field of the key; None where there is none.
Key: TypeAlias = tuple["Token | None", ...]
#: Numbers with so many places: places, how many, and the sum, smallest and largest of their units.
Run: TypeAlias = tuple[int, int, int, int, int]

_PLACES = 18
_WIDE = 10**_PLACES


def distinct_word(kind: Kind, token: bytes) -> str | None:
    """Return under which word a value is one of several; None for what is no value.

    Numbers are what they are, however they are written, and so are texts of numbers.
    """
    return None if kind <= Kind.NULL else lookup_word(kind, token)


@dataclass(slots=True, kw_only=True)
class Measured:
    """One measure of a cell."""

    count: int = 0
    sum: int = 0
    least: int | None = None
    most: int | None = None
    places: int = 0
    words: set[str] = field(default_factory=set)

    def add(self, run: Run) -> None:
        """Add numbers."""
        places, count, total, least, most = run
        self.count += count
        factor = 10 ** (_PLACES - places)
        self.sum += total * factor
        self.least = least * factor if self.least is None else min(self.least, least * factor)
        self.most = most * factor if self.most is None else max(self.most, most * factor)
        self.places = max(self.places, places)

    def written(self, section: MeasureSection) -> bytes | None:
        """Return the number as JSON; None where there is none, such as the mean of nothing."""
        match section.do:
            case "count":
                return b"%d" % self.count
            case "distinct":
                return b"%d" % len(self.words)
            case "sum":
                return _decimal(self.sum, self.places)
            case "mean":
                return self._mean(section.decimals or 0)
            case "min":
                return None if self.least is None else _decimal(self.least, self.places)
            case _:
                return None if self.most is None else _decimal(self.most, self.places)

    def _mean(self, decimals: int) -> bytes | None:
        if not self.count:
            return None
        step = 10 ** (_PLACES - decimals) * self.count
        whole, rest = divmod(self.sum, step)
        # Half goes to even.
        whole += 2 * rest > step or (2 * rest == step and whole % 2 == 1)
        return _decimal(whole * 10 ** (_PLACES - decimals), decimals)

    def to_json(self) -> list[Any]:
        """Return what is known, as JSON can hold it."""
        words = sorted(self.words)
        return [self.count, self.sum, self.least, self.most, self.places, words]

    @classmethod
    def from_json(cls, state: Sequence[Any]) -> Measured:
        """Return what `to_json` gave."""
        count, total, least, most, places, words = state
        return cls(
            count=int(count),
            sum=int(total),
            least=None if least is None else int(least),
            most=None if most is None else int(most),
            places=int(places),
            words=set(map(str, words)),
        )


def _decimal(scaled: int, places: int) -> bytes:
    units = abs(scaled) // 10 ** (_PLACES - places)
    sign = "-" if scaled < 0 else ""
    if not places:
        return f"{sign}{units}".encode()
    whole, rest = divmod(units, 10**places)
    return f"{sign}{whole}.{rest:0{places}d}".encode()


@dataclass(slots=True, kw_only=True)
class Cell:
    """What is known of the events of one key and window."""

    events: int = 0
    entities: set[str] = field(default_factory=set)
    measures: list[Measured]

    @classmethod
    def of(cls, measures: int) -> Cell:
        """Return the cell of no event."""
        return cls(measures=[Measured() for _ in range(measures)])

    def to_json(self) -> list[Any]:
        """Return what is known, as JSON can hold it."""
        return [self.events, sorted(self.entities), [it.to_json() for it in self.measures]]

    @classmethod
    def from_json(cls, state: Sequence[Any], *, measures: int) -> Cell:
        """Return what `to_json` gave."""
        events, entities, known = state
        found = [Measured.from_json(it) for it in known]
        if len(found) != measures:
            raise ValueError
        return cls(events=int(events), entities=set(map(str, entities)), measures=found)


class CellLines:
    """Writes the cells of a section."""

    __slots__ = ("_entity", "_section")

    def __init__(self, section: AggregateSection, *, entity: str | None) -> None:
        self._section = section
        self._entity = None if entity is None else place(entity).place

    def lines(
        self,
        cells: Mapping[Key, Cell],
        total: Cell | None,
        *,
        window: str,
        is_update: bool,
        counts: Counter[str],
    ) -> bytes:
        """Return the lines of a window that may be written, in the order of their keys."""
        wide = [(key, cell) for key, cell in cells.items() if self._is_enough(cell)]
        held = [cell for cell in cells.values() if not self._is_enough(cell)]
        if total is not None and self._is_enough(total):
            wide = self._complemented(wide, held)
        else:
            total = None
        counts["cells-written"] += len(wide)
        counts["cells-held"] += len(cells) - len(wide)
        head = self._head(window, is_update=is_update)
        lines = [
            _line([*head, *self._fields(key), *self._numbers(cell)])
            for key, cell in sorted(wide, key=lambda item: _sortable(item[0]))
        ]
        if total is not None:
            counts["totals-written"] += 1
            lines.append(_line([*head, (b'"total"', b"true"), *self._numbers(total)]))
        return b"".join(lines)

    def _is_enough(self, cell: Cell) -> bool:
        section = self._section
        return cell.events >= (section.min_events or 0) and len(cell.entities) >= (
            section.min_entities or 0
        )

    def _complemented(
        self, wide: list[tuple[Key, Cell]], held: list[Cell]
    ) -> list[tuple[Key, Cell]]:
        """Hold cells back until what is left of the total is enough, the smallest first."""
        if not held:
            return wide
        left = Cell(events=0, measures=[])
        for cell in held:
            left.events += cell.events
            left.entities |= cell.entities
        wide = sorted(
            wide, key=lambda item: (-len(item[1].entities), -item[1].events, _sortable(item[0]))
        )
        while wide and not self._is_enough(left):
            _, cell = wide.pop()
            left.events += cell.events
            left.entities |= cell.entities
        return wide

    def _head(self, window: str, *, is_update: bool) -> list[tuple[bytes, bytes]]:
        section = self._section
        head = [(b'"aggregate"', _text(section.name))] if section.name is not None else []
        head.append((_text(section.window), _text(window)))
        return [*head, *([(b'"update"', b"true")] if is_update else [])]

    def _fields(self, key: Key) -> list[tuple[bytes, bytes]]:
        return [
            (_text(name), _value(token))
            for name, token in zip(self._section.by, key, strict=True)
            if token is not None
        ]

    def _numbers(self, cell: Cell) -> list[tuple[bytes, bytes]]:
        section = self._section
        found = [] if section.count is None else [(_text(section.count), b"%d" % cell.events)]
        for measure, measured in zip(section.measures, cell.measures, strict=True):
            written = measured.written(measure)
            if written is not None:
                found.append((_text(measure.name), written))
        return found

    def claim(self) -> CellsClaim:
        """Return what is claimed of the lines, and in which fields the numbers stand."""
        section = self._section
        entities = [
            measure.name
            for measure in section.measures
            if measure.do == "distinct"
            and measure.of == "original"
            and place(measure.path).place == self._entity
        ]
        return CellsClaim(
            name=section.name,
            window=section.window,
            by=tuple(section.by),
            count=section.count,
            entities=entities[0] if entities else None,
            min_events=section.min_events,
            min_entities=section.min_entities,
            totals=section.totals,
        )


def _line(fields: list[tuple[bytes, bytes]]) -> bytes:
    return b"{" + b",".join(name + b":" + value for name, value in fields) + b"}\n"


def _text(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode()


def _value(token: Token) -> bytes:
    return b'"%b"' % token[1] if token[0] is Kind.STRING else token[1]


def _sortable(key: Key) -> tuple[tuple[int, bytes], ...]:
    return tuple((-1, b"") if token is None else (int(token[0]), token[1]) for token in key)


_MOST_KNOWN = 1 << 16


class Coarser:
    """Looks up the labels of values.

    Examples
    --------
    >>> from halfmask.events import Kind
    >>> from halfmask.events.actions import HierarchySection
    >>> coarser = Coarser(HierarchySection(intervals=(10.0,)), folder=None)
    >>> [label.decode() for _, label in coarser.labels((Kind.INTEGER, b"27"))]
    ['[20, 30)', '*']
    """

    __slots__ = ("_known", "_rule", "_tree")

    def __init__(self, section: HierarchySection, *, folder: Path | None) -> None:
        made = section.made(folder)
        self._known: dict[Token, tuple[Token, ...]] = {}
        self._rule = None if isinstance(made, Hierarchy) else made
        self._tree: dict[str, tuple[Token, ...]] = {}
        if isinstance(made, Hierarchy):
            levels = [made.labels(level) for level in range(1, made.height)]
            self._tree = {
                leaf: tuple(_token(labels[at]) for labels in levels)
                for at, leaf in enumerate(made.leaves)
            }

    def labels(self, token: Token) -> tuple[Token, ...]:
        """Return the labels of a value, the finest first; none where the hierarchy lacks it."""
        known = self._known.get(token)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            known = self._known[token] = self._made(*token)
        return known

    def _made(self, kind: Kind, token: bytes) -> tuple[Token, ...]:
        word = lookup_word(kind, token)
        if word is None or kind is Kind.NULL:
            return ()
        if self._rule is None:
            return self._tree.get(word, ())
        numeric = isinstance(self._rule, Intervals)
        try:
            value = exact_float(word) if numeric else word
            if value is None:
                return ()
            tree = self._rule.build(pl.Series([value]), column="values")
        except (HierarchyError, ValueError):
            return ()
        return tuple(_token(tree.labels(level)[0]) for level in range(1, tree.height))


def _token(label: str) -> Token:
    return Kind.STRING, written_text(label)
