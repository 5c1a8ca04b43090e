"""Noise has its law, is a row's own, and stays within its bounds."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from halfmask._errors import DataError, ParameterError
from halfmask.masks import RandomNoise, ValueCounts
from masks.masking import masked  # type: ignore[import-not-found] # beside, not in a package


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


def test_a_scale_may_be_in_standard_deviations():
    """Of the column, counted by value; half and twice the scale fail."""
    cells = np.random.default_rng(0).integers(0, 50, 5000)
    column = pl.Series("n", cells)
    mask = RandomNoise(law="gaussian", scale=0.5, unit="sd", decimals=9)

    found = masked(mask, column, counts=ValueCounts.of(column)).to_numpy() - cells

    sd = 0.5 * cells.std()
    assert stats.kstest(found, stats.norm(scale=sd).cdf).pvalue > 0.001
    for wrong in (0.5, 2):
        assert stats.kstest(found, stats.norm(scale=wrong * sd).cdf).pvalue < 1e-6
    assert str(sd)[:4] not in repr(mask.fit("n", pl.Int64(), ValueCounts.of(column), bytes(32)))


def test_equal_numbers_have_no_standard_deviation():
    """Noise of scale 0 would be none."""
    column = pl.Series("n", [7777] * 5)
    mask = RandomNoise(law="gaussian", scale=0.5, unit="sd", decimals=0)

    with pytest.raises(DataError, match="'n' has no standard deviation") as refused:
        masked(mask, column, counts=ValueCounts.of(column))
    assert "7777" not in str(refused.value)
    missing = pl.Series("n", [None], dtype=pl.Int64)
    assert masked(mask, missing, counts=ValueCounts.of(missing)).to_list() == [None]
    with pytest.raises(ParameterError, match="none are given"):
        masked(mask, column)


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


def test_bounds_hold_for_what_is_written():
    """Rounding doesn't go beyond them."""
    mask = RandomNoise(law="uniform", scale=3.0, decimals=0, low=0.5, high=2.5)

    found = masked(mask, pl.Series("n", [1.5] * 200))

    assert set(found) == {1.0, 2.0}


def test_decimals_that_a_float_can_not_hold_are_refused():
    """Nine of a number of ten digits."""
    with pytest.raises(DataError, match="fewer decimals"):
        masked(RandomNoise(law="uniform", scale=1, decimals=9), pl.Series("n", [1e9]))


@pytest.mark.parametrize(
    "make",
    [
        lambda: RandomNoise(law="cauchy", scale=1, decimals=0),  # type: ignore[arg-type] # the fault
        lambda: RandomNoise(law="laplace", scale=0, decimals=0),
        lambda: RandomNoise(law="laplace", scale=1, decimals=0, unit="km"),  # type: ignore[arg-type] # as above
        lambda: RandomNoise(law="laplace", scale=1, decimals=0, unit="sd", how="multiply"),
        lambda: RandomNoise(law="laplace", scale=1, decimals=10),
        lambda: RandomNoise(law="laplace", scale=1, decimals=True),
        lambda: RandomNoise(law="laplace", scale=1, decimals=0, low=float("nan")),
        lambda: RandomNoise(law="laplace", scale=1, decimals=0, low=2, high=1),
    ],
)
def test_parameters_that_can_not_be_are_refused(make):
    """By name."""
    with pytest.raises(ParameterError):
        make()
