"""What masks of numbers refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask.data import open_table
from halfmask.masks import (
    CorrelatedNoise,
    RandomNoise,
    RandomRounding,
    Rounding,
    TailCoding,
    mask_table,
)
from masks.masking import masked  # type: ignore[import-not-found] # beside, not in a package


@pytest.mark.parametrize(
    "mask",
    [Rounding(base=5), TailCoding(high=3), RandomNoise(law="uniform", scale=1, decimals=0)],
    ids=["round", "tails", "noise"],
)
def test_what_is_no_number_is_refused(mask):
    """Texts and infinite numbers."""
    with pytest.raises(SchemaError, match=r"'pay'.*for numbers"):
        mask.written("pay", pl.String())
    with pytest.raises(DataError, match="'pay' has infinite numbers"):
        masked(mask, pl.Series("pay", [1.0, float("-inf")]))


def test_noise_refuses_what_no_float_holds_without_a_value():
    """Whole numbers beyond a float's digits, and decimals."""
    mask = RandomNoise(law="uniform", scale=1, decimals=0)

    with pytest.raises(DataError, match="'pay' has whole numbers beyond") as refused:
        masked(mask, pl.Series("pay", [9_007_199_254_740_993]))
    assert "9007199254740993" not in str(refused.value).replace("_", "")
    with pytest.raises(SchemaError, match=r"integers and floats.*\n\nHint: Cast the column"):
        mask.written("pay", pl.Decimal(10, 2))


NOISE: dict[str, Any] = {"law": "laplace", "scale": 1.0, "decimals": 0}
HUGE = 10**400  # no float holds it


@pytest.mark.parametrize("wrong", ["2", "", 1e308, -1, 0, HUGE, float("nan"), None, [], b"x", True])
def test_the_words_about_a_scale_or_a_base_are_true(wrong):
    said = r"must be a number above 0 and below 2\*\*53. Got "
    for make in (
        lambda: RandomNoise(**{**NOISE, "scale": wrong}),
        lambda: RandomRounding(base=wrong),
        lambda: (Rounding if wrong is not None else RandomRounding)(base=wrong),
    ):
        with pytest.raises(ParameterError, match=said) as refused:
            make()
        got = str(refused.value).partition("Got ")[2]
        assert got in {f"{wrong!r}.", f"a value of type {type(wrong).__name__}."}


@pytest.mark.parametrize("wrong", ["2", 2.5, 10, -1, HUGE, None, [], np.array([1, 2])])
def test_the_words_about_decimals_are_true(wrong):
    with pytest.raises(
        ParameterError, match=r"must be a whole number from 0 to 9\. Got "
    ) as refused:
        RandomNoise(**{**NOISE, "decimals": wrong})
    assert "Got 2." not in str(refused.value).replace("Got 2.5", "")


@pytest.mark.parametrize("wrong", ["2", HUGE, [], object(), float("inf"), 0.51])
def test_bounds_and_shares_that_are_no_numbers_are_refused_by_name(wrong):
    with pytest.raises(ParameterError, match=r"'low_share' .* in the range \(0, 0.5\]"):
        TailCoding(low_share=wrong)
    with pytest.raises(ParameterError, match="bounds of the mask 'tails' must be finite numbers"):
        TailCoding(low=wrong if wrong != 0.51 else HUGE)


@pytest.mark.parametrize(
    "mask",
    [
        RandomNoise(law="laplace", scale=1.0, decimals=9),
        RandomNoise(law="laplace", scale=9e15, decimals=0, how="multiply"),
        RandomNoise(law="laplace", scale=1.0, decimals=0, unit="sd"),
        Rounding(base=1e-300),
        RandomRounding(base=1e-300),
    ],
)
def test_numbers_near_the_largest_float_are_refused_in_words_alone(mask):
    """Without a warning of numpy, which names no column."""
    table = open_table(pl.DataFrame({"pay": [1.7e308, -1.7e308, 0.0, None]}))
    with pytest.raises(DataError, match="'pay' has"):
        mask_table(table, {"pay": mask}, key=bytes(32)).read()


def test_a_bound_beyond_all_numbers_with_decimals_stays():
    mask = RandomNoise(law="uniform", scale=1e-6, decimals=9, low=-1e300, high=1e308)
    assert masked(mask, pl.Series("pay", [1.0]))[0] == pytest.approx(1.0, abs=1e-5)


def test_a_covariance_that_no_float_holds_is_refused_and_makes_no_cell_missing():
    table = pl.DataFrame({"a": [1.7e308, -1.7e308, 0.0], "b": [1.0, 2.0, 3.0]})
    for beyond in (None, 1.0):
        mask = CorrelatedNoise(
            columns=("a", "b"), variance_ratio=0.1, decimals=0, outliers_beyond=beyond
        )
        with pytest.raises(DataError, match="covariance is too large"):
            mask.fit(table, bytes(32))
