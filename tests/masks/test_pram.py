"""PRAM keeps frequencies, and the share of cells that it says."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

from halfmask._errors import ParameterError, SchemaError
from halfmask.masks import Pram, ValueCounts
from masks.masking import KEY  # type: ignore[import-not-found] # beside, not in a package


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("x", ["a"] * 700 + ["b"] * 250 + ["c"] * 50),
        pl.Series("x", [1] * 700 + [2] * 250 + [30] * 50),
        pl.Series("x", [dt.date(2020, 1, 1)] * 700 + [dt.date(2021, 2, 3)] * 300),
        pl.Series("x", [True] * 700 + [False] * 300),
    ],
    ids=["texts", "numbers", "dates", "booleans"],
)
def test_pram_keeps_frequencies_and_the_share_that_it_says(column):
    """Of 40,000 cells: frequencies to 1 %, changed cells as the matrix has them to 2 %."""
    long = pl.concat([column] * 40).shuffle(seed=1)
    plan = Pram(keep=0.6).fit("x", long.dtype, ValueCounts.of(long), KEY)

    found = plan.apply(long, 0)

    assert found.dtype == long.dtype
    shares = {}
    for value, count in long.value_counts().iter_rows():
        shares[value] = count / long.len()
        assert (found == value).sum() / long.len() == pytest.approx(shares[value], abs=0.01)
    same = 0.6 + 0.4 * sum(share**2 for share in shares.values())
    assert (found == long).mean() == pytest.approx(same, abs=0.02)


def test_pram_says_nothing_of_missing_cells_and_draws_under_its_key():
    """Missing cells stay; the same key draws the same, another one another."""
    column = pl.Series("x", ["a", None, "b", "c"] * 100)
    counts = ValueCounts.of(column)

    plans = [Pram(keep=0).fit("x", column.dtype, counts, key) for key in (KEY, KEY, bytes(32))]
    first, again, other = (plan.apply(column, 0) for plan in plans)

    assert first.is_null().to_list() == column.is_null().to_list()
    assert first.equals(again)
    assert not first.equals(other)
    assert "key" not in repr(plans[0])


def test_a_column_without_a_value_stays_so():
    """Nothing to draw from."""
    column = pl.Series("x", [None, None], dtype=pl.String)

    assert (
        Pram(keep=0)
        .fit("x", column.dtype, ValueCounts.of(column), KEY)
        .apply(column, 0)
        .equals(column, null_equal=True)
    )


def test_lists_are_refused():
    """A list is several values."""
    with pytest.raises(SchemaError, match=r"'tags'.*single values"):
        Pram(keep=0.5).written("tags", pl.List(pl.String))


def test_a_share_of_one_is_refused():
    """Nothing would change."""
    with pytest.raises(ParameterError):
        Pram(keep=1.0)
