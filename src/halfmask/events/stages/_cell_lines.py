"""CellLines: which cells of a window may be written, and how."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from halfmask.claims import CellsClaim
from halfmask.events.block._values import Kind
from halfmask.events.policy._policy_sections import place
from halfmask.events.stages._cells import Cell

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping

    from halfmask.events.block._words import Token
    from halfmask.events.policy._stage_sections import AggregateSection
    from halfmask.events.stages._cells import Key


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
