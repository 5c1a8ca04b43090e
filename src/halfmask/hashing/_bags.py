"""Bags: cells that are several features, such as the words of a text or members of a set."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from halfmask.hashing._cells import absent, texts_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from halfmask.hashing._slots import CategorySlot, Key


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
