"""PaneEvents: the events that are released together, as guarantees see and change them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask.events.block._grouping import word_codes
from halfmask.events.block._levels import enclosing
from halfmask.events.block._values import Kind, Values
from halfmask.events.block._words import person_word
from halfmask.events.stages._held import Held

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from halfmask.events.block._level import Level
    from halfmask.events.block._words import Token

#: Words under which the original entity and session wait with an event; no path is like them.
ENTITY, SESSION = "\0entity", "\0session"


@dataclass(slots=True, kw_only=True, eq=False)
class PaneColumn:
    """The released values of a path."""

    level: Level
    codes: NDArray[np.int64]
    tokens: list[Token]
    _numbers: dict[Token, int] = field(init=False)

    def __post_init__(self) -> None:
        self._numbers = {token: number for number, token in enumerate(self.tokens)}

    def number(self, token: Token) -> int:
        """Return the number of a token, a new one if it has none."""
        found = self._numbers.setdefault(token, len(self.tokens))
        if found == len(self.tokens):
            self.tokens.append(token)
        return found


@dataclass(slots=True, kw_only=True, eq=False)
class PaneEvents:
    """Events that are released together."""

    held: Held
    columns: dict[str, PaneColumn]
    alive: NDArray[np.bool_]
    gone: dict[str, NDArray[np.bool_]]
    session: NDArray[np.int64]
    entity: NDArray[np.int64]

    @classmethod
    def of(cls, held: Held, paths: Iterable[str]) -> PaneEvents:
        """Return waiting events before anything is left out."""
        slots = held.events.slots
        entity, _ = word_codes(held.columns[ENTITY], word=person_word)
        session = np.full(slots, -1, np.int64)
        count = 0
        if SESSION in held.columns:
            session, words = word_codes(held.columns[SESSION], word=person_word)
            count = len(words)
        alone = session < 0
        session[alone] = count + np.arange(np.count_nonzero(alone))
        columns = {path: _column(held.columns[path]) for path in paths if path in held.columns}
        return cls(
            held=held,
            columns=columns,
            alive=np.ones(slots, np.bool_),
            gone={},
            session=session,
            entity=entity,
        )

    def live(self, level: Level) -> NDArray[np.bool_]:
        """Return which slots of a level are released."""
        found = self.alive[level.event]
        for path, gone in self.gone.items():
            at: Level | None = level
            while at is not None and at.path != path:
                at = at.above
            if at is not None:
                found = found & ~gone[enclosing(level, path)]
        return found

    def owners(self, unit: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the entity of each session, or other unit of events; -1 where none is known.

        It is that of the first released event that has one: so it can be recounted.
        """
        found = np.full(int(unit.max(initial=-1)) + 1, -1, np.int64)
        named = np.flatnonzero(self.alive & (self.entity >= 0))[::-1]
        found[unit[named]] = self.entity[named]
        return found

    def leave_out(self, level: Level, slots: NDArray[np.bool_]) -> None:
        """Leave elements out; events, where they are in no array."""
        if level.above is None:
            self.alive &= ~slots
            return
        gone = self.gone.setdefault(level.path, np.zeros(level.slots, np.bool_))
        gone |= slots

    def shown(self) -> Counter[str]:
        """Count released events, and values and elements of the protected paths."""
        found: Counter[str] = Counter({"events-held": int(np.count_nonzero(self.alive))})
        for column in self.columns.values():
            live = self.live(column.level)
            found["values-left-out"] += int(np.count_nonzero(live & (column.codes >= 0)))
            if column.level.above is not None:
                found["elements-held"] += int(np.count_nonzero(live))
        return found

    def left(self) -> Held:
        """Return the released events."""
        columns = dict(self.held.columns)
        for path, column in self.columns.items():
            columns[path] = Values.from_tokens(column.level, column.codes, column.tokens)
        columns.pop(ENTITY, None)
        columns.pop(SESSION, None)
        whole = Held(names=self.held.names, columns=columns, events=self.held.events)
        keeps = {"": self.alive, **{path: ~gone for path, gone in self.gone.items()}}
        return whole.narrowed(keeps)


def _column(values: Values) -> PaneColumn:
    codes, tokens = values.distinct()
    plain = np.array([*(kind < Kind.OBJECT for kind, _ in tokens), False], np.bool_)
    return PaneColumn(
        level=values.level,
        codes=np.where(plain[codes], codes, np.int32(-1)).astype(np.int64),
        tokens=tokens,
    )
