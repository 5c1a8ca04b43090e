"""Anonymizing: by which columns rows may be parted, and what is said of them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import halfmask as hm
from halfmask._errors import ColumnNotFoundError, SchemaError
from halfmask.anonymize import Guided
from halfmask.training import _anonymizing
from halfmask.training._anonymizing import (
    Anonymizing,
    as_seen,
    names_of,
    numbers_are_there,
    parted_by,
)
from halfmask.training._encoding import Encoding
from halfmask.training._partitions import Led

K = hm.KAnonymity(k=2)
TABLE = pl.DataFrame(
    {
        "other": [1.5, 2.5, 3.5],
        "text": ["a", "b", "a"],
        "zip": [1, 2, 3],
        "holes": [1.0, None, 2.0],
        "endless": [1.0, float("inf"), 2.0],
        "count": [1, 2, 3],
        "truth": [True, False, True],
        "unused": [1, 2, 3],
    }
)
REACHING = [name for name in TABLE.columns if name not in ("zip", "unused")]


def test_rows_are_parted_by_numbers_that_are_there_and_reach_the_model():
    assert parted_by(TABLE, ["zip"], REACHING, [K]) == ["zip", "other", "count"]
    judged = hm.DistinctLDiversity(l=2, column="other")
    assert parted_by(TABLE, ["zip"], REACHING, [K, judged]) == ["zip", "count"]
    assert parted_by(TABLE, ["other", "zip"], REACHING, [K]) == ["other", "zip", "count"]
    assert parted_by(TABLE, ["zip"], [], [K]) == ["zip"]


def test_quasi_identifiers_are_named_or_counted():
    columns = ["a", "b", "c"]
    assert names_of(None, columns) == columns
    assert names_of(["c", 0], columns) == ["a", "c"]
    assert names_of([1, 0], columns) == ["a", "b"]
    with pytest.raises(ColumnNotFoundError):
        names_of([3], columns)


def test_what_is_said_of_other_columns_is_not_for_parting():
    anonymizing = Anonymizing(
        table=TABLE,
        seen=None,
        names=["zip"],
        seen_names=["column 0 as seen"],
        parted=["zip", "count"],
        guarantees=[K],
        hierarchies=None,
        kinds={"zip": "categorical", "count": "categorical"},
        max_suppression_fraction=0.0,
    )
    led = Led(name="it", method=Guided(), guide=np.zeros((3, 1)), by_others=True)
    asked = anonymizing.led_by(led)
    assert asked.quasi_identifiers == ["zip", "count"]
    assert asked.kinds == {"zip": "categorical"}
    seen = anonymizing.led_by(Led(name="it", method=Guided(), guide=led.guide, by_encoding=True))
    assert seen.quasi_identifiers == ["column 0 as seen"]
    alone = anonymizing.led_by(Led(name="it", method=Guided(), guide=np.zeros((3, 1))))
    assert alone.quasi_identifiers == ["zip"]
    assert alone.kinds == {"zip": "categorical", "count": "categorical"}


def test_rows_that_lack_what_they_are_parted_by_are_told_by_column_and_no_cell():
    table = TABLE.with_columns(pl.Series("count", [123454321, None, 3]))
    numbers_are_there(table, ["zip"], ["zip"])
    numbers_are_there(table, ["zip", "count"], ["zip", "count"])
    with pytest.raises(SchemaError, match="count") as raised:
        numbers_are_there(table, ["zip", "count"], ["zip"])
    assert "123454321" not in str(raised.value)


def test_what_the_model_sees_is_a_table_beside_what_guarantees_judge(monkeypatch):
    encoding = Encoding(None, ["zip"]).fit(TABLE)
    encoded = encoding.encode(TABLE)
    guarantees = [K, hm.DistinctLDiversity(l=2, column="count")]
    seen = as_seen(encoding, encoded, TABLE, guarantees)
    assert seen is not None
    assert seen.columns == [*encoding.seen_names(), "count"]
    assert seen[encoding.seen_names()].to_numpy().tolist() == encoded[:, encoding.depends_].tolist()
    assert seen["count"].equals(TABLE["count"])
    # nothing is seen of what doesn't reach the model, what is judged keeps its name, and room
    taken = encoding.seen_names()[0]
    named = TABLE.rename({"count": taken})
    judged = [hm.DistinctLDiversity(l=2, column=taken)]
    assert as_seen(encoding, encoded, named, judged) is None
    monkeypatch.setattr(_anonymizing, "MOST_NUMBERS", 2)
    assert as_seen(encoding, encoded, TABLE, guarantees) is None
    monkeypatch.undo()
    encoding.depends_[:] = False
    assert as_seen(encoding, encoded, TABLE, guarantees) is None
