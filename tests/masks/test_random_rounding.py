"""Random rounding writes a multiple next to the number, and the number is the expectation."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import floor

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from halfmask._errors import DataError, ParameterError
from halfmask.masks import RandomRounding
from masks.masking import masked  # type: ignore[import-not-found] # beside, not in a package


@pytest.mark.slow
@given(
    cells=st.lists(st.none() | st.integers(-(2**61), 2**61), min_size=1, max_size=30),
    base=st.integers(1, 10_000),
)
def test_whole_numbers_become_a_multiple_next_to_them(cells, base):
    """By exact integers; a multiple stays; missing stays missing."""
    found = masked(RandomRounding(base=base), pl.Series("n", cells, dtype=pl.Int64))

    assert found.dtype == pl.Int64
    for cell, got in zip(cells, found, strict=True):
        below = None if cell is None else cell // base * base
        assert got in ({below} if cell == below else {below, below + base})


@pytest.mark.slow
@given(
    cells=st.lists(st.none() | st.integers(-(10**20), 10**20), min_size=1, max_size=20),
    base=st.sampled_from([0.05, 0.5, 7.0]),
)
def test_decimals_become_a_multiple_next_to_them(cells, base):
    """Money of 20 digits, by exact fractions."""
    amounts = [None if it is None else Decimal(it).scaleb(-2) for it in cells]

    found = masked(RandomRounding(base=base), pl.Series("pay", amounts, dtype=pl.Decimal(30, 2)))

    exact = Fraction(str(base))
    for amount, got in zip(amounts, found, strict=True):
        if amount is None:
            assert got is None
        else:
            assert Fraction(got) / exact - floor(Fraction(amount) / exact) in {0, 1}
            assert abs(Fraction(got) - Fraction(amount)) < exact


@pytest.mark.slow
@given(cells=st.lists(st.none() | st.integers(-(10**6), 10**6), min_size=1, max_size=20))
def test_floats_that_are_multiples_stay(cells):
    """0.3 is three tenths, though a float can't say so."""
    tenths = [None if it is None else it / 10 for it in cells]

    found = masked(RandomRounding(base=0.1), pl.Series("x", tenths, dtype=pl.Float64))

    assert found.to_list() == tenths


@pytest.mark.parametrize("dtype", [pl.Int64, pl.Float64, pl.Decimal(20, 0)])
@pytest.mark.parametrize("number", [3, 5, 9, -3])
def test_the_expectation_is_the_number(dtype, number):
    """The share rounded up by a binomial test; nearest rounding, and half the share, fail it."""
    n = 20_000
    column = pl.Series("n", [number] * n).cast(dtype)

    found = masked(RandomRounding(base=10), column).cast(pl.Int64)

    low = number // 10 * 10
    up = int((found == low + 10).sum())
    assert up + (found == low).sum() == n
    share = (number - low) / 10
    assert stats.binomtest(up, n, share).pvalue > 0.001
    assert stats.binomtest(up, n, share / 2).pvalue < 1e-6
    assert 0 < up < n


def test_rows_have_draws_of_their_own():
    """Of the same number, neighbours are uncorrelated; the same key gives the same."""
    column = pl.Series("n", [5] * 5000)
    mask = RandomRounding(base=10)

    found = masked(mask, column)
    later = masked(mask, column, first_row=1)
    other = mask.fit("n", pl.Int64(), None, bytes(32)).apply(column, 0)

    assert found.slice(1).equals(later.head(4999))
    numbers = found.to_numpy()
    assert abs(np.corrcoef(numbers[1:], numbers[:-1])[0, 1]) < 0.06
    assert abs(np.corrcoef(numbers, other.to_numpy())[0, 1]) < 0.06
    assert "key" not in repr(mask.fit("n", pl.Int64(), None, bytes(32)))


def test_what_can_not_be_exact_is_refused():
    """Without a cell."""
    for column, base in (
        (pl.Series("pay", [1e9]), 1e-9),
        (pl.Series("pay", [2**63 - 1]), 1000),
    ):
        with pytest.raises(DataError, match="'pay'") as refused:
            masked(RandomRounding(base=base), column)
        assert str(column[0]) not in str(refused.value)
    for base in (0, float("nan"), True, -1):
        with pytest.raises(ParameterError, match="'random-rounding'"):
            RandomRounding(base=base)
