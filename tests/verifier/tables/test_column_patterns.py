"""No column is counted as another that its name matches as a pattern."""

from __future__ import annotations

import dataclasses
from typing import Any

import polars as pl
import pytest

from halfmask.claims import Evidence
from halfmask.verifier import tables

#: Its claims say more than `CheckedClaim`.
verify: Any = tables.verify

COUNTS = {"classes": 1, "rows": 8, "smallest_class": 8}


@pytest.mark.parametrize("fmt", ["parquet", "csv", "arrow", "jsonl"])
@pytest.mark.parametrize("name", ["^a$", "^[a-z]$", "*"])
def test_a_quasi_identifier_of_unique_values_is_not_counted_as_another(make, claim, name, fmt):
    """A liar's name that matches a harmless column must not stand for it."""
    frame = pl.DataFrame({"a": ["x"] * 8, name: [str(i) for i in range(8)]})
    stated = claim("k-anonymity", by=("a", name), k=8)
    stated = dataclasses.replace(stated, evidence=Evidence(achieved=8, **COUNTS))
    folder = make(frame, [stated], roles=dict.fromkeys(frame.columns, "quasi_identifier"), fmt=fmt)

    found = verify(folder.path)

    assert not found.holds
    assert "has a column whose name selects others" in found.problems[0]


@pytest.mark.parametrize("name", ["^a", "a$", "a*", "**"])
def test_a_column_that_only_looks_like_one_is_counted(make, claim, name):
    frame = pl.DataFrame({"a": ["x"] * 8, name: ["y"] * 4 + ["z"] * 4})
    frame = frame.with_columns(pl.col(name).cast(pl.Categorical))
    stated = claim("k-anonymity", by=("a", name), k=4)
    folder = make(frame, [stated], roles=dict.fromkeys(frame.columns, "quasi_identifier"))

    assert verify(folder.path).claims[0].counted == 4
