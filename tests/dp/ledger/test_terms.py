"""Rows of persons: bounded, drawn evenly, and no person's by another's."""

from __future__ import annotations

import os
import random

import polars as pl
import pytest

from halfmask._errors import ColumnNotFoundError, DataError
from halfmask.dp.ledger import PrivacyUnit
from halfmask.dp.ledger._terms import rows_of_units


def visits(people: int, rows: int) -> pl.DataFrame:
    draw = random.Random(people)
    table = pl.DataFrame({"who": [i % people for i in range(people * rows)]})
    order = draw.sample(range(table.height), table.height)
    return table[order].with_columns(row=pl.int_range(pl.len()), whose=pl.col("who"))


@pytest.mark.parametrize("most", [1, 3, 9])
def test_at_most_so_many_rows_of_each_are_kept(most):
    table = visits(50, 4)
    kept = rows_of_units(table, PrivacyUnit(person="who", max_rows=most))
    assert kept.columns == ["row", "whose"]
    assert set(kept["whose"].value_counts()["count"]) == {min(most, 4)}
    assert kept["row"].is_unique().all()


def test_a_unit_of_rows_keeps_all():
    table = visits(5, 2)
    assert rows_of_units(table, PrivacyUnit()).equals(table)


def test_each_row_of_a_person_is_as_likely():
    """4,000 persons of 4 rows: the first is kept 1,000 times, give or take 27."""
    table = pl.DataFrame({"who": [i // 4 for i in range(16_000)], "place": list(range(4)) * 4_000})
    kept = rows_of_units(table, PrivacyUnit(person="who"))
    counts = kept["place"].value_counts()["count"]
    assert len(counts) == 4
    assert counts.is_between(800, 1_200).all()


def test_no_row_depends_on_the_rows_of_others(monkeypatch):
    """The bytes of the operating system are the same for rows of the same place."""
    drawn = random.Random(1).randbytes(1 << 16)
    monkeypatch.setattr(os, "urandom", lambda n: drawn[:n])
    table, unit = visits(60, 5), PrivacyUnit(person="who", max_rows=2)
    other = pl.DataFrame({"who": [99] * 700}).with_columns(row=pl.lit(0), whose=pl.col("who"))
    both = pl.concat([table.cast(pl.Int64), other.cast(pl.Int64)])
    kept = rows_of_units(both, unit)
    assert kept.filter(pl.col("whose") != 99).equals(rows_of_units(table.cast(pl.Int64), unit))
    assert kept.filter(pl.col("whose") == 99).height == 2


def test_rows_of_nobody_are_refused_without_a_value():
    table = pl.DataFrame({"who": ["canary", None], "x": [1, 2]})
    with pytest.raises(DataError, match="names no person in 1 rows") as caught:
        rows_of_units(table, PrivacyUnit(person="who"))
    assert "canary" not in str(caught.value)
    with pytest.raises(ColumnNotFoundError, match="'whom'"):
        rows_of_units(table, PrivacyUnit(person="whom"))
