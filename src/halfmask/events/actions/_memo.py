"""Work on distinct tokens: each once, and what came out is remembered for the next blocks."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np

from halfmask.events.block._known_tokens import KnownTokens
from halfmask.events.block._level import Level
from halfmask.events.block._levels import absent
from halfmask.events.block._quantities import with_nulls
from halfmask.events.block._values import Kind, Values

if TYPE_CHECKING:
    from collections.abc import Callable

    from halfmask.events.block._words import Token
    from halfmask.events.running._context import Context

_MOST_KNOWN = 1 << 17
_MOST_BYTES = 1 << 25


class Memo:
    """An applier of a function of single tokens.

    Notes
    -----
    Several threads may use it at once; one of them works at a time.
    """

    __slots__ = ("_function", "_known", "_lock", "_made", "_reasons", "_size", "_words")
    is_local = True

    def __init__(self, function: Callable[[Kind, bytes], Token | str | None]) -> None:
        self._function = function
        self._known = KnownTokens()
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._known.clear()
        self._size = 0
        self._made = absent(Level.of_events(0))
        # The reason why a token can't be done, by number from 1 on; 0 if it can.
        self._reasons = np.zeros(0, np.int16)
        self._words: list[str] = []

    def apply(self, values: Values, context: Context) -> Values:
        """Return what becomes of values; NULL stays, containers are dropped and counted."""
        with self._lock:
            return self._apply(values, context)

    def _apply(self, values: Values, context: Context) -> Values:
        context.scalars(values, *_SCALARS)
        first = len(self._known)
        codes = self._known.numbered(values)
        if len(self._known) > first:
            self._learn(self._known.tokens(first))
        if self._words:
            why = np.append(self._reasons, np.int16(0))[codes]
            for number, word in sorted(enumerate(self._words, start=1), key=lambda it: it[1]):
                context.fail(word, values.level, why == number)
        made = with_nulls(self._made.take(codes, values.level), values)
        if len(self._known) > _MOST_KNOWN or self._size > _MOST_BYTES:
            self._forget()
        return made

    def _learn(self, tokens: list[Token]) -> None:
        made = [self._function(*token) for token in tokens]
        reasons = np.zeros(len(made), np.int16)
        for at, each in enumerate(made):
            if isinstance(each, str):
                if each not in self._words:
                    self._words.append(each)
                reasons[at] = self._words.index(each) + 1
        found = [each if isinstance(each, tuple) else (Kind.MISSING, b"") for each in made]
        more = Values.from_tokens(Level.of_events(len(found)), np.arange(len(found)), found)
        self._size = self._known.size + len(self._made.data) + len(more.data)
        self._made = _joined(self._made, more)
        self._reasons = np.concatenate([self._reasons, reasons])


_SCALARS = (Kind.FALSE, Kind.TRUE, Kind.INTEGER, Kind.NUMBER, Kind.STRING)


def _joined(one: Values, other: Values) -> Values:
    """Return values one behind the other."""
    shift = len(one.data)
    return Values(
        level=Level.of_events(len(one.kinds) + len(other.kinds)),
        kinds=np.concatenate([one.kinds, other.kinds]),
        data=np.concatenate([one.data, other.data]),
        starts=np.concatenate([one.starts, other.starts + shift]),
        stops=np.concatenate([one.stops, other.stops + shift]),
    )
