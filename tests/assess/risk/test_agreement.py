"""Rows that agree where missing is a wildcard: against all pairs, and another implementation."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from halfmask.assess.risk import matching_rows
from halfmask.assess.risk._matching import Combinations, agreeing
from halfmask.guarantees import agreeing_rows


def table_of(rows: int, *, missing: float, seed: int) -> pl.DataFrame:
    """A table of four columns of 2 to 12 values, in which some cells are missing."""
    rng = np.random.default_rng(seed)
    codes = {f"c{j}": rng.integers(0, k, rows) for j, k in enumerate((2, 12, 5, 3))}
    return pl.DataFrame(
        {
            name: pl.Series(values).zip_with(
                pl.Series(rng.random(rows) >= missing), pl.Series([None] * rows, dtype=pl.Int64)
            )
            for name, values in codes.items()
        }
    )


@pytest.mark.parametrize("missing", [0.0, 0.05, 0.5, 0.95])
def test_counts_and_weights_are_those_of_all_pairs(missing):
    table = table_of(400, missing=missing, seed=1)
    weights = np.random.default_rng(2).integers(1, 50, 400).astype(np.float64)
    met = Combinations.of(table, table.columns)

    found = agreeing(met.wild, met.wild, [met.sums(np.ones(400)), met.sums(weights)])

    cells = np.array([[-1 if c is None else c for c in row] for row in table.rows()])
    either = (cells[:, None] < 0) | (cells[None] < 0)
    agrees = ((cells[:, None] == cells[None]) | either).all(axis=2)
    assert found[0][met.of_row].tolist() == agrees.sum(axis=1).tolist()
    assert found[1][met.of_row].tolist() == (agrees @ weights).tolist()


@pytest.mark.parametrize("missing", [0.02, 0.2])
def test_two_implementations_agree_on_many_rows(missing):
    table = table_of(20_000, missing=missing, seed=3)

    found = matching_rows(table, table, quasi_identifiers=table.columns)

    assert found.tolist() == agreeing_rows(table, columns=table.columns).tolist()


def test_the_rows_of_another_table_are_counted():
    table = table_of(500, missing=0.1, seed=4)
    others = table_of(3_000, missing=0.02, seed=5)

    found = matching_rows(table, others, quasi_identifiers=table.columns)

    both = pl.concat([table, others])
    weights = np.repeat([0.0, 1.0], [500, 3_000])
    expected = agreeing_rows(both, columns=table.columns, weights=weights)[:500]
    assert found.tolist() == expected.tolist()
