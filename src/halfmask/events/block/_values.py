"""What a path holds in a block of events: a column of JSON tokens, one for each slot."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ParameterError
from halfmask._validation import integer_at_least
from halfmask.events.block._buffers import ArrayLease

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.events.block._level import Level

#: So that nobody can write events whose tokens collide in our tables. No result depends on it.
SEED = np.uint64(int.from_bytes(os.urandom(8), "little") | 1)
_LEAST_TABLE = 1 << 10
#: Python converts longer texts into integers in quadratic time, and refuses.
_LONGEST_INT = 4_000
_WORDS = {1: b"null", 2: b"false", 3: b"true", 7: b"{}", 8: b"[]"}


class Kind(IntEnum):
    """What stands in a slot.

    An INTEGER is a number written without point and exponent; other numbers are NUMBER. Of an
    OBJECT or ARRAY it is only known that it is there: no content is ever kept with it.
    """

    MISSING = 0
    NULL = 1
    FALSE = 2
    TRUE = 3
    INTEGER = 4
    NUMBER = 5
    STRING = 6
    OBJECT = 7
    ARRAY = 8


_KINDS = tuple(Kind)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Values:
    r"""The values of one path in a block: a JSON token for each slot of its level.

    Parameters
    ----------
    level
        The level of the values.
    kinds
        The `Kind` of each slot.
    data
        The bytes that hold the tokens, in any order. Tokens may overlap and be shared.
    starts, stops
        The position of each slot's token. A STRING's token is its content without quotes, in
        canonical form. A number's token is its unchanged text. Other tokens aren't used.

    Notes
    -----
    **Guarantees.** Two strings are equal if and only if their tokens are. The canonical form is
    UTF-8 with the shortest escapes of JSON, as in `json.dumps(..., ensure_ascii=False)`. Numbers
    aren't changed at all: ``1.0`` and ``1`` are two tokens.

    Examples
    --------
    >>> from halfmask.events.block._level import Level
    >>> level = Level.of_events(3)
    >>> values = Values.of(level, ["é", 2, ...])
    >>> values.kinds.tolist(), values.objects()
    ([6, 4, 0], ['é', 2, Ellipsis])
    >>> codes, tokens = values.distinct()
    >>> codes.tolist(), tokens
    ([0, 1, -1], [(<Kind.STRING: 6>, b'\xc3\xa9'), (<Kind.INTEGER: 4>, b'2')])
    """

    level: Level
    kinds: NDArray[np.uint8]
    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]

    def __post_init__(self) -> None:
        slots = self.level.slots
        if not len(self.kinds) == len(self.starts) == len(self.stops) == slots:
            raise ParameterError(
                f"The columns of Values must have one value for each of {slots} slots. "
                f"Got {len(self.kinds)}, {len(self.starts)} and {len(self.stops)} instead."
            )

    def distinct(self) -> tuple[NDArray[np.int32], list[tuple[Kind, bytes]]]:
        """Give each distinct token a number, by first appearance.

        Returns
        -------
        tuple
            The number of each slot's token, -1 where it is MISSING; and the tokens. NULL, TRUE,
            FALSE and containers are one token each, with the word or brackets that JSON has for
            them.
        """
        codes, slots = self.numbered()
        return codes, self._tokens(slots)

    def numbered(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Give each distinct token a number, as `distinct` does, without taking it out.

        Returns
        -------
        tuple
            The number of each slot's token, -1 where it is MISSING; and the first slot of each.
        """
        from halfmask.kernels.text.json_tokens import enter_again, number_distinct  # noqa: PLC0415 # numba is slow to import

        kinds, starts, stops = self.kinds, self.starts, self.stops
        codes = np.empty(len(kinds), dtype=np.int32)
        size, at, count = _LEAST_TABLE, 0, 0
        keys, metas = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
        slots = np.empty(0, dtype=np.int64)
        while True:
            table = np.full(2 * size, -1, dtype=np.int32)
            keys, metas, slots = (
                np.resize(keys, size),
                np.resize(metas, size),
                np.resize(slots, size),
            )
            enter_again(keys, count, SEED, table)
            at, count = number_distinct(
                self.data, kinds, starts, stops, at, count, SEED, table, keys, metas, slots, codes
            )
            if at == len(kinds):
                break
            size *= 4
        return codes, slots[:count]

    def _tokens(self, slots: NDArray[np.int64]) -> list[tuple[Kind, bytes]]:
        kinds = self.kinds[slots].tolist()
        spans = zip(kinds, self.starts[slots].tolist(), self.stops[slots].tolist(), strict=True)
        data = memoryview(self.data)  # type: ignore[arg-type] # an array is a buffer
        return [
            (_KINDS[kind], _WORDS[kind] if kind in _WORDS else bytes(data[start:stop]))
            for kind, start, stop in spans
        ]

    def token(self, slot: int) -> tuple[Kind, bytes]:
        """Return the kind and the token of a slot.

        Parameters
        ----------
        slot
            The place of the value.
        """
        kind = int(self.kinds[slot])
        word = _WORDS.get(kind)
        if word is None:
            word = self.data[self.starts[slot] : self.stops[slot]].tobytes() if kind else b""
        return Kind(kind), word

    def take(self, index: NDArray[np.integer], level: Level) -> Values:
        """Return the values of some slots, in any order, at another level.

        Parameters
        ----------
        index
            For each slot of `level`, the slot here whose value it gets; -1 gives MISSING.
        level
            Where they stand then.
        """
        if not len(self.kinds):
            return Values.from_tokens(level, np.full(len(index), -1, dtype=np.int32), ())
        kinds = np.where(index < 0, np.uint8(Kind.MISSING), self.kinds[index])
        return Values(
            level=level,
            kinds=kinds,
            data=self.data,
            starts=self.starts[index],
            stops=self.stops[index],
        )

    @classmethod
    def from_tokens(
        cls, level: Level, codes: NDArray[np.integer], tokens: Sequence[tuple[Kind, bytes]]
    ) -> Values:
        """Build values from tokens and the token of each slot, as `distinct` gives.

        Parameters
        ----------
        level
            The level of the values.
        codes
            The number of each slot's token; -1 gives MISSING.
        tokens
            Kinds and tokens: strings without quotes in canonical form (see `written_text`),
            numbers as JSON has them. They aren't looked at.
        """
        ends = np.cumsum([0, *(len(token) for _, token in tokens), 0], dtype=np.int64)
        # The code -1 takes the last of these, which is no token.
        kinds = np.array([*(kind for kind, _ in tokens), Kind.MISSING], dtype=np.uint8)
        return cls(
            level=level,
            kinds=kinds[codes],
            data=np.frombuffer(bytearray().join(token for _, token in tokens), dtype=np.uint8),
            starts=ends[:-1][codes],
            stops=ends[1:][codes],
        )

    @classmethod
    def from_integers(
        cls,
        level: Level,
        numbers: NDArray[np.int64],
        present: NDArray[np.bool_],
        *,
        room: ArrayLease | None = None,
    ) -> Values:
        """Return whole numbers; MISSING where `present` is False.

        Parameters
        ----------
        level
            The level of the values.
        numbers
            The numbers, one for each slot.
        present
            Whether each slot has a value.
        room
            The arrays to write into; ``None``: new ones.
        """
        return cls.from_decimals(level, numbers, 0, present, room=room)

    @classmethod
    def from_decimals(
        cls,
        level: Level,
        units: NDArray[np.int64],
        decimals: int,
        present: NDArray[np.bool_],
        *,
        room: ArrayLease | None = None,
    ) -> Values:
        """Return numbers with a fixed count of decimals.

        Parameters
        ----------
        level
            The level of the values.
        units
            Each number times ``10 ** decimals``: 1234 with 2 decimals is written ``12.34``.
        decimals
            0 to 18; 0 writes whole numbers.
        present
            Which slots have one; others are MISSING.
        room
            What memory is taken by; None: fresh memory.

        Examples
        --------
        >>> import numpy as np
        >>> from halfmask.events.block._level import Level
        >>> level = Level.of_events(3)
        >>> units = np.array([1234, -5, 0])
        >>> values = Values.from_decimals(level, units, 2, np.array([True, True, False]))
        >>> [values.token(slot)[1] for slot in range(3)]
        [b'12.34', b'-0.05', b'']
        """
        from halfmask.kernels.text.json_numbers import LONGEST, write_decimals  # noqa: PLC0415 # as above

        integer_at_least(0, owner="Values.from_decimals", decimals=decimals)
        if decimals > 18:
            raise ParameterError(
                "The 'decimals' parameter of Values.from_decimals must be an int in the range "
                f"[0, 18]. Got {decimals} instead."
            )
        room = ArrayLease() if room is None else room
        data = room.array(LONGEST * len(units), np.uint8)
        starts, stops = room.array(len(units), np.int64), room.array(len(units), np.int64)
        units = np.ascontiguousarray(units, dtype=np.int64)
        size = write_decimals(units, decimals, present, data, starts, stops)
        kind = Kind.NUMBER if decimals else Kind.INTEGER
        kinds = np.where(present, np.uint8(kind), np.uint8(Kind.MISSING))
        return cls(level=level, kinds=kinds, data=data[:size], starts=starts, stops=stops)

    @classmethod
    def of(cls, level: Level, objects: Sequence[object]) -> Values:
        """Return Python objects as values: plain and slow.

        Parameters
        ----------
        level
            The level of the values.
        objects
            None, bool, int, float, Decimal, str; a mapping or a list is a container without
            content; ``...`` is MISSING.

        Raises
        ------
        ParameterError
            An object that JSON has no word for: a lone surrogate, NaN, another type.
        """
        tokens = [_token(value) for value in objects]
        return cls.from_tokens(level, np.arange(len(tokens)), tokens)

    def objects(self) -> list[object]:
        """Return Python objects as `of` takes them. Slow; numbers beyond float too."""
        return [_object(*self.token(slot)) for slot in range(len(self.kinds))]


