"""Sequence: 1, 2, 3, ... by first appearance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from halfmask._errors import DataError
from halfmask._sections import Whole
from halfmask.events.actions._action import Action
from halfmask.events.block._level import Level
from halfmask.events.block._quantities import with_nulls
from halfmask.events.block._values import SEED, Kind, Values
from halfmask.events.block._words import KnownTokens, SeenKinds, as_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.events.actions._action import Resources
    from halfmask.events.block._words import Token
    from halfmask.events.running._context import Context

_SCALARS = (Kind.FALSE, Kind.TRUE, Kind.INTEGER, Kind.NUMBER, Kind.STRING)
#: The one group of a sequence over the whole stream.
_STREAM = ""


class Sequence(Action):
    """Number values by first appearance: 1, 2, 3, ...

    Parameters
    ----------
    scope
        ``event``: numbers start again in each event; ``session``, ``tenant``: in each of those that
        ``[stream]`` names; ``stream``: never.
    open
        How many sessions or tenants are remembered at once. Of more, those that were seen longest
        ago are forgotten, and start again if they come back.

    Notes
    -----
    **Guarantees.** A number reveals nothing about the value but which of them are equal within the
    scope, and in which order they first appeared. It holds no key: across scopes numbers mean
    nothing, across releases they are of different streams.

    **Edge cases.** Within the scope it reveals equality, how often a value occurs, and the
    order of first appearance: the first one has number 1, and the largest
    number reveals how many there were. The number 12, 12.0 and the text "12" are the same value. A
    value without the session or tenant that it needs is dropped and counted as ``no-scope``. NULL
    isn't numbered. The numbers that were given are the transform's state, which holds the values:
    it belongs in the vault.

    Examples
    --------
    >>> Sequence(scope="event").weaknesses
    ('equality-leaking', 'frequency-leaking', 'order-leaking')
    """

    do: Literal["sequence"] = "sequence"
    scope: Literal["stream", "tenant", "session", "event"] = Field()
    open: Annotated[Whole, Field(ge=1, le=100_000_000)] = 65_536

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What numbers by first appearance reveal."""
        return ("equality-leaking", "frequency-leaking", "order-leaking")

    def needs(self) -> tuple[str, ...]:
        """Return what the scope is called in `[stream]`."""
        return (self.scope,) if self.scope in {"tenant", "session"} else ()

    def bind(self, resources: Resources) -> SequenceApplier:
        """Return the numberer."""
        scope = resources.scopes[self.scope] if self.needs() else None
        return SequenceApplier(scope=scope, within_event=self.scope == "event", most=self.open)


