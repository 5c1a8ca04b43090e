"""Masks of numbers: rounding, tails and noise write what they promise, or refuse."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask.masks import RandomNoise, Rounding, TailCoding, ValueCounts

KEY = bytes(range(32))
whole = st.lists(st.none() | st.integers(-(2**40), 2**40), min_size=1, max_size=30)


def masked(mask, column, counts=None, first_row=0):
    """Return the column as the mask writes it."""
    return mask.fit(column.name, column.dtype, counts, KEY).apply(column, first_row)


@given(cells=whole, base=st.integers(1, 10_000))
def test_rounding_is_the_nearest_multiple_and_even_in_the_middle(cells, base):
    """By exact fractions; missing stays missing, whole stays whole."""
    found = masked(Rounding(base=base), pl.Series("n", cells, dtype=pl.Int64))

    assert found.dtype == pl.Int64
    for cell, got in zip(cells, found, strict=True):
        assert got == (None if cell is None else round(Fraction(cell, base)) * base)


def test_multiples_have_the_digits_of_the_base():
    """3 * 0.1 is 0.3, and no sign is left of a small negative number."""
    found = masked(Rounding(base=0.1), pl.Series("x", [0.31, -0.04, None, 12.349]))

    assert found.to_list() == [0.3, 0.0, None, 12.3]
    assert str(found[1]) == "0.0"


@given(cells=whole, bounds=st.tuples(st.integers(-100, 100), st.integers(1, 100)))
def test_nothing_lies_beyond_a_bound_and_the_rest_stays(cells, bounds):
    """Top and bottom coding is the clip of the definition."""
    low, high = bounds[0], bounds[0] + bounds[1]

    found = masked(TailCoding(low=low, high=high), pl.Series("n", cells, dtype=pl.Int64))

    assert found.to_list() == [None if it is None else min(max(it, low), high) for it in cells]


@given(
    cells=st.lists(st.integers(-20, 20), min_size=1, max_size=40),
    shares=st.tuples(st.none() | st.floats(0.01, 0.5), st.none() | st.floats(0.01, 0.5)),
)
def test_no_more_than_the_share_is_in_a_tail(cells, shares):
    """And no bound further in would do: the next number has more than the share beyond it."""
    low, high = shares
    if low is None and high is None:
        return
    column = pl.Series("n", cells, dtype=pl.Int64)

    found = masked(
        TailCoding(low_share=low, high_share=high), column, ValueCounts.of(column)
    ).to_list()

    n, bottom, top = len(cells), min(found), max(found)
    if high is not None:
        assert sum(it > top for it in cells) <= high * n
        assert top == min(cells) or sum(it >= top for it in cells) > high * n
    else:
        assert top == max(cells)
    if low is not None:
        assert sum(it < bottom for it in cells) <= low * n
        assert bottom == max(cells) or sum(it <= bottom for it in cells) > low * n
    else:
        assert bottom == min(cells)


@pytest.mark.parametrize(
    ("law", "cdf"),
    [
        ("laplace", stats.laplace(scale=3.0).cdf),
        ("gaussian", stats.norm(scale=3.0).cdf),
        ("uniform", stats.uniform(-3.0, 6.0).cdf),
    ],
)
def test_noise_has_its_law(law, cdf):
    """Against the distribution of scipy; and the test sees a law that is another one's."""
    column = pl.Series("n", np.full(5000, 100.0))

    found = masked(RandomNoise(law=law, scale=3.0, decimals=9), column).to_numpy() - 100.0

    assert stats.kstest(found, cdf).pvalue > 0.001
    assert stats.kstest(found * 1.2, cdf).pvalue < 0.001


