"""Rows that few others equal on a set of columns: counted as a plain Counter counts them."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.assess.risk import ColumnSetCounter, _column_sets, worst_sets

CELLS = {
    "text": st.sampled_from(["", "a", "b", None]),
    "number": st.sampled_from([0.0, -0.0, 1.5, None]),
    "whole": st.sampled_from([0, 1, 2**62, None]),
    "truth": st.sampled_from([True, False, None]),
}
SETS = [("text",), ("number", "whole"), ("text", "number", "truth"), tuple(CELLS)]
tables = st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=40)
SCHEMA = {"text": pl.String, "number": pl.Float64, "whole": pl.Int64, "truth": pl.Boolean}


def _naive(rows, names, k):
    """Count by the cells as a file has them: -0.0 is another text than 0.0."""
    keys = [tuple(repr(row[name]) for name in names) for row in rows]
    sizes = Counter(keys)
    return sum(sizes[key] == 1 for key in keys), sum(sizes[key] < k for key in keys)


@pytest.mark.slow
@given(tables, st.integers(2, 6), st.integers(1, 40))
def test_counts_are_those_of_a_counter(rows, k, step):
    """However the rows come in batches, each set's counts are those of a Counter."""
    counter = ColumnSetCounter(SETS, rows=len(rows), k=k)
    frame = pl.DataFrame(rows, schema=SCHEMA)
    for batch in frame.iter_slices(step):
        counter.add(batch)

    found = [(risk.unique, risk.under_k) for risk in counter.risks()]
    assert found == [_naive(rows, names, k) for names in SETS]
    assert counter.exact


def test_categories_are_the_same_in_each_batch():
    """Two batches number their categories each in its own way; equal texts stay equal."""
    counter = ColumnSetCounter([("town",)], rows=4, k=3)
    for towns in (["a", "b"], ["b", "c"]):
        counter.add(pl.DataFrame({"town": pl.Series(towns, dtype=pl.Categorical)}))

    (risk,) = counter.risks()
    assert (risk.unique, risk.under_k) == (2, 4)


def test_too_many_keys_are_estimated_and_that_is_said(monkeypatch):
    """Beyond the memory a random part of the classes is counted: the shares are near the truth."""
    monkeypatch.setattr(_column_sets, "MAX_KEYS", 20_000)
    rng = np.random.default_rng(3)
    values = np.concatenate([np.arange(30_000), np.repeat(np.arange(30_000, 50_000), 3)])
    counter = ColumnSetCounter([("it",)], rows=90_000, k=5)
    counter.add(pl.DataFrame({"it": rng.permutation(values)}))

    (risk,) = counter.risks()
    assert not counter.exact
    assert risk.share_unique == pytest.approx(1 / 3, abs=0.03)  # 5 deviations of 18,000 rows
    assert risk.under_k == risk.rows == 90_000


def test_the_worst_sets_are_found():
    """Of three columns that say little alone, the pair that singles everybody out is named."""
    pairs = list(itertools.product(range(30), range(30)))
    frame = pl.DataFrame(
        {
            "left": [left for left, _ in pairs],
            "right": [right for _, right in pairs],
            "one": ["x"] * len(pairs),
            "half": [number % 2 for number in range(len(pairs))],
        }
    )

    # 30 rows share each single value, one row each pair, and a third column adds nothing.
    assert worst_sets(frame, k=10) == [("left", "right")]


def test_a_column_that_adds_nothing_is_not_named_with_another():
    """Where a column has a value of its own in every row, no larger set is worse."""
    frame = pl.DataFrame({"code": range(200), "town": ["a", "b"] * 100})

    assert worst_sets(frame, k=5) == [("code",)]


def test_no_set_is_named_where_all_classes_are_large():
    assert worst_sets(pl.DataFrame({"a": [1] * 9, "b": [2] * 9}), k=5) == []
