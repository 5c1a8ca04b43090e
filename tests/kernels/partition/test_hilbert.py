"""The Hilbert curve: through every cell once, one step at a time, in as many words as it takes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from halfmask.kernels.partition.hilbert import curve_keys, find_runs


def keys_of(points, bits, *, greatest=None):
    points = np.asarray(points, dtype=np.int32)
    d = points.shape[1]
    greatest = np.full(d, (1 << bits) - 1) if greatest is None else np.asarray(greatest)
    keys = np.empty((len(points), -(-d * bits // 64)), dtype=np.uint64)
    curve_keys(points, greatest.astype(np.int64), bits, keys)
    return keys


def numbers(keys, total_bits):
    """Return keys as Python's own integers: all words full but the last."""
    lasting = total_bits - 64 * (keys.shape[1] - 1)
    found = []
    for words in keys.tolist():
        number = 0
        for word in words[:-1]:
            number = (number << 64) | word
        found.append((number << lasting) | words[-1])
    return found


@pytest.mark.parametrize(
    ("d", "bits"), [(1, 1), (1, 6), (2, 1), (2, 5), (3, 1), (3, 3), (4, 2), (5, 2), (9, 1)]
)
def test_the_curve_visits_every_place_once_and_goes_one_step_at_a_time(d, bits):
    places = np.array(list(itertools.product(range(1 << bits), repeat=d)))

    keys = keys_of(places, bits)[:, 0]
    path = places[np.argsort(keys)]

    assert sorted(keys.tolist()) == list(range(len(places)))
    assert (np.abs(np.diff(path, axis=0)).sum(axis=1) == 1).all()


def plain_curve(bits):
    """Return the path of the curve in the plane: four smaller ones, the outer two turned."""
    if bits == 0:
        return [(0, 0)]
    half, inner = 1 << (bits - 1), plain_curve(bits - 1)
    return [
        *((y, x) for x, y in inner),
        *((x, y + half) for x, y in inner),
        *((x + half, y + half) for x, y in inner),
        *((2 * half - 1 - y, half - 1 - x) for x, y in inner),
    ]


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 5])
def test_in_the_plane_it_is_hilberts_own(bits):
    """But for a mirror or a turn of the whole."""
    places = np.array(list(itertools.product(range(1 << bits), repeat=2)))
    path = [tuple(row) for row in places[np.argsort(keys_of(places, bits)[:, 0])].tolist()]
    top = (1 << bits) - 1

    own = plain_curve(bits)
    turned = [
        [(p[swap] ^ (top * a), p[1 - swap] ^ (top * b)) for p in own]
        for swap, a, b in itertools.product((0, 1), repeat=3)
    ]

    assert path in turned


@pytest.mark.parametrize(("d", "bits"), [(9, 8), (13, 10), (20, 16), (3, 31)])
def test_keys_of_many_words_begin_with_those_of_coarser_places(d, bits):
    """A cube's rows are one run of the curve, and runs come in the order of the cubes."""
    points = np.random.default_rng(d).integers(0, 1 << bits, (500, d))
    coarse = 64 // d

    fine = numbers(keys_of(points, bits), d * bits)
    cubes = numbers(keys_of(points >> (bits - coarse), coarse), d * coarse)

    assert [number >> (d * (bits - coarse)) for number in fine] == cubes


def test_a_column_of_two_codes_has_a_say_beside_one_of_many():
    """Spread over the whole side: the curve passes one half of the table before the other."""
    points = np.array([[a, b] for a in (0, 1) for b in range(64)])

    keys = keys_of(points, 6, greatest=[1, 63])[:, 0]
    halves = points[np.argsort(keys), 0]

    assert np.count_nonzero(np.diff(halves)) < 10


@pytest.mark.parametrize(("d", "bits"), [(2, 5), (9, 8)])
def test_a_row_finds_the_first_run_whose_end_is_not_before_it(d, bits):
    rng = np.random.default_rng(1)
    points = rng.integers(0, 1 << bits, (400, d)).astype(np.int32)
    keys = keys_of(points, bits)
    order = np.lexsort(keys.T[::-1])
    ends = keys[order[39::40]][:-1]
    runs = np.empty(len(points), dtype=np.int64)

    find_runs(points, np.full(d, (1 << bits) - 1), bits, ends, runs)

    known = numbers(ends, d * bits)
    before = [sum(end < number for end in known) for number in numbers(keys, d * bits)]
    wanted = [min(run, len(known) - 1) for run in before]
    assert runs.tolist() == wanted


def test_a_row_without_a_place_has_no_run():
    points = np.array([[0, 3], [-1, 2], [2, -1]], dtype=np.int32)
    runs = np.empty(3, dtype=np.int64)

    find_runs(points, np.array([3, 3]), 2, np.array([[15]], dtype=np.uint64), runs)

    assert runs.tolist() == [0, -1, -1]
