"""Words and runs of characters, held against regular expressions over the text."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import siphash24  # type: ignore[import-not-found] # it ships no types
from hypothesis import given
from hypothesis import strategies as st

from halfmask.kernels.hashing import grams as kernel

grams: Any = kernel  # mypy miscounts the arguments behind a star
KEY = bytes(range(16))
TEXTS = st.lists(st.text(alphabet="aB9_ ,.\n-üß漢😀\0", max_size=20), max_size=6)


def letters():
    table = np.zeros(256, np.uint8)
    for byte in range(256):
        if byte >= 0x80 or chr(byte).isalnum() or byte == ord("_"):
            table[byte] = ord(chr(byte).lower()) if byte < 0x80 else byte
    return table


def cleaned(text):
    """Say the definition again, by a regular expression."""
    words = re.findall(r"[A-Za-z0-9_\u0080-\U0010ffff]+", text)
    lowered = [re.sub("[A-Z]", lambda it: it[0].lower(), word) for word in words]
    return lowered, "".join(f" {word}" for word in lowered) + (" " if words else "")


def runs(text, by_word, low, high):
    words, clean = cleaned(text)
    units = words if by_word else list(clean)
    mark = " " if by_word else ""
    return [
        mark.join(units[first : first + size])
        for size in range(low, high + 1)
        for first in range(len(units) - size + 1)
    ]


@given(texts=TEXTS, by_word=st.booleans(), low=st.integers(1, 4), more=st.integers(0, 2))
def test_runs_are_those_of_the_definition(texts, by_word, low, more):
    encoded = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, encoded)])
    data = np.frombuffer(b"".join(encoded), np.uint8)
    clean = np.zeros(len(data) + 2 * len(texts), np.uint8)
    bounds = np.zeros(len(texts) + 1, np.int64)
    counts = np.zeros(len(texts), np.int64)

    grams.clean_texts(offsets, data, letters(), bounds, clean)
    grams.count_grams(bounds, clean, by_word, low, low + more, counts)
    hashes = np.zeros(counts.sum(), np.uint64)
    room = np.zeros(len(clean) + 1, np.int64)
    grams.hash_grams(
        bounds, clean, by_word, low, low + more, *np.frombuffer(KEY, "<u8"), room, hashes
    )

    found = [clean[a:b].tobytes().decode() for a, b in pairwise(bounds)]
    assert found == [cleaned(text)[1] for text in texts]
    expected = [runs(text, by_word, low, low + more) for text in texts]
    assert counts.tolist() == [len(each) for each in expected]
    assert hashes.tolist() == [
        int.from_bytes(siphash24.siphash24(run.encode(), key=KEY).digest(), "little")
        for each in expected
        for run in each
    ]
