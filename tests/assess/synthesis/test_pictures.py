"""Pictures of both tables: no bar of few people, no category that the release doesn't hold."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl

from halfmask.assess.masking.pairs import column_pairs
from halfmask.assess.synthesis import associations, column_pictures
from halfmask.assess.synthesis.quality import binned


def tables() -> tuple[pl.DataFrame, pl.DataFrame]:
    rng = np.random.default_rng(0)
    age = rng.integers(20, 80, 1_000)
    towns = np.append(rng.choice(["Lyon", "Nice"], 985), ["canary"] * 15)
    born = [dt.date(2020, 1, 1) - dt.timedelta(days=int(it) * 365) for it in age]
    one = pl.DataFrame({"age": age, "pay": age * 100, "town": towns, "born": born})
    return one, one.with_columns(pl.col("pay").shuffle(seed=1))


def test_a_rare_category_is_in_no_picture():
    one, other = tables()
    pairs = column_pairs(one, other, one.columns)
    shown = column_pictures(one, other, pairs, min_count=20)
    assert set(shown) == {"age", "pay", "town", "born"}
    assert set(shown["town"].labels) == {"Lyon", "Nice"}
    assert "canary" in column_pictures(one, other, pairs, min_count=10)["town"].labels
    without = other.filter(pl.col("town") != "canary")
    pairs = column_pairs(one, without, one.columns)
    assert "canary" not in column_pictures(one, without, pairs, min_count=10)["town"].labels


def test_dates_are_written_as_dates_and_missing_is_a_category():
    one, other = tables()
    gap = pl.when(pl.col("age") > 30).then("town")
    one, other = one.with_columns(gap), other.with_columns(gap)
    shown = column_pictures(one, other, column_pairs(one, other, one.columns), min_count=20)
    assert all(label[:2] in {"19", "20"} and " to " in label for label in shown["born"].labels)
    assert "missing" in shown["town"].labels


def test_what_columns_say_of_each_other_is_seen():
    one, other = tables()
    pairs = column_pairs(one, other, ["age", "pay", "town"])
    found = associations([binned(pair) for pair in pairs], ["age", "pay", "town"])
    assert found is not None
    assert found.original[0][1] > 0.99
    assert found.released[0][1] < 0.2
    assert found.original[0][2] == found.released[0][2]
    assert "most for age and pay" in found.sentence
    assert associations([binned(pairs[0])], ["age"]) is None


def test_spans_and_times_are_categories_of_a_picture():
    for dtype in (pl.Duration, pl.Time):
        cells = pl.Series("x", [0, 10**9] * 10, dtype=pl.Int64).cast(dtype)

        pairs = column_pairs(cells.to_frame(), cells.to_frame(), ["x"])
        shown = column_pictures(cells.to_frame(), cells.to_frame(), pairs, min_count=5)
        assert shown["x"].labels
