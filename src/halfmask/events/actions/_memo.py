"""Work on distinct tokens: each once, and what came out is remembered for the next blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.events._values import Kind, Values

if TYPE_CHECKING:
    from collections.abc import Callable

    from halfmask.events._context import Context
    from halfmask.events._words import Token

__all__ = ["Memo"]

_MOST_KNOWN = 1 << 17
_MOST_BYTES = 1 << 25


class Memo:
    """An applier of a function of single tokens.

    Parameters
    ----------
    function
        Returns what becomes of a scalar, None if it is dropped without being a failure, or the
        reason why it can't be done. The same token must always give the same.
    """

    __slots__ = ("_bytes", "_function", "_known")

    def __init__(self, function: Callable[[Kind, bytes], Token | str | None]) -> None:
        self._function = function
        self._known: dict[Token, Token | str | None] = {}
        self._bytes = 0

    def apply(self, values: Values, context: Context) -> Values:
        """Return what becomes of values; NULL stays, containers are dropped and counted."""
        codes, tokens = values.distinct()
        made = [self._one(token) for token in tokens]
        reasons = sorted({each for each in made if isinstance(each, str)})
        if reasons:
            why = [reasons.index(each) if isinstance(each, str) else -1 for each in made] + [-1]
            reason = np.array(why)[codes]
            for number, word in enumerate(reasons):
                context.fail(word, values.level, reason == number)
        found = [
            (Kind.MISSING, b"") if each is None or isinstance(each, str) else each for each in made
        ]
        return Values.from_tokens(values.level, codes, found)

    def _one(self, token: Token) -> Token | str | None:
        kind = token[0]
        if kind <= Kind.NULL:
            return token
        if kind >= Kind.OBJECT:
            return "wrong-type"
        if token in self._known:
            return self._known[token]
        if len(self._known) >= _MOST_KNOWN or self._bytes > _MOST_BYTES:
            self._known.clear()
            self._bytes = 0
        made = self._known[token] = self._function(*token)
        self._bytes += len(token[1]) + (len(made[1]) if isinstance(made, tuple) else 0)
        return made
