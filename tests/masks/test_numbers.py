"""What masks of numbers refuse."""

from __future__ import annotations

import polars as pl
import pytest

from halfmask._errors import DataError, SchemaError
from halfmask.masks import RandomNoise, Rounding, TailCoding
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