def written_text(text: str) -> bytes:
    r"""Return text as a canonical JSON string, without its quotes.

    Examples
    --------
    >>> written_text('5" 7é')
    b'5\\" 7\xc3\xa9'
    """
    try:
        return _dumps(text)[1:-1].encode()
    except UnicodeEncodeError:
        raise ParameterError("A text with a lone surrogate can't be written as JSON.") from None


_dumps = partial(json.dumps, ensure_ascii=False)


def read_text(token: bytes) -> str:
    """Return the text that a STRING's token stands for.

    Examples
    --------
    >>> read_text(written_text('5" 7é'))
    '5" 7é'
    """
    return str(json.loads(b'"%b"' % token)) if b"\\" in token else token.decode()


def _token(value: object) -> tuple[Kind, bytes]:
    match value:
        case None:
            found = Kind.NULL, b"null"
        case bool():
            found = (Kind.TRUE, b"true") if value else (Kind.FALSE, b"false")
        case int():
            found = Kind.INTEGER, b"%d" % value
        case float() | Decimal() if Decimal(value).is_finite():
            found = _number(str(value) if isinstance(value, Decimal) else repr(value))
        case str():
            found = Kind.STRING, written_text(value)
        case Mapping():
            found = Kind.OBJECT, b"{}"
        case list():
            found = Kind.ARRAY, b"[]"
        case _ if value is ...:
            found = Kind.MISSING, b""
        case _:
            raise ParameterError(
                f"Values.of takes what JSON has words for. Got a {type(value).__name__}."
            )
    return found


def _number(text: str) -> tuple[Kind, bytes]:
    whole = text.lstrip("-").isdigit()
    return Kind.INTEGER if whole else Kind.NUMBER, text.encode()


def _object(kind: Kind, token: bytes) -> object:
    match kind:
        case Kind.MISSING:
            return ...
        case Kind.STRING:
            return read_text(token)
        case Kind.INTEGER | Kind.NUMBER:
            long = len(token) > _LONGEST_INT
            number = json.loads(token) if not long else Decimal(token.decode())
            infinite = isinstance(number, float) and number in (float("inf"), -float("inf"))
            return Decimal(token.decode()) if infinite else number
        case _:
            return json.loads(token)
