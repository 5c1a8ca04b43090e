"""Which JSON scalars are the same: those of one text, whatever their types."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from halfmask.data.value_patterns import NOBODY
from halfmask.events.block._levels import merged, only
from halfmask.events.block._values import SEED, Kind, Values, read_text, written_text

if TYPE_CHECKING:
    from numpy.typing import NDArray


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


Token = tuple[Kind, bytes]
#: A number of more digits before or behind its point isn't written out.
_LONGEST_NUMBER = 400
_NOBODY = re.compile(NOBODY)
_NUMBERS = (Kind.INTEGER, Kind.NUMBER)
_NUMBER = re.compile(rb"-?(0|[1-9]\d*)(\.\d+)?(e-?\d+)?")


def lookup_word(kind: Kind, token: bytes) -> str | None:
    """Return the word that equal scalars have in common; None for what is no scalar.

    Numbers are what they are, not how they are written: ``1.50`` and ``15e-1`` are ``"1.5"``, and
    so is the text ``"1.5"``. Other texts are the same if each of their code points is.

    Examples
    --------
    >>> lookup_word(Kind.NUMBER, b"1.50"), lookup_word(Kind.STRING, b"1.50")
    ('1.5', '1.50')
    >>> lookup_word(Kind.NUMBER, b"1e3"), lookup_word(Kind.INTEGER, b"-0")
    ('1000', '0')
    """
    match kind:
        case Kind.STRING:
            return read_text(token)
        case Kind.INTEGER if token != b"-0" and len(token) <= _LONGEST_NUMBER:
            return token.decode()
        case Kind.INTEGER | Kind.NUMBER:
            return _plain(token.decode())
        case Kind.TRUE | Kind.FALSE:
            return token.decode()
        case _:
            return None


def _plain(text: str) -> str:
    """Return a number in one way of all in which it may be written."""
    number = Decimal(text)
    if not number:
        return "0"
    if abs(number.adjusted()) < _LONGEST_NUMBER:
        plain = f"{number:f}"
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    # An exponent of a billion isn't written out.
    sign, digits, exponent = number.as_tuple()
    whole = "".join(map(str, digits))
    short = whole.rstrip("0")
    return f"{'-' * sign}{short}e{int(exponent) + len(whole) - len(short)}"


def exact_float(word: str) -> float | None:
    """Return the number of a word as a float; None beyond 53 bits, where floats merge numbers.

    Examples
    --------
    >>> exact_float("27"), exact_float("9007199254740993")
    (27.0, None)
    """
    number = float(word)
    return number if abs(number) < 1 << 53 else None


def identity(kind: Kind, token: bytes) -> bytes:
    """Return the token of the text that a scalar is the same as, and so of all the same scalars.

    Pseudonyms, draws and counts go by it, so that they agree on who is who.
    """
    return token if kind is Kind.STRING else written_text(lookup_word(kind, token) or "")


def person_word(kind: Kind, token: bytes) -> str | None:
    """Return the word of whom a value names; None where it names nobody.

    Nothing, blanks and truth values name nobody: those who have them are many.

    Examples
    --------
    >>> person_word(Kind.INTEGER, b"7"), person_word(Kind.STRING, b" ")
    ('7', None)
    """
    word = None if kind <= Kind.NULL else lookup_word(kind, token)
    return None if word is None or _NOBODY.match(word) else word


def as_words(values: Values) -> Values:
    """Return values with each scalar as the text that it is the same as.

    Examples
    --------
    >>> from halfmask.events.block._level import Level
    >>> level = Level.of_events(4)
    >>> as_words(Values.of(level, [1042, "1042", 1042.0, None])).objects()
    ['1042', '1042', '1042', None]
    """
    kinds = values.kinds
    whole = kinds == int(Kind.INTEGER)
    other = (kinds == int(Kind.NUMBER)) | (kinds == int(Kind.TRUE)) | (kinds == int(Kind.FALSE))
    if not (whole.any() or other.any()):
        return values
    sizes = values.stops - values.starts
    # Written in one way alone, except -0 and what is longer than anybody's number.
    for at in np.flatnonzero(whole & ((sizes == 2) | (sizes > _LONGEST_NUMBER))).tolist():
        other[at] = sizes[at] != 2 or values.token(at)[1] == b"-0"
    texts = replace(values, kinds=np.where(whole, np.uint8(Kind.STRING), kinds))
    if not other.any():
        return texts
    codes, tokens = only(values, other).distinct()
    words = [(Kind.STRING, identity(*token)) for token in tokens]
    return merged([only(texts, ~other), Values.from_tokens(values.level, codes, words)])


class SeenKinds:
    """Whether values of a field were texts, numbers or booleans: by its word alone nobody knows.

    So pseudonyms that are turned back become what they were. Several threads may use it at once.
    """

    __slots__ = ("_lock", "_seen")

    def __init__(self) -> None:
        self._seen: frozenset[int] = frozenset()
        self._lock = threading.Lock()

    def see(self, values: Values) -> None:
        """Look at values."""
        new = frozenset(np.flatnonzero(np.bincount(values.kinds, minlength=9)).tolist())
        if not new <= self._seen:
            with self._lock:
                self._seen |= new

    def state(self) -> list[int] | None:
        """Return what was seen, as JSON can hold it; None if they were texts alone."""
        kinds = sorted(self._seen & {*_NUMBERS, Kind.TRUE, Kind.FALSE, Kind.STRING})
        return None if kinds in ([], [int(Kind.STRING)]) else kinds

    def restore(self, state: Any) -> None:  # noqa: ANN401 # what JSON held
        """Go on from what `state` returned."""
        self._seen = frozenset(int(kind) for kind in state or ())

    def turned(self, token: bytes) -> Token:
        """Return the scalar of a text that `identity` gave.

        Where a field had texts and others, texts that are written as numbers become numbers.
        """
        if self._seen & {Kind.TRUE, Kind.FALSE} and token in {b"true", b"false"}:
            return (Kind.TRUE if token == b"true" else Kind.FALSE), token
        kind = Kind.INTEGER if token.lstrip(b"-").isdigit() else Kind.NUMBER
        if self._seen & {*_NUMBERS} and _NUMBER.fullmatch(token) and identity(kind, token) == token:
            return kind, token
        return Kind.STRING, token


def scalar_token(value: object) -> Token | None:
    """Return what a table or policy says as a JSON scalar; None for what is none."""
    match value:
        case bool():
            return (Kind.TRUE, b"true") if value else (Kind.FALSE, b"false")
        case int():
            return Kind.INTEGER, b"%d" % value
        case float() | Decimal() if Decimal(value).is_finite():
            text = str(value) if isinstance(value, Decimal) else repr(value)
            return (Kind.INTEGER if text.lstrip("-").isdigit() else Kind.NUMBER), text.encode()
        case str():
            return Kind.STRING, written_text(value)
        case _:
            return None
