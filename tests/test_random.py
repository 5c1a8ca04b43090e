"""Keyed randomness: the same for the same key, told apart by nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask._errors import ParameterError
from halfmask._random import KEY_BYTES, fresh_key, keyed_integers, keyed_order

KEY = bytes(range(32))


def test_fresh_keys_differ():
    keys = {fresh_key() for _ in range(8)}

    assert len(keys) == 8
    assert {len(key) for key in keys} == {KEY_BYTES}


def test_the_keystream_is_that_of_the_standard():
    """RFC 8439, appendix A.1, test vectors 1 and 2 (key and nonce zero): the first 16 bytes each.

    The integers go on from one 64-byte block to the next, so block 1 starts at integer 8.
    """
    integers = keyed_integers(10, key=bytes(32))

    assert integers[:2].tobytes().hex() == "76b8e0ada0f13d90405d6ae55386bd28"
    assert integers[8:10].tobytes().hex() == "9f07e7be5551387a98ba977c732d080d"


def test_a_key_and_a_stream_fix_the_integers():
    first = keyed_integers(100, key=KEY, stream=3)

    assert np.array_equal(first, keyed_integers(100, key=KEY, stream=3))
    assert np.array_equal(first[:40], keyed_integers(40, key=KEY, stream=3))
    assert not np.array_equal(first, keyed_integers(100, key=KEY, stream=4))
    assert not np.array_equal(first, keyed_integers(100, key=bytes(32), stream=3))


def test_an_order_is_a_permutation():
    order = keyed_order(1000, key=KEY)

    assert sorted(order.tolist()) == list(range(1000))
    assert order.tolist() != list(range(1000))
    assert np.array_equal(order, keyed_order(1000, key=KEY))
    assert not np.array_equal(order, keyed_order(1000, key=KEY, stream=1))


def test_every_place_is_as_likely():
    """Of 6,000 orders of three rows each of the six is drawn 1,000 times, give or take 5 sigma."""
    integers = keyed_integers(18_000, key=KEY).reshape(6000, 3)
    _, counts = np.unique(np.argsort(integers, axis=1), axis=0, return_counts=True)

    assert len(counts) == 6
    assert abs(counts - 1000).max() < 5 * np.sqrt(1000 * 5 / 6)


@pytest.mark.parametrize("n", [0, 31, 33])
def test_a_key_of_another_length_is_refused_and_not_repeated(n):
    with pytest.raises(ParameterError, match=f"must have 32 bytes. Got {n}"):
        keyed_order(3, key=bytes(n))


def test_no_rows_have_an_order():
    assert keyed_order(0, key=KEY).tolist() == []
