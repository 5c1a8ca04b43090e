"""The slots of a hashed row: each takes a column, or several, and gives a hash for each row.

A column's cell is hashed with the key of the column and of what the cell is: a category's bytes, a
bin's number, a word. A missing cell has a key of its own, so that no value can pass for one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from halfmask._errors import DataError
from halfmask.hashing._cells import (
    absent,
    check_exact,
    floats_to_send,
    kind_of,
    numbers_of,
    texts_of,
    views_of,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from halfmask.vault import Secret


#: The first and the last eight bytes of a SipHash key, as little-endian numbers.
Key: TypeAlias = tuple[np.uint64, np.uint64]
_KEY_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class HasherKeys:
    """The keys that follow from a secret and a hasher's name."""

    secret: Secret
    name: str

    def of(self, purpose: str, *columns: str) -> Key:
        """Return the key of a purpose and a column, or several."""
        # One column is its name; several are a JSON list of names. Their purposes differ.
        column = columns[0] if len(columns) == 1 else _to_json_list(columns)
        material = self.secret.key(f"hash/{self.name}/{purpose}", column=column, length=_KEY_BYTES)
        first, last = np.frombuffer(material, "<u8").astype(np.uint64)
        return first, last


def _to_json_list(columns: Sequence[str]) -> str:
    return json.dumps(list(columns), ensure_ascii=False, separators=(",", ":")) if columns else ""


_EXPONENT_AND_SIGN = 12
_MANTISSA = 52


class Coded(NamedTuple):
    """Hashes, and which of them each row has; without codes there is one for each row."""

    hashes: NDArray[np.uint64]
    codes: NDArray[np.int32] | None
    values: NDArray[np.float32] | None = None

    def each(self) -> NDArray[np.uint64]:
        """Return the hash of each row."""
        return self.hashes if self.codes is None else self.hashes[self.codes]


def hash_of(key: Key, message: bytes = b"") -> np.uint64:
    """Return the hash of one message."""
    from halfmask.kernels.hashing.siphash import hash_texts  # noqa: PLC0415 # numba takes a second

    found = np.empty(1, np.uint64)
    bounds = np.array([0, len(message)], np.int32)
    hash_texts(bounds, np.frombuffer(message, np.uint8), *key, found)
    return np.uint64(found[0])


def hashes_of(array: Any, key: Key) -> NDArray[np.uint64]:  # noqa: ANN401 # pyarrow ships no types
    """Return the hash of each cell of a column; those of missing cells are of no meaning."""
    from halfmask.kernels.hashing.siphash import hash_texts, hash_views, hash_words  # noqa: PLC0415 # the same

    found = np.empty(len(array), np.uint64)
    if kind_of(array.type, "") in {"text", "bytes", "empty"}:
        views = views_of(array)
        if views is not None:
            hash_views(read_only(views), *key, found)
            return found
        texts = texts_of(array)
        if len(texts) == len(array):
            hash_texts(texts.offsets, texts.data, *key, found)
    else:
        hash_words(read_only(words_of(array)).reshape(-1, 1), *key, found)
    return found


def table_of(key: Key, size: int, missing: np.uint64) -> NDArray[np.uint64]:
    """Return the hashes of the numbers below ``size``, and behind them that of a missing cell."""
    from halfmask.kernels.hashing.siphash import hash_words  # noqa: PLC0415 # the same

    table = np.empty(size + 1, np.uint64)
    hash_words(read_only(np.arange(size, dtype=np.uint64)).reshape(-1, 1), *key, table[:-1])
    table[-1] = missing
    return table


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that can't be written to, as Arrow's own: loops are compiled for one kind."""
    array = array.view()
    array.flags.writeable = False
    return array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CategorySlot:
    """A cell is hashed unchanged: a text's bytes, or 64 bits of something else."""

    column: str
    key: Key = field(repr=False)
    missing: np.uint64

    def coded(self, columns: Mapping[str, Any]) -> Coded:
        """Return the rows' hashes; of categories that come as a dictionary, one for each."""
        return self._of(columns[self.column])

    def _of(self, array: Any) -> Coded:  # noqa: ANN401 # pyarrow ships no types
        if pa.types.is_dictionary(array.type):
            n_values = len(array.dictionary)
            if n_values > len(array):  # a few rows of a large dictionary
                return self._of(array.dictionary_decode())
            table = np.append(self._of(array.dictionary).hashes, self.missing)
            codes = pc.fill_null(array.indices.cast(pa.int32()), n_values)
            return Coded(table, codes.to_numpy(zero_copy_only=False))
        check_exact(array, self.column)
        found = hashes_of(array, self.key)
        gone = absent(array)
        if gone is not None:
            found[gone] = self.missing
        return Coded(found, None)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BinSlot:
    """A number's bin is how many of the fitted edges are at most it; the bin's number is hashed."""

    column: str
    edges: NDArray[np.float64]
    table: NDArray[np.uint64]

    def coded(self, columns: Mapping[str, Any]) -> Coded:
        """Return the rows' bins, and the hash of each."""
        from halfmask.kernels.hashing.siphash import bin_codes  # noqa: PLC0415 # the same

        numbers = numbers_of(columns[self.column])
        codes = np.empty(len(numbers), np.int32)
        bin_codes(numbers, self.edges, codes)
        return Coded(self.table, read_only(codes))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogSlot:
    """A number's bin is its sign, its power of two and the first bits behind; that is hashed."""

    column: str
    bits: int
    table: NDArray[np.uint64]

    def coded(self, columns: Mapping[str, Any]) -> Coded:
        """Return the rows' bins, and the hash of each."""
        return Coded(self.table, read_only(log_codes(numbers_of(columns[self.column]), self.bits)))


