"""SipHash, held against the package siphash24 and the paper."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import siphash24  # type: ignore[import-not-found] # it ships no types
from hypothesis import given
from hypothesis import strategies as st

from halfmask.kernels.hashing import siphash as kernel

siphash: Any = kernel  # mypy miscounts the arguments behind a star
KEYS = st.binary(min_size=16, max_size=16)


def halves(key):
    return np.frombuffer(key, "<u8")


def oracle(message, key):
    return int.from_bytes(siphash24.siphash24(message, key=key).digest(), "little")


def hashed(texts, key, width=np.int32, before=b""):
    """Hash texts that lie behind one another, and behind other bytes."""
    bounds = np.cumsum([len(before), *map(len, texts)]).astype(width)
    data = np.frombuffer(before + b"".join(texts), np.uint8)
    found = np.zeros(len(texts), np.uint64)
    siphash.hash_texts(bounds, data, *halves(key), found)
    return found.tolist()


def test_the_paper_s_vector():
    """Appendix A of the paper: key 00 01 .. 0f, message 00 01 .. 0e."""
    message, key = bytes(range(15)), bytes(range(16))

    assert hashed([message], key) == [0xA129CA6149BE45E5]


def test_every_length():
    """Texts of 0 to 300 bytes: the length's own byte wraps around at 256."""
    rng = np.random.default_rng(0)
    texts = [rng.bytes(size) for size in range(301)]
    key = rng.bytes(16)

    assert hashed(texts, key) == [oracle(text, key) for text in texts]


@pytest.mark.parametrize("sizes", [(0, 17), (8, 9), (7, 8), (0, 40)])
def test_more_texts_than_are_hashed_together(sizes):
    """Hundreds side by side, of lengths that are sorted apart; the last ones end the buffer."""
    rng = np.random.default_rng(1)
    texts = [rng.bytes(int(size)) for size in rng.integers(sizes[0], sizes[1], 700)]
    key = rng.bytes(16)

    assert hashed(texts, key) == [oracle(text, key) for text in texts]


@given(texts=st.lists(st.binary(max_size=12), max_size=20), key=KEYS, junk=st.binary(min_size=12))
def test_texts_in_views(texts, key, junk):
    """As Arrow keeps short texts; what stands behind one makes no difference."""
    views = [len(text).to_bytes(4, "little") + (text + junk)[:12] for text in texts]
    words = np.frombuffer(b"".join(views), "<u8").reshape(-1, 2)
    found = np.zeros(len(texts), np.uint64)
    siphash.hash_views(words, *halves(key), found)

    assert found.tolist() == [oracle(text, key) for text in texts]


@pytest.mark.slow
@given(texts=st.lists(st.binary(max_size=40), max_size=20), key=KEYS, before=st.binary(max_size=9))
def test_texts_anywhere_in_a_buffer(texts, key, before):
    expected = [oracle(text, key) for text in texts]

    assert hashed(texts, key, np.int32, before) == expected
    assert hashed(texts, key, np.int64, before) == expected


@given(
    words=st.lists(st.tuples(*3 * [st.integers(0, 2**64 - 1)]), max_size=5),
    key=KEYS,
    width=st.integers(1, 3),
)
def test_words_are_hashed_as_their_bytes(words, key, width):
    some = np.array(words, np.uint64).reshape(len(words), 3)[:, :width]
    found = np.zeros(len(words), np.uint64)

    siphash.hash_words(some, *halves(key), found)

    messages = [b"".join(int(it).to_bytes(8, "little") for it in row) for row in some]
    assert found.tolist() == [oracle(message, key) for message in messages]


def test_many_texts():
    """More than a block of them, in all lengths mixed."""
    rng = np.random.default_rng(1)
    texts = [rng.bytes(int(size)) for size in rng.integers(0, 30, 40_000)]
    key = rng.bytes(16)

    found = hashed(texts, key)

    some = rng.integers(0, len(texts), 500)
    assert [found[i] for i in some] == [oracle(texts[i], key) for i in some]
    assert len(set(found)) == len(set(texts))


@pytest.mark.slow
@given(
    numbers=st.lists(st.floats() | st.integers(-4, 4).map(float)),
    edges=st.lists(st.integers(-4, 4), unique=True),
    many=st.booleans(),
)
def test_bins(numbers, edges, many):
    """A number's bin is how many edges are at most it; NaN is behind all bins."""
    cuts = np.array(sorted(edges), np.float64)
    if many:  # beyond what is counted one by one
        cuts = np.concatenate([np.arange(-300.0, -100.0), cuts])
    codes = np.full(len(numbers), -1, np.int32)

    siphash.bin_codes(np.array(numbers, np.float64), cuts, codes)

    expected = [
        len(cuts) + 1 if np.isnan(x) else sum(cut <= x for cut in cuts.tolist()) for x in numbers
    ]
    assert codes.tolist() == expected


def test_indices_are_placed():
    table, codes = np.array([7, 8, 9], np.uint32), np.array([2, 0, 1], np.int32)
    indices = np.zeros((5, 2), np.uint32)

    siphash.place(table, codes, 1, 1, indices)

    assert indices.tolist() == [[0, 0], [0, 9], [0, 7], [0, 8], [0, 0]]


def test_lower_bits_are_placed():
    hashes, indices = np.array([0xFFF1, 0x22], np.uint64), np.zeros((3, 2), np.uint32)

    siphash.place_hashes(hashes, np.uint64(0xF), 1, 0, indices)

    assert indices.tolist() == [[0, 0], [1, 0], [2, 0]]
