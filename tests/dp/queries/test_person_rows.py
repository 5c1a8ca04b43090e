"""Rows of persons: bounds hold, and nobody's sample depends on anybody else."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.dp.ledger import BudgetTerms, PrivacyUnit
from halfmask.dp.queries._tallying import bounded_rows


def terms(max_rows, max_groups, key="5a" * 32):
    return BudgetTerms(
        dataset="d",
        fingerprint="",
        columns={"person": "String"},
        epsilon=1.0,
        delta=0.0,
        unit=PrivacyUnit(person="person", max_rows=max_rows, max_groups=max_groups),
        key=key,
    )


def batches(rows, size):
    frame = pl.DataFrame(
        rows, schema={"person": pl.String, "g": pl.Int64, "x": pl.Int64}, orient="row"
    )
    return list(frame.iter_slices(size)) or [frame]


def kept_of(rows, groups, given_terms):
    kept = bounded_rows(rows, groups, given_terms)
    assert kept is not None
    return kept


ROWS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from([None, 1, 2, 3]), st.integers(0, 9)),
    max_size=40,
)


@settings(max_examples=60)
@given(ROWS, st.integers(1, 3), st.integers(1, 3), st.integers(1, 40))
def test_each_person_has_at_most_the_bounds(rows, max_rows, max_groups, size):
    kept = kept_of(batches(rows, size), ["g"], terms(max_rows, max_groups)).rows()

    assert not Counter(kept) - Counter(rows)
    for person in "abcd":
        of_person = [row for row in rows if row[0] == person]
        counted = Counter(g for p, g, _ in kept if p == person)
        assert len(counted) == min(max_groups, len({g for _, g, _ in of_person}))
        for group, n in counted.items():
            assert n == min(max_rows, sum(g == group for _, g, _ in of_person))


@pytest.mark.slow
@settings(max_examples=60)
@given(ROWS, st.integers(1, 3), st.integers(1, 3), st.integers(1, 40))
def test_a_person_who_joins_changes_nobody_elses_rows(rows, max_rows, max_groups, size):
    given_terms = terms(max_rows, max_groups)
    with_all = kept_of(batches(rows, size), ["g"], given_terms).rows()
    without = kept_of(batches([r for r in rows if r[0] != "a"], size), ["g"], given_terms)

    assert Counter(row for row in with_all if row[0] != "a") == Counter(without.rows())


@pytest.mark.slow
@pytest.mark.parametrize("groups", [[], ["g"]])
def test_the_size_of_batches_changes_no_row(groups):
    random = np.random.default_rng(3)
    rows = [(str(p), int(g), i) for i, (p, g) in enumerate(random.integers(0, 6, (300, 2)))]
    found = [
        sorted(kept_of(batches(rows, size), groups, terms(3, 2)).rows()) for size in (1, 7, 50, 300)
    ]
    assert found[0] == found[1] == found[2] == found[3]


def test_the_sample_is_random_and_follows_the_key():
    """Not the first rows of each person, which could be the oldest."""
    rows = [(f"p{i}", 1, at) for i in range(200) for at in range(10)]
    first = kept_of(batches(rows, 2000), [], terms(1, 1))
    other = kept_of(batches(rows, 2000), [], terms(1, 1, key="a5" * 32))

    assert first["x"].mean() == pytest.approx(4.5, abs=1.0)
    assert first["x"].n_unique() == 10
    assert not first.equals(other)
