"""Ranks: codes of fitted values, and of what lies between, beside and beyond them."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given

from halfmask import DataError
from halfmask.encode._codes import Ranks
from halfmask.encode._ticks import to_ticks


def _ranks(values, *, null_at=-1):
    ticks, _ = to_ticks(pl.Series("x", values))
    return Ranks(
        name="x",
        token="t",  # noqa: S106 # a column's name
        dtype=pl.Series(values).dtype,
        values=np.unique(ticks),  # type: ignore[arg-type] # of the same type
        null_at=null_at,
        out_of_range="extrapolate",
    )


def _code(x, values, null_at):
    """Return the code by the definition, one value at a time."""

    def place(rank):
        return 4 * (rank + (null_at >= 0 and rank >= null_at)) - zero

    n_below = sum(value < 0 for value in values)
    zero = 0 if null_at >= 0 else 4 * n_below - (0 if 0 in values else 2)

    if x in values:
        return place(values.index(x))
    nearest = min(range(len(values)), key=lambda rank: (abs(values[rank] - x), rank))
    return place(nearest) + (1 if x > values[nearest] else -1)


@pytest.mark.slow
@given(
    values=st.lists(st.integers(-50, 50), min_size=1, max_size=8, unique=True),
    cells=st.lists(st.integers(-60, 60), max_size=10),
    null_at=st.integers(-1, 8),
)
def test_codes_are_those_of_the_definition(values, cells, null_at):
    values, null_at = sorted(values), min(null_at, len(values))
    for dtype in (pl.Int64, pl.Float64):
        ranks = _ranks(pl.Series(values, dtype=dtype), null_at=null_at)

        codes = ranks.encode(pl.Series("x", cells, dtype=dtype)).to_list()

        assert codes == [_code(x, values, null_at) for x in cells]


# Thousandths: between two neighbouring floats there is no middle.
@pytest.mark.slow
@given(
    values=st.lists(
        st.integers(-(10**6), 10**6).map(lambda it: it / 1000), min_size=2, max_size=30, unique=True
    )
)
def test_codes_keep_the_order_and_the_side_of_every_middle(values):
    ordered = np.unique(values)
    ranks = _ranks(ordered.tolist())
    middles = (ordered[:-1] + ordered[1:]) * 0.5

    codes = ranks.encode(pl.Series("x", np.sort(np.concatenate([ordered, middles])))).to_numpy()
    below = ranks.encode(pl.Series("x", middles)).to_numpy()

    assert (np.diff(codes) >= 0).all()
    fitted = ranks.encode(pl.Series("x", ordered)).to_numpy()
    assert (np.diff(fitted) == 4).all()
    assert (below <= fitted[:-1] + 2).all()
    assert np.array_equal(np.sign(fitted), np.sign(ordered))


def test_a_code_beside_the_place_of_missing_cells_is_no_missing_cell():
    ranks = _ranks([10, 20, 30], null_at=1)

    assert ranks.decode(pl.Series([4])).to_list() == [None]
    for code in (3, 5, 7, 8 - 1):
        with pytest.raises(DataError, match="1 codes"):
            ranks.decode(pl.Series([code]))
