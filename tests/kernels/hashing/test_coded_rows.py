"""Runs of codes and headers of pages, against an encoder that shares no code with them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.kernels.hashing.coded_rows import (
    BLOCK,
    READABLE,
    find_runs,
    place_coded,
    spread_levels,
)
from halfmask.kernels.hashing.parquet_pages import FIELDS, find_pages, text_bounds


def varint(number):
    found = bytearray()
    while number >= 128:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def encoded(parts, width):
    """Runs as the format has them: ``(code, times)``, or a list of codes by eights."""
    found = b""
    for part in parts:
        if isinstance(part, tuple):
            found += varint(part[1] << 1) + part[0].to_bytes((width + 7) // 8, "little")
        else:
            groups = -(-len(part) // 8)
            bits = sum(code << (width * k) for k, code in enumerate(part))
            found += varint(groups << 1 | 1) + bits.to_bytes(groups * width, "little")
    return found


def plain(parts):
    return [c for p in parts for c in ([p[0]] * p[1] if isinstance(p, tuple) else p)]


def runs(width, most):
    code = st.integers(0, 2**width - 1)
    same = st.tuples(code, st.integers(1, most))
    each = st.integers(1, most // 8).flatmap(
        lambda n: st.lists(code, min_size=8 * n, max_size=8 * n)
    )
    return st.lists(st.one_of(same, each), min_size=1, max_size=12)


def padded(data):
    return np.frombuffer(data + bytes(READABLE), np.uint8)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(data=st.data(), width=st.integers(0, 14), first=st.integers(0, 40), lacking=st.booleans())
def test_rows_of_runs(data, width, first, lacking):
    parts = data.draw(runs(width, 40 if width else 2 * BLOCK))
    codes, packed = plain(parts), encoded(parts, width)
    firsts, places = np.empty((2, len(packed)), np.int64)
    widths = np.empty(len(packed), np.uint8)
    n = find_runs(
        padded(packed), 0, len(packed), width, len(codes), 0, 0, firsts, places, widths,
        np.empty(4, np.int64),
    )  # fmt: skip
    assert 0 < n <= len(parts)
    rng = np.random.default_rng(len(codes))
    there = (rng.random(2 * len(codes)) < 0.5) if lacking else np.ones(len(codes), bool)
    at = np.flatnonzero(there)[: len(codes)]
    there = there[: at[-1] + 1] if len(at) else there[:0]
    table = rng.integers(0, 2**32, 2**width + 1, dtype=np.uint32)
    expected = np.full(len(there), table[-1])
    expected[there] = table[codes[: there.sum()]]
    first = min(first, len(there))
    before = int(there[:first].sum())
    indices = np.zeros((len(there) - first, 3), np.uint32)
    done = place_coded(
        padded(packed), firsts[:n].copy(), places[:n].copy(), widths[:n].copy(), np.array([0, n]),
        there[None].astype(np.uint8), np.array([before if lacking else -1 - before]), table,
        np.array([0, len(table)]), np.array([1]), first, np.empty((2, 1), np.int64),
        np.empty(BLOCK + 1, np.uint32), indices,
    )  # fmt: skip
    assert done
    assert (indices[:, 1] == expected[first:]).all()
    assert not indices[:, [0, 2]].any()


def test_a_code_of_no_entry_is_refused():
    for parts in ([(3, 20)], [[0, 1, 2, 3, 0, 0, 0, 0]]):
        packed = encoded(parts, 2)
        firsts, places = np.empty((2, len(packed)), np.int64)
        widths = np.empty(len(packed), np.uint8)
        count = len(plain(parts))
        n = find_runs(
            padded(packed), 0, len(packed), 2, count, 0, 0, firsts, places, widths,
            np.empty(4, np.int64),
        )  # fmt: skip
        for entries, fine in ((4, True), (3, False), (0, False)):
            table = np.arange(entries + 1, dtype=np.uint32)
            assert fine is place_coded(
                padded(packed), firsts[:n].copy(), places[:n].copy(), widths[:n].copy(),
                np.array([0, n]), np.empty((1, 0), np.uint8), np.array([-1]), table,
                np.array([0, len(table)]), np.array([0]), 0, np.empty((2, 1), np.int64),
                np.empty(BLOCK + 1, np.uint32), np.empty((count, 1), np.uint32),
            )  # fmt: skip


@pytest.mark.slow
@settings(deadline=None)
@given(data=st.data(), before=st.integers(0, 9))
def test_levels(data, before):
    parts = data.draw(runs(1, 40))
    expected, packed = plain(parts), encoded(parts, 1)
    there = np.full(before + len(expected), 7, np.uint8)
    count = spread_levels(
        padded(packed), 0, len(packed), before, len(expected), there, np.empty(4, np.int64)
    )
    assert count == sum(expected)
    if count < len(expected):
        assert there[before:].tolist() == expected
    assert (there[:before] == 7).all()


@settings(deadline=None, max_examples=200)
@given(data=st.binary(max_size=60), width=st.integers(0, 40), count=st.integers(1, 2**40))
def test_no_bytes_are_read_beyond_the_end(data, width, count):
    """Whatever the bytes say, each run that is found lies within them."""
    firsts, places = np.empty((2, len(data)), np.int64)
    widths = np.empty(len(data), np.uint8)
    n = find_runs(
        padded(data),
        0,
        len(data),
        width,
        count,
        0,
        0,
        firsts,
        places,
        widths,
        np.empty(4, np.int64),
    )
    ends = [*firsts[1:n].tolist(), count]
    for k in range(max(n, 0)):
        assert places[k] < 0 or places[k] + (ends[k] - firsts[k]) * width <= 8 * len(data)
    pages = np.empty((20, FIELDS), np.int64)
    found = find_pages(np.frombuffer(data, np.uint8), len(data), np.empty(1, np.int64), pages)
    for page in pages[: max(found, 0)]:
        assert 0 <= page[-1] <= page[-1] + page[2] <= len(data)


@settings(deadline=None)
@given(texts=st.lists(st.binary(max_size=9), max_size=9), more=st.binary(max_size=5))
def test_texts_of_a_dictionary(texts, more):
    data = b"".join(len(text).to_bytes(4, "little") + text for text in texts)
    bounds, out = np.empty(len(texts) + 1, np.int32), np.empty(len(data) + 5, np.uint8)
    array = np.frombuffer(data + more, np.uint8)
    assert text_bounds(array, len(array), len(texts), bounds, out) is (not more)
    assert out[: bounds[-1]].tobytes() == b"".join(texts)
    assert np.diff(bounds).tolist() == list(map(len, texts))
    if texts:
        assert not text_bounds(
            array[: len(data) - 1].copy(), len(data) - 1, len(texts), bounds, out
        )
