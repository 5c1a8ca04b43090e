"""Places by buckets are those of a search in all values."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from halfmask.encode._codes import Buckets
from halfmask.kernels.encoding.ranking import find_places

INTEGERS = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def _found(values, ticks):
    """Return the place of each number by the buckets of the values."""
    known = Buckets(values)
    places = np.empty(len(ticks), dtype=np.int64)
    ticks.flags.writeable = False
    present = np.ones(len(ticks), dtype=np.bool_)
    present.flags.writeable = False
    find_places(ticks, present, known.values, known.starts, known.scale, places)
    return places


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("cells", "dtype"),
    [(INTEGERS, np.int64), (st.integers(-9, 9), np.int64), (FLOATS, np.float64)],
)
def test_each_number_is_found_where_it_is_and_nowhere_else(cells, dtype):
    @given(values=st.lists(cells, min_size=1, max_size=40), others=st.lists(cells, max_size=20))
    def found_as_defined(values, others):
        known = np.unique(np.array(values, dtype=dtype))
        ticks = np.array([*values, *others], dtype=dtype)

        places = _found(known, ticks.copy())

        at = {value: place for place, value in enumerate(known.tolist())}
        assert places.tolist() == [at.get(tick, -1) for tick in ticks.tolist()]

    found_as_defined()


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("power", [1, 9])
def test_many_values_are_found_as_few_are(dtype, power):
    """The ninth powers crowd nearly all values into one bucket."""
    rng = np.random.default_rng(0)
    values = np.unique((rng.integers(0, 10**6, 40_000) / 1e4) ** power).astype(dtype)
    values = np.unique(values)
    ticks = np.concatenate([rng.choice(values, 20_000), rng.choice(values, 20_000) + 1])
    at = np.minimum(np.searchsorted(values, ticks), len(values) - 1)

    assert np.array_equal(_found(values, ticks), np.where(values[at] == ticks, at, -1))
