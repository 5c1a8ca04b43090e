"""The least and greatest code of every lane: against numpy, for every type, width and count."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from halfmask.kernels.partition.lanes import lane_extremes

DTYPES = (np.uint8, np.uint16, np.uint32)


@njit
def _extremes(records, start, stop, low, high):
    lane_extremes(records, start, stop, low, high)


def _records(dtype, *, rows, vectors, seed=0):
    rng = np.random.default_rng(seed)
    lanes = vectors * 16 // np.dtype(dtype).itemsize
    return rng.integers(0, np.iinfo(dtype).max, (rows, lanes), dtype=dtype, endpoint=True)


def _both(records, start, stop):
    low, high = np.empty((2, records.shape[1]), dtype=records.dtype)
    _extremes(records, start, stop, low, high)
    return low, high


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("vectors", [1, 2, 3, 40])
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 64, 65, 1001])
def test_extremes_are_those_of_numpy(dtype, vectors, rows):
    records = _records(dtype, rows=rows, vectors=vectors, seed=rows)

    low, high = _both(records, 0, rows)

    np.testing.assert_array_equal(low, records.min(axis=0))
    np.testing.assert_array_equal(high, records.max(axis=0))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("start", "stop"), [(0, 1), (3, 4), (3, 8), (2, 9), (8, 9), (0, 9)])
def test_rows_outside_of_the_run_are_not_looked_at(dtype, start, stop):
    records = _records(dtype, rows=9, vectors=2, seed=7)
    records[:start] = 0
    records[stop:] = np.iinfo(dtype).max

    low, high = _both(records, start, stop)

    np.testing.assert_array_equal(low, records[start:stop].min(axis=0))
    np.testing.assert_array_equal(high, records[start:stop].max(axis=0))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("place", range(7))
def test_an_extreme_counts_wherever_it_stands(dtype, place):
    """Accumulators take rows in turns; none may lose one."""
    middle = np.iinfo(dtype).max // 2
    records = np.full((7, 16 // np.dtype(dtype).itemsize), middle, dtype=dtype)
    records[place, 0] = 0
    records[place, -1] = np.iinfo(dtype).max

    low, high = _both(records, 0, 7)

    assert low[0] == 0
    assert low[-1] == middle
    assert high[0] == middle
    assert high[-1] == np.iinfo(dtype).max


def test_codes_above_the_signed_range_are_unsigned():
    records = np.zeros((3, 16), dtype=np.uint8)
    records[:, 0] = [127, 128, 255]

    low, high = _both(records, 0, 3)

    assert (low[0], high[0]) == (127, 255)
