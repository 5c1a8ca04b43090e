"""A quasi-identifier in every cell: against plain lists."""

from __future__ import annotations

import functools
import itertools
import operator
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.anonymize import CellCounts, Mondrian, Protection, Ranges
from halfmask.anonymize._cells import CellColumn
from halfmask.anonymize.coding import code_column
from halfmask.data import Column, Schema
from halfmask.guarantees import DistinctLDiversity, KAnonymity

N_VALUES = 4
COLUMN = Column(name="age", role="quasi_identifier", kind="numeric")
#: Cells as lists of codes; the code behind the last value is the one for missing.
cells_of_codes = st.lists(
    st.lists(st.integers(0, N_VALUES), min_size=1, max_size=6), min_size=1, max_size=4
)


def column_of(cells, *, paired=False):
    values = pl.Series("age", list(range(10, 10 + N_VALUES)))
    entries = [(i, code) for i, codes in enumerate(cells) for code in codes]
    counts = None
    if paired:
        counted = Counter(entries)
        entries, counts = list(counted), np.array(list(counted.values()))
    return CellColumn(
        coding=code_column(COLUMN, values, missing=True),
        low=np.array([min(codes) for codes in cells]),
        high=np.array([max(codes) for codes in cells]),
        cells=np.array([i for i, _ in entries]),
        codes=np.array([code for _, code in entries]),
        counts=counts,
    )


@given(cells_of_codes)
def test_ranges_are_those_of_the_values(cells):
    low, high = column_of(cells).value_range()

    held = [[code for code in codes if code < N_VALUES] for codes in cells]
    assert low.tolist() == [min(codes, default=-1) for codes in held]
    assert high.tolist() == [max(codes, default=-1) for codes in held]


@pytest.mark.slow
@given(cells_of_codes)
def test_missing_cells_are_seen(cells):
    assert column_of(cells).mixes_missing().tolist() == [N_VALUES in codes for codes in cells]


@given(cells_of_codes)
def test_values_that_leave_are_known(cells):
    found = column_of(cells).occurring()

    assert found.tolist() == [any(code in codes for codes in cells) for code in range(N_VALUES)]


@pytest.mark.slow
@given(cells_of_codes, st.booleans())
def test_rows_are_counted_alike_by_row_and_by_pair(cells, paired):
    counted = column_of(cells, paired=paired).counted()

    expected = Counter((i, c) for i, codes in enumerate(cells) for c in codes if c < N_VALUES)
    assert counted.rows() == sorted((*pair, n) for pair, n in expected.items())


@pytest.mark.parametrize("cells", [[[0, 1], [2]]])
def test_no_value_is_in_the_repr(cells):
    assert repr(column_of(cells)) == "CellColumn(Coding('age', 5 codes), 2 cells)"


PROTECTION = Protection(
    schema=Schema(
        (
            Column(name="age", role="quasi_identifier", kind="numeric"),
            Column(name="sex", role="quasi_identifier", kind="categorical"),
            Column(name="ill", role="sensitive", kind="categorical"),
        )
    ),
    guarantees=(KAnonymity(k=3), DistinctLDiversity(l=1, column="ill")),
    method=Mondrian(),
    recoding=Ranges(),
    max_suppression_fraction=0.0,
)


def table(n=200):
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "age": pl.Series(rng.integers(0, 30, n)).replace(7, None),
            "sex": rng.choice(["f", "m"], n),
            "ill": rng.choice(["a", "b", "c"], n),
        }
    )


def described(counts: CellCounts):
    histogram = counts.classes.histogram("ill")
    return (
        counts.classes.sizes.tolist(),
        (histogram.offsets.tolist(), histogram.codes.tolist(), histogram.counts.tolist()),
        [
            (cells.tolist(), codes.tolist(), n.tolist())
            for cells, codes, n in zip(counts.cells, counts.codes, counts.counts or (), strict=True)
        ],
    )


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(cuts=st.sets(st.integers(0, 200), max_size=5), seed=st.integers(0, 99))
def test_counts_of_batches_add_up_to_those_of_the_table(cuts, seed):
    rows = table()
    fitted = PROTECTION.fit(PROTECTION.summarize(rows))
    edges = [0, *sorted(cuts), 200]
    parts = [rows[start:stop] for start, stop in itertools.pairwise(edges)]
    np.random.default_rng(seed).shuffle(parts)

    counted = [PROTECTION.count(fitted, part) for part in parts]
    total = functools.reduce(operator.add, counted)

    whole = PROTECTION.count(fitted, rows)
    if len(counted) > 1:
        assert described(total) == described(whole + PROTECTION.count(fitted, rows[:0]))
    assert whole.classes.sizes.tolist() == fitted.partition.sizes.tolist()


def test_the_rows_of_the_fit_are_counted_alike():
    rows = table()
    fitted = PROTECTION.fit(PROTECTION.summarize(rows))

    of_fit, of_batch = CellCounts.of(fitted), PROTECTION.count(fitted, rows)

    assert of_fit.classes.sizes.tolist() == of_batch.classes.sizes.tolist()
    assert described(of_fit + PROTECTION.count(fitted, rows[:0])) == described(
        of_batch + PROTECTION.count(fitted, rows[:0])
    )


def test_a_row_without_a_cell_is_not_counted():
    rows = table()
    fitted = PROTECTION.fit(PROTECTION.summarize(rows))
    strange = pl.DataFrame({"age": [5, 5], "sex": ["f", "canary"], "ill": ["a", "a"]})

    assert PROTECTION.count(fitted, strange).classes.rows == 1


def test_cells_are_renumbered_and_dropped():
    rows = table()
    counts = PROTECTION.count(PROTECTION.fit(PROTECTION.summarize(rows)), rows)
    target = np.zeros(counts.classes.n_classes, dtype=np.int64)
    target[0] = -1

    left = counts.renumbered(target, 1)

    assert left.classes.rows == 200 - counts.classes.sizes[0]
    for column in range(2):
        cells, _, n = left.entries(column)
        assert n is not None
        assert set(cells.tolist()) == {0}
        assert n.sum() == left.classes.rows


def test_a_repr_counts():
    rows = table()
    counts = PROTECTION.count(PROTECTION.fit(PROTECTION.summarize(rows)), rows)

    assert repr(counts) == f"CellCounts({counts.classes.n_classes} cells, 200 rows)"
