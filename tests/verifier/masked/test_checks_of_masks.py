"""Each check of a technique holds for an honest file and fails for one that was weakened."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from itertools import combinations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import halfmask
from halfmask.verifier.masked import MASK_CHECKS
from verifier.masked.masked_releases import (  # type: ignore[import-not-found] # beside
    counted,
    release,
)

HONEST = [
    ("multiples", {"base": 10}, [10, -20, 0, None], [10, -20, 1, None]),
    ("multiples", {"base": 0.1}, [0.3, 0.1 + 0.2, -7.0], [0.3, 0.31]),
    ("multiples", {"base": 10.0}, [10.0, 1e6], [10.0, 1e6 + 1]),
    ("multiples", {"base": 10}, [10.0, 20.0], [10.0, float("nan")]),
    ("multiples", {"base": 10}, [10.0, 20.0], [10.0, float("inf")]),
    ("multiples", {"base": 10}, [10.0, 20.0], [10.0, 1e300]),
    ("multiples", {"base": 0.05}, [Decimal("1.05"), None], [Decimal("1.05"), Decimal("1.06")]),
    ("multiples", {"base": 1000}, [10**18], [10**18 + 1]),
    ("multiples", {"base": 0.5}, ["1.5", "2", None], ["1.5", "2.25"]),
    ("bounded", {"low": 0, "high": 100}, [0, 100, None], [0, 101]),
    ("bounded", {"low": 0}, [0.0, 5e9], [-0.001, 1.0]),
    ("bounded", {"high": 1.5}, [1.5, -9.0], [1.5, float("nan")]),
    ("bounded", {"high": 0.1}, [Decimal("0.10")], [Decimal("0.11")]),
    ("bounded", {"low": 18}, ["18", "99.5"], ["18", "17"]),
    ("truncated-dates", {"unit": "month"}, [dt.date(2024, 5, 1)], [dt.date(2024, 5, 2)]),
    ("truncated-dates", {"unit": "year"}, [dt.date(2024, 1, 1), None], [dt.date(2024, 2, 1)]),
    ("truncated-dates", {"unit": "week"}, [dt.date(2026, 11, 23)], [dt.date(2026, 11, 25)]),
    (
        "truncated-dates",
        {"unit": "day"},
        [dt.datetime(2024, 5, 2, tzinfo=dt.UTC)],
        [dt.datetime(2024, 5, 2, 0, 0, 1, tzinfo=dt.UTC)],
    ),
    (
        "truncated-dates",
        {"unit": "month"},
        ["2024-01-01T00:00:00.000000+0100", "2024-07-01T00:00:00.000000+0200", None],
        ["2024-01-01T00:00:00.000000+0100", "2024-01-01T01:00:00.000000+0100"],
    ),
    (
        "truncated-dates",
        {"unit": "hour"},
        ["2024-01-01 05:00:00Z", "2024-07-01T23:00:00-03:30"],
        ["2024-01-01 05:00:00Z", "2024-07-01T23:30:00-03:30"],
    ),
    ("truncated-dates", {"unit": "quarter"}, ["2024-04-01"], ["2024-04-01", "2024-05-01"]),
    ("one-value", {}, [None, None], [None, "a", "b"]),
    ("one-value", {}, ["x", "x"], ["x", "y"]),
    ("one-value", {"text": "gone"}, ["gone", None], ["gone", "Gone"]),
    ("token-format", {"digits": 16}, ["0123456789abcdef", None], ["0123456789abcdef", "Ann"]),
    ("token-format", {"digits": 16}, ["0123456789abcdef"], ["0123456789abcdef0"]),
    ("token-format", {"digits": 16}, ["0123456789abcdef"], ["0123456789abcdef\n"]),
]


@pytest.mark.parametrize(("model", "parameters", "honest", "weak"), HONEST)
def test_honest_cells_hold_and_one_weak_cell_fails(tmp_path, model, parameters, honest, weak):
    claim = counted(model, ["cell"], parameters)
    release(tmp_path / "honest", pl.DataFrame({"cell": honest}), [claim])
    release(tmp_path / "weak", pl.DataFrame({"cell": weak}), [claim])

    assert halfmask.verify(tmp_path / "honest").holds
    assert [each.holds for each in halfmask.verify(tmp_path / "weak").claims] == [True, False]


GROUPS = pl.DataFrame({"a": [1, 1, 2, 2, None, None], "b": [5, 5, 6, 6, 6, 6]})


@pytest.mark.parametrize(("k", "smallest", "holds"), [(2, 2, True), (2, 3, False), (3, 2, False)])
def test_groups_have_at_least_k_rows_and_no_more_than_stated(tmp_path, k, smallest, holds):
    release(tmp_path, GROUPS, [counted("groups-of-k", ["a", "b"], {"k": k}, smallest=smallest)])

    assert halfmask.verify(tmp_path).holds is holds


def test_one_more_missing_cell_breaks_a_group(tmp_path):
    """Missing is a value of its own here."""
    weak = GROUPS.with_columns(pl.when(pl.int_range(pl.len()) > 0).then("b").alias("b"))
    release(tmp_path, weak, [counted("groups-of-k", ["a", "b"], {"k": 2}, smallest=2)])

    assert not halfmask.verify(tmp_path).holds


def naive(rows, k, size):
    """Both counts by comparing each row with each other, on each subset of the columns."""
    smallest, strict, under = len(rows), len(rows), set()
    for subset in combinations(range(len(rows[0])), size):
        for i, one in enumerate(rows):
            agree = equal = 0
            for other in rows:
                pairs = [(one[j], other[j]) for j in subset]
                agree += all(a is None or b is None or a == b for a, b in pairs)
                equal += all(a == b for a, b in pairs)
            smallest, strict = min(smallest, agree), min(strict, equal)
            if equal < k:
                under.add(i)
    missing = sum(cell is None for row in rows for cell in row)
    return {
        "smallest": smallest,
        "smallest_strict": strict,
        "rows_under_k_strict": len(under),
        "missing_cells": missing,
    }


cell = st.none() | st.integers(0, 2)


@pytest.mark.slow
@settings(max_examples=40)
@given(
    rows=st.lists(st.tuples(cell, cell, cell), min_size=1, max_size=12),
    k=st.integers(2, 3),
    size=st.integers(1, 3),
)
def test_both_counts_are_those_of_comparing_all_rows(rows, k, size):
    """The check holds where the naive count does, and for no better evidence."""
    table = pl.LazyFrame(rows, schema={"a": pl.Int64, "b": pl.Int64, "c": pl.Int64}, orient="row")
    expected = naive(rows, k, size)

    def verdict(**evidence):
        claim = counted(
            "k-anonymity-with-suppression",
            ["a", "b", "c"],
            {"k": k, "subsets": size},
            **(expected | evidence),
        )
        return MASK_CHECKS[claim.model](claim, table)

    assert verdict().found == expected
    assert verdict().holds is (expected["smallest"] >= k)
    assert not verdict(smallest=expected["smallest"] + 1).holds
    assert not verdict(smallest_strict=expected["smallest_strict"] + 1).holds
    assert not verdict(rows_under_k_strict=expected["rows_under_k_strict"] - 1).holds
    assert not verdict(missing_cells=expected["missing_cells"] + 1).holds
