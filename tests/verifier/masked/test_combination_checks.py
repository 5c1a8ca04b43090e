"""The check of k^m-anonymity: all sets counted in dictionaries, and one changed cell fails."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import halfmask
from halfmask._errors import VerificationError
from halfmask.verifier.masked import _combination_checks as checks
from verifier.masked.masked_releases import (  # type: ignore[import-not-found] # beside
    counted,
    release,
)


def counts(cells, m):
    """Of each set of at most m items, how many cells have it."""
    return Counter(
        chosen
        for each in cells
        for size in range(1, m + 1)
        for chosen in combinations(sorted(set((each or "").split(", ")) - {""}), size)
    )


def claim_of(cells, k, m, changed=None):
    sizes = [len(set((each or "").split(", ")) - {""}) for each in cells]
    evidence = {"items": len(counts(cells, 1)), "largest_set": max(sizes, default=0)}
    parameters = {"k": k, "m": m, "separator": ", "}
    return counted("km-anonymity", ["bought"], {**parameters, **(changed or {})}, **evidence)


cell = st.none() | st.lists(st.sampled_from("abcde"), max_size=5).map(", ".join)


@settings(max_examples=60)
@given(cells=st.lists(cell, min_size=1, max_size=25), k=st.integers(2, 4), m=st.integers(1, 4))
def test_it_counts_every_set(cells, k, m):
    table = pl.LazyFrame({"bought": cells}, schema={"bought": pl.String})
    rows = counts(cells, m)

    found = checks.check_sets(claim_of(cells, k, m), table)

    if found.holds:
        assert found.found["smallest"] == min(rows.values())
    assert found.holds == bool(rows and min(rows.values()) >= k)
    # Not all sets around a rare one are looked for.
    rare = [it for it, n in rows.items() if n < k]
    assert min(len(rare), 1) <= found.found["rare_sets"] <= len(rare)


GOOD = ["a, b, c", "a, b, c", "a, b", None, "", "d", "d"]


@pytest.mark.parametrize(
    ("place", "changed"), [(0, "a, b, d"), (2, "a, d"), (5, "e"), (3, "a, d"), (0, "a, b")]
)
@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_one_changed_cell_fails(tmp_path, place, changed, form):
    """Three items, two, or one that few have; or one fewer than before."""
    claim = claim_of(GOOD, 2, 3)
    weak = [changed if number == place else each for number, each in enumerate(GOOD)]
    release(tmp_path / "honest", pl.DataFrame({"bought": GOOD}), [claim], fmt=form)
    release(tmp_path / "weak", pl.DataFrame({"bought": weak}), [claim], fmt=form)

    assert halfmask.verify(tmp_path / "honest").holds
    assert [each.holds for each in halfmask.verify(tmp_path / "weak").claims] == [True, False]


@pytest.mark.parametrize(
    "changed", [{"k": 1}, {"k": "2"}, {"m": 0}, {"m": 1.5}, {"separator": ""}, {"separator": 1}]
)
def test_a_claim_that_can_not_be_is_refused(changed):
    with pytest.raises(VerificationError):
        checks.check_sets(claim_of(GOOD, 2, 2, changed), pl.LazyFrame({"bought": GOOD}))


def test_too_many_sets_are_not_counted(monkeypatch):
    monkeypatch.setattr(checks, "MOST_COUNTED", 5)

    with pytest.raises(VerificationError, match="too many sets"):
        checks.check_sets(claim_of(GOOD, 2, 2), pl.LazyFrame({"bought": GOOD}))


def test_more_known_items_than_any_set_has():
    assert checks.check_sets(claim_of(GOOD, 2, 9), pl.LazyFrame({"bought": GOOD})).holds


def test_wrong_evidence_does_not_hold():
    claim = claim_of(["a", "a", "b", "b"], 2, 1)

    assert not checks.check_sets(claim, pl.LazyFrame({"bought": ["a"] * 4})).holds
