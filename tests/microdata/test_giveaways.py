"""Columns that give the label away are named, with their share."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from microdata.learned_people import (  # type: ignore[import-not-found] # beside, not in a package
    codes,
    compared,
)
from microdata.people import (  # type: ignore[import-not-found] # beside, not in a package
    people,
)


@pytest.mark.slow
def test_a_column_that_gives_the_label_away_is_named():
    table = people()
    table = table.with_columns(note=codes(table))
    model: Any = compared(table)
    assert model.giveaways == (("note", 1.0),)
    assert model.to_dict()["giveaways"] == [{"column": "note", "score": 1.0}]
    (warning,) = model.warnings
    assert "Column 'note' is released unchanged and gives the label away" in warning
    assert "100.0%" in warning
    assert compared(people()).giveaways == ()


def test_a_column_that_nearly_gives_it_away_is_named_with_its_share():
    table = people(2_000)
    rng = np.random.default_rng(0)
    wrong = pl.Series(rng.random(table.height) < 0.01)
    flipped = pl.when(wrong).then(pl.lit("J")).otherwise(codes(table))
    ((name, score),) = compared(table.with_columns(note=flipped)).giveaways
    assert name == "note"
    assert 0.98 < score < 1.0


@pytest.mark.slow
def test_numbers_give_numbers_and_classes_away():
    table = people(1_000)
    number = table.with_columns(pay=pl.col("spent") * 3 + 1)
    ((name, score),) = compared(number, "spent").giveaways
    assert name == "pay"
    assert score > 0.99
    split = table.with_columns(pay=(pl.col("buys") == "yes").cast(pl.Int64) * 40)
    assert compared(split).giveaways == (("pay", 1.0),)


@pytest.mark.slow
def test_a_quasi_identifier_gives_nothing_away_since_it_is_recoded():
    table = people(1_000).with_columns(spent=pl.col("age") * 2.0)
    assert "age" not in dict(compared(table, "spent").giveaways)