def test_noise_of_a_row_is_its_own():
    """Draws of neighbours are uncorrelated, and of other keys and rows others."""
    column = pl.Series("n", np.zeros(5000))
    mask = RandomNoise(law="gaussian", scale=1.0, decimals=9)

    found = masked(mask, column).to_numpy()
    later = masked(mask, column, first_row=1).to_numpy()
    other = mask.fit("n", pl.Float64(), None, bytes(32)).apply(column, 0).to_numpy()

    assert abs(np.corrcoef(found[1:], found[:-1])[0, 1]) < 0.06
    assert abs(np.corrcoef(found, other)[0, 1]) < 0.06
    np.testing.assert_array_equal(found[1:], later[:-1])


def test_noise_stays_within_its_bounds_and_decimals():
    """Multiplied numbers too: 0 stays 0."""
    column = pl.Series("n", [0, 10, 1000, None])
    mask = RandomNoise(law="laplace", scale=5.0, how="multiply", decimals=0, low=-5, high=50)

    found = masked(mask, column)

    assert found.dtype == pl.Int64
    assert found[0] == 0
    assert found[3] is None
    assert all(-5 <= it <= 50 for it in found.drop_nulls())
    assert mask.weaknesses == ("outlier-visible", "zero-kept", "heaped-at-bounds")


@pytest.mark.parametrize(
    "mask",
    [Rounding(base=5), TailCoding(high=3), RandomNoise(law="uniform", scale=1, decimals=0)],
    ids=["round", "tails", "noise"],
)
def test_what_can_not_be_masked_exactly_is_refused_without_a_value(mask):
    """Texts, infinite numbers, whole numbers beyond a float's digits."""
    with pytest.raises(SchemaError, match=r"'pay'.*for numbers"):
        mask.written("pay", pl.String())
    with pytest.raises(DataError, match="'pay' has infinite numbers"):
        masked(mask, pl.Series("pay", [1.0, float("-inf")]))
    with pytest.raises(DataError, match="'pay' has whole numbers beyond") as refused:
        masked(mask, pl.Series("pay", [9_007_199_254_740_993]))
    assert "9007199254740993" not in str(refused.value).replace("_", "")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Rounding(base=0),
        lambda: Rounding(base=float("nan")),
        TailCoding,
        lambda: TailCoding(low=3, high=3),
        lambda: TailCoding(low=3, low_share=0.1),
        lambda: TailCoding(high_share=0.6),
        lambda: RandomNoise(law="cauchy", scale=1, decimals=0),  # type: ignore[arg-type] # the fault
        lambda: RandomNoise(law="laplace", scale=0, decimals=0),
        lambda: RandomNoise(law="laplace", scale=1, decimals=10),
        lambda: RandomNoise(law="laplace", scale=1, decimals=True),
        lambda: RandomNoise(law="laplace", scale=1, decimals=0, low=float("nan")),
        lambda: TailCoding(high=float("inf")),
        lambda: RandomNoise(law="laplace", scale=1, decimals=0, low=2, high=1),
    ],
)
def test_parameters_that_can_not_be_are_refused(make):
    """By name."""
    with pytest.raises(ParameterError):
        make()


def test_numbers_that_a_float_can_not_tell_apart_are_refused():
    """Too many bases, or too many decimals."""
    with pytest.raises(DataError, match="larger base"):
        masked(Rounding(base=1e-9), pl.Series("n", [1e9]))
    with pytest.raises(DataError, match="fewer decimals"):
        masked(RandomNoise(law="uniform", scale=1, decimals=9), pl.Series("n", [1e9]))


def test_bounds_by_share_that_cross_the_given_one_are_refused():
    """The names of columns, not their values."""
    column = pl.Series("n", [1, 2, 3, 40])
    with pytest.raises(DataError, match="bounds of the mask 'tails' cross in column 'n'"):
        masked(TailCoding(low=41, high_share=0.4), column, ValueCounts.of(column))


def test_bounds_hold_for_what_is_written():
    """Rounding doesn't go beyond them."""
    mask = RandomNoise(law="uniform", scale=3.0, decimals=0, low=0.5, high=2.5)

    found = masked(mask, pl.Series("n", [1.5] * 200))

    assert set(found) == {1.0, 2.0}
