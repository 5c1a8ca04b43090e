"""Counts of rows by cell and code add up, whatever the batches."""

from __future__ import annotations

import functools
import itertools
import operator

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.anonymize import CellCounts, Mondrian, Protection, Ranges
from halfmask.data import Column, Schema
from halfmask.guarantees import DistinctLDiversity, KAnonymity

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
