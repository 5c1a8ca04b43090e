"""blend_rows: rows between original ones and the synthetic ones that are nearest to them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from halfmask import ParameterError, SchemaError
from halfmask.synth import blend_rows

NUMBERS = ("age", "pay")


def table(seed: int, n: int = 200) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "pay": np.round(rng.normal(3_000, 500, n), 2),
            "town": rng.choice(["Lyon", "Nice", "Rome"], n),
        }
    ).with_columns(pay=pl.when(pl.col("age") > 85).then(None).otherwise(pl.col("pay")))


def blended(share: float) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    return blend_rows(table(1), table(2), original_share=share, numbers=NUMBERS, rng=rng)


def test_a_share_of_one_is_the_original():
    assert_frame_equal(blended(1.0), table(1))


def test_a_share_of_none_is_the_nearest_synthetic_row():
    """An oracle by all pairs: Gower's distance over ranks in both tables together."""
    one, other = table(1), table(2)
    both = pl.concat([one, other])
    places = []
    for name in NUMBERS:
        known = both[name].drop_nulls().sort().to_numpy()
        low = np.searchsorted(known, both[name].fill_null(0).to_numpy(), side="left")
        high = np.searchsorted(known, both[name].fill_null(0).to_numpy(), side="right")
        ranks = (low + high) / 2 / len(known)
        places.append(np.where(both[name].is_null().to_numpy(), np.nan, ranks))
    towns = both["town"].to_numpy()
    found = blended(0.0)
    for i in range(one.height):
        gaps = np.zeros(other.height)
        for ranks in places:
            gap = np.abs(ranks[one.height :] - ranks[i])
            both_missing = np.isnan(ranks[one.height :]) & np.isnan(ranks[i])
            gaps += np.where(both_missing, 0.0, np.nan_to_num(np.minimum(gap, 1.0), nan=1.0))
        gaps += towns[one.height :] != towns[i]
        nearest = other[int(np.argmin(gaps))]
        distances = [gaps[j] for j in range(other.height) if other.row(j) == found.row(i)]
        assert distances, "no row of the synthetic table"
        assert distances[0] == pytest.approx(gaps.min()), nearest.height


def test_numbers_lie_half_way_and_keep_their_digits():
    full, none, half = blended(1.0), blended(0.0), blended(0.5)
    ages = [rows["age"].to_numpy() for rows in (full, none, half)]
    assert (np.abs(ages[2] - (ages[0] + ages[1]) / 2) <= 0.5).all()
    assert (half["pay"].round(2) == half["pay"]).drop_nulls().all()
    assert half.schema == full.schema


def test_categories_come_from_the_original_as_often_as_asked():
    rng = np.random.default_rng(3)
    one = pl.DataFrame({"x": ["a"] * 2_000})
    other = pl.DataFrame({"x": ["b"] * 2_000})
    found = blend_rows(one, other, original_share=0.3, numbers=(), rng=rng)
    assert abs(np.mean((found["x"] == "a").to_numpy()) - 0.3) < 0.04


def test_other_columns_and_shares_out_of_range_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(SchemaError):
        blend_rows(table(1), table(2).drop("town"), original_share=0.5, numbers=NUMBERS, rng=rng)
    with pytest.raises(ParameterError, match="original_share"):
        blend_rows(table(1), table(2), original_share=1.5, numbers=NUMBERS, rng=rng)