def log_codes(numbers: NDArray[np.float64], bits: int) -> NDArray[np.int32]:
    """Return the upper bits of floats: 12 of sign and exponent, and ``bits`` behind them.

    No logarithm is taken: those of two machines may differ in their last digit. NaN is behind all.
    """
    codes = (numbers.view(np.uint64) >> np.uint64(_MANTISSA - bits)).astype(np.int32)
    codes[np.isnan(numbers)] = 1 << (_EXPONENT_AND_SIGN + bits)
    return codes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RawSlot:
    """A number stays what it is: the value of an index that is the column's own."""

    column: str
    table: NDArray[np.uint64]

    def coded(self, columns: Mapping[str, Any]) -> Coded:
        """Return the index and value of each row."""
        numbers = numbers_of(columns[self.column])
        gone = np.isnan(numbers)
        numbers[gone] = 1.0
        if numbers.size and np.abs(numbers).max() > np.finfo(np.float32).max:
            raise DataError(
                f"Column {self.column!r} has numbers that are infinite, or beyond 32-bit floats.",
                hint="Bin the numbers, or scale them.",
            )
        measured = kind_of(columns[self.column].type, self.column) == "float"
        sent = floats_to_send(numbers, self.column, measured=measured)
        return Coded(self.table, read_only(gone.astype(np.int32)), sent)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CrossedSlot:
    """Several cells of a row as one category: their hashes, one behind the other, are hashed."""

    parts: tuple[Slot, ...]
    key: Key = field(repr=False)

    def coded(self, columns: Mapping[str, Any]) -> Coded:
        """Return the rows' hashes."""
        from halfmask.kernels.hashing.siphash import hash_words  # noqa: PLC0415 # the same

        words = np.stack([part.coded(columns).each() for part in self.parts], axis=1)
        found = np.empty(len(words), np.uint64)
        hash_words(read_only(words), *self.key, found)
        return Coded(found, None)


#: Those that take one column, and of which nothing but an index comes.
PlainSlot: TypeAlias = CategorySlot | BinSlot | LogSlot
Slot: TypeAlias = PlainSlot | RawSlot | CrossedSlot


class BagCounts(NamedTuple):
    """How many hashes each row has, and all of them, row by row."""

    counts: NDArray[np.int64]
    hashes: NDArray[np.uint64]


def _letters() -> NDArray[np.uint8]:
    """Return what a byte becomes in a word, or 0: ASCII is lowered, what is beyond it stays."""
    table = np.zeros(256, np.uint8)
    table[0x80:] = np.arange(0x80, 0x100)
    for byte in b"0123456789_abcdefghijklmnopqrstuvwxyz":
        table[byte] = byte
    for byte in b"ABCDEFGHIJKLMNOPQRSTUVWXYZ":
        table[byte] = byte + 32
    return table


LETTERS = _letters()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TextBag:
    """Runs of words, or of characters, of a text; see `halfmask.kernels.hashing.grams`."""

    column: str
    key: Key = field(repr=False)
    missing: np.uint64 | None
    by_word: bool
    lengths: tuple[int, int]

    def counted(self, columns: Mapping[str, Any]) -> BagCounts:
        """Return the hashes of each row's runs; a missing text has one of its own, or none."""
        from halfmask.kernels.hashing import grams  # noqa: PLC0415 # numba takes a second

        array = columns[self.column]
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        gone = absent(array)
        if gone is not None:
            array = pc.fill_null(array.cast(pa.large_string()), "")
        texts = texts_of(array)
        n_rows = len(array)
        counts = np.zeros(n_rows, np.int64)
        size = int(texts.offsets[-1]) - int(texts.offsets[0])
        clean = np.empty(size + 2 * n_rows, np.uint8)
        bounds = np.empty(n_rows + 1, np.int64)
        grams.clean_texts(texts.offsets, texts.data, LETTERS, bounds, clean)
        clean = clean[: bounds[-1]]
        grams.count_grams(bounds, clean, self.by_word, *self.lengths, counts)
        hashes = np.empty(counts.sum(), np.uint64)
        room = np.empty(int(np.diff(bounds).max(initial=0)) + 1, np.int64)
        grams.hash_grams(bounds, clean, self.by_word, *self.lengths, *self.key, room, hashes)
        if gone is not None and self.missing is not None:
            places = np.cumsum(counts) - counts
            hashes = np.insert(hashes, places[gone], self.missing)
            counts[gone] = 1
        return BagCounts(counts, hashes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SetBag:
    """The members of a set, each once, in the order of their hashes."""

    column: str
    member: CategorySlot

    def counted(self, columns: Mapping[str, Any]) -> BagCounts:
        """Return the hashes of each row's members; a missing set has one, of its own."""
        array = columns[self.column]
        n_rows = len(array)
        if pa.types.is_null(array.type):
            return BagCounts(np.ones(n_rows, np.int64), np.full(n_rows, self.member.missing))
        gone = absent(array)
        lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
        rows = np.repeat(np.arange(n_rows), lengths.astype(np.int64))
        hashes = self.member.coded({self.member.column: pc.list_flatten(array)}).each()
        if gone is not None:
            rows = np.concatenate([rows, np.flatnonzero(gone)])
            hashes = np.append(hashes, np.full(int(gone.sum()), self.member.missing))
        order = np.lexsort((hashes, rows))
        rows, hashes = rows[order], hashes[order]
        new = np.ones(len(rows), np.bool_)
        new[1:] = (rows[1:] != rows[:-1]) | (hashes[1:] != hashes[:-1])
        counts = np.bincount(rows[new], minlength=n_rows).astype(np.int64)
        return BagCounts(counts, hashes[new])


Bag: TypeAlias = TextBag | SetBag
