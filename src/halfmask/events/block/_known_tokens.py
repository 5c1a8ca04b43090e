"""Known tokens: the distinct scalars of a stream, remembered from block to block."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from halfmask.events.block._values import SEED, Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.events.block._values import Values
    from halfmask.events.block._words import Token

_Number = TypeVar("_Number", np.uint64, np.int64)
_LEAST, _LEAST_BYTES = 1 << 8, 1 << 12
_WORDS = {Kind.FALSE: b"false", Kind.TRUE: b"true"}
_AS_WORDS = {str(int(kind)): word.decode() for kind, word in _WORDS.items()}


class KnownTokens:
    """Gives scalars numbers by first appearance, over all columns that it is shown.

    They are kept as bytes, in arrays that grow: a token that is known costs no Python object.

    Examples
    --------
    >>> from halfmask.events.block._level import Level
    >>> from halfmask.events.block._values import Values
    >>> known = KnownTokens()
    >>> known.numbered(Values.of(Level.of_events(3), ["a", None, "b"])).tolist()
    [0, -1, 1]
    >>> known.numbered(Values.of(Level.of_events(2), [7, "a"])).tolist(), len(known)
    ([2, 0], 3)
    """

    __slots__ = ("_count", "_ends", "_keys", "_metas", "_store", "_table")

    def __init__(self) -> None:
        self.clear()

    def __len__(self) -> int:
        return self._count

    @property
    def size(self) -> int:
        """How many bytes the tokens have."""
        return int(self._ends[self._count])

    def clear(self) -> None:
        """Forget them all."""
        self._count = 0
        self._keys = np.empty(_LEAST, np.uint64)
        self._metas = np.empty(_LEAST, np.int64)
        self._ends = np.zeros(_LEAST + 1, np.int64)
        self._store = np.empty(_LEAST_BYTES, np.uint8)
        self._table = np.full(2 * _LEAST, -1, np.int32)

    def numbered(self, values: Values) -> NDArray[np.int32]:
        """Return the number of each scalar, from 0 on; -1 of NULL, containers and MISSING."""
        from halfmask.kernels.text.json_tokens import number_known  # noqa: PLC0415 # numba is slow to import

        kinds, starts, stops = values.kinds, values.starts, values.stops
        codes = np.empty(len(kinds), np.int32)
        at = 0
        while True:
            at, self._count = number_known(
                values.data, kinds, starts, stops, at, self._count, SEED,
                self._table, self._keys, self._metas, self._ends, self._store, codes,
            )  # fmt: skip
            if at == len(kinds):
                return codes
            self._make_room(int(stops[at] - starts[at]))

    def tokens(self, first: int = 0) -> list[Token]:
        """Return the tokens from a number on."""
        here = slice(first, self._count)
        kinds = (self._metas[here] & 15).tolist()
        ends = self._ends[first : self._count + 1].tolist()
        data = self._store[ends[0] : ends[-1]].tobytes()
        base = ends[0]
        spans = zip(map(Kind, kinds), ends[:-1], ends[1:], strict=True)
        return [
            (kind, _WORDS.get(kind) or data[start - base : stop - base])
            for kind, start, stop in spans
        ]

    def words(self) -> list[str]:
        """Return each token as text: the number of its kind, and what it is."""
        kinds = (self._metas[: self._count] & 15).astype(np.uint8) + ord("0")
        data = self._store[: self.size].tobytes()
        ends = self._ends[: self._count + 1].tolist()
        # Of text that is ASCII alone, letters stand where bytes do: it is decoded once.
        text = data.decode() if data.isascii() else ""
        spans = zip(kinds.tobytes().decode(), ends[:-1], ends[1:], strict=True)
        return [
            kind + (text[start:stop] if text else data[start:stop].decode())
            if kind not in _AS_WORDS
            else kind + _AS_WORDS[kind]
            for kind, start, stop in spans
        ]

    def _make_room(self, length: int) -> None:
        """Make room for one more, of so many bytes, and for as many as there are."""
        from halfmask.kernels.text.json_tokens import enter_again  # noqa: PLC0415 # as above

        count, used = self._count, self.size
        if count == len(self._keys):
            self._keys, self._metas = _longer(self._keys), _longer(self._metas)
            self._ends = np.append(self._ends, np.zeros(len(self._ends) - 1, np.int64))
            self._table = np.full(2 * len(self._keys), -1, np.int32)
            enter_again(self._keys, count, SEED, self._table)
        if used + length > len(self._store):
            store = np.empty(2 * (used + length), np.uint8)
            store[:used] = self._store[:used]
            self._store = store


def _longer(array: NDArray[_Number]) -> NDArray[_Number]:
    return np.concatenate([array, np.empty_like(array)])