class SequenceApplier:
    """Numbers values, and knows those that it numbered before."""

    __slots__ = ("_known", "_most", "_numbers", "_scope", "_seen", "_within_event")

    def __init__(self, *, scope: str | None, within_event: bool, most: int) -> None:
        self._scope = scope
        self._within_event = within_event
        self._most = most
        #: Of each scope, the one seen longest ago first: the number of each value.
        self._numbers: dict[str, dict[str, int]] = {}
        self._seen = SeenKinds()
        #: Of the one sequence over the stream; None before it is begun.
        self._known: KnownTokens | None = None

    @property
    def is_local(self) -> bool:
        """Whether it knows nothing of other blocks."""
        return self._within_event

    def apply(self, values: Values, context: Context) -> Values:
        """Return the number of each value."""
        if self._within_event:
            return _within_events(values, context)
        level = values.level
        fits = context.scalars(values, *_SCALARS)
        words = as_words(values)
        if self._scope is None:
            if self._known is None:
                self._known = KnownTokens()
            self._seen.see(values)
            numbers = self._known.numbered(words).astype(np.int64) + 1
        else:
            scopes = as_words(context.values(self._scope, level))
            named = (scopes.kinds > int(Kind.NULL)) & (scopes.kinds < int(Kind.OBJECT))
            context.fail("no-scope", level, fits & ~named)
            fits = fits & named
            codes, tokens = words.distinct()
            numbers = self._over_scopes(np.where(fits, codes, np.int32(-1)), tokens, scopes)
        return with_nulls(Values.from_integers(level, numbers, fits, room=context.room), values)

    def _over_scopes(
        self, codes: NDArray[np.int32], tokens: list[Token], scopes: Values
    ) -> NDArray[np.int64]:
        scope_codes, scope_tokens = scopes.distinct()
        used = np.flatnonzero(codes >= 0)
        numbers = np.zeros(len(codes), np.int64)
        if not len(used):
            return numbers
        words = [_word(token) for token in tokens]
        names = [_word(token) for token in scope_tokens]
        pairs = scope_codes[used].astype(np.int64) * len(tokens) + codes[used]
        if len(self._numbers) + len(set(names) - set(self._numbers)) > self._most:
            # One by one, so that what is forgotten doesn't depend on where blocks end.
            split = (divmod(pair, len(tokens)) for pair in pairs.tolist())
            numbers[used] = [self._one(names[scope], words[code]) for scope, code in split]
            return numbers
        distinct, first, where = np.unique(pairs, return_index=True, return_inverse=True)
        given = np.zeros(len(distinct), np.int64)
        for at in np.argsort(first).tolist():
            scope, code = divmod(int(distinct[at]), len(tokens))
            known = self._numbers.setdefault(names[scope], {})
            given[at] = known.setdefault(words[code], len(known) + 1)
        numbers[used] = given[where]
        for scope in _by_last(scope_codes[used]):
            self._numbers[names[scope]] = self._numbers.pop(names[scope])
        return numbers

    def _one(self, scope: str, word: str) -> int:
        known = self._numbers[scope] = self._numbers.pop(scope, {})
        if len(self._numbers) > self._most:
            del self._numbers[next(iter(self._numbers))]
        return known.setdefault(word, len(known) + 1)

    def state(self) -> list[Any]:
        """Return what was numbered, as JSON can hold it; secret."""
        if self._known is not None:
            return [[_STREAM, self._known.words(), self._seen.state()]]
        return [[scope, list(known)] for scope, known in self._numbers.items()]

    def restore(self, state: Any) -> None:  # noqa: ANN401 # what JSON held
        """Go on from what `state` returned."""
        try:
            found = {str(scope): [str(word) for word in words] for scope, words, *_ in state}
            self._known = None
            self._seen.restore(state[0][2] if self._scope is None and found else None)
            if self._scope is None and found:
                self._known = _known(found.pop(_STREAM))
            self._numbers = {
                scope: {word: number for number, word in enumerate(words, start=1)}
                for scope, words in found.items()
            }
        except (TypeError, ValueError, KeyError, IndexError):
            raise DataError("The state of a sequence is damaged.") from None


def _word(token: Token) -> str:
    return f"{int(token[0])}{token[1].decode()}"


def _known(words: list[str]) -> KnownTokens:
    """Return tokens that were numbered, known again."""
    tokens = [(Kind(int(word[0])), word[1:].encode()) for word in words]
    known = KnownTokens()
    known.numbered(Values.from_tokens(Level.of_events(len(tokens)), np.arange(len(tokens)), tokens))
    if len(known) != len(words):
        raise ValueError
    return known


def _by_last(codes: NDArray[np.int32]) -> list[int]:
    """Return codes in the order of their last appearance."""
    distinct, from_end = np.unique(codes[::-1], return_index=True)
    return [int(code) for code in distinct[np.argsort(-from_end)]]


def _within_events(values: Values, context: Context) -> Values:
    from halfmask.kernels.text.json_sequences import number_within  # noqa: PLC0415 # numba is slow to import

    groups, room = values.level.event, context.room
    count = len(groups)
    most = int(np.bincount(groups).max()) if count else 0
    size = 2 << most.bit_length()
    out, kinds = room.array((len(str(most)) + 1) * count, np.uint8), room.array(count, np.uint8)
    begins, ends = room.array(count, np.int64), room.array(count, np.int64)
    words = as_words(values)
    others = number_within(
        words.data, words.kinds, words.starts, words.stops, groups, SEED,
        np.empty(size, np.int32), np.full(size, -1), np.empty(size, np.uint64),
        np.empty(size, np.int64), np.empty(size, np.int64), out, kinds, begins, ends,
    )  # fmt: skip
    if others:
        context.scalars(values, *_SCALARS)
    end = int(ends[-1]) if count else 0
    return Values(level=values.level, kinds=kinds, data=out[:end], starts=begins, stops=ends)
