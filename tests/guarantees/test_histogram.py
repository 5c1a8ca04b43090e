"""Histograms by class: counted sparsely, against a dictionary."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ParameterError
from halfmask.guarantees import Histogram
from halfmask.guarantees import _histogram as module

N_CLASSES, N_VALUES = 4, 5
tables = st.lists(
    st.tuples(st.integers(0, N_CLASSES - 1), st.integers(0, N_VALUES - 1)), max_size=30
)


def counted(rows, **weights):
    return Histogram.count(
        [row[0] for row in rows],
        [row[1] for row in rows],
        n_classes=N_CLASSES,
        n_values=N_VALUES,
        **weights,
    )


def as_counter(histogram):
    """Read the histogram back, class by class."""
    return Counter(
        {
            (i, int(histogram.codes[at])): int(histogram.counts[at])
            for i in range(histogram.n_classes)
            for at in range(histogram.offsets[i], histogram.offsets[i + 1])
        }
    )


@given(tables)
def test_every_row_is_counted_once(rows):
    histogram = counted(rows)

    assert as_counter(histogram) == Counter(rows)
    assert histogram.totals.tolist() == [
        sum(v == code for _, v in rows) for code in range(N_VALUES)
    ]
    assert (histogram.counts > 0).all()


@given(tables)
def test_sorting_counts_as_the_grid_does(rows):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_GRID_LIMIT", 0)
        assert as_counter(counted(rows)) == Counter(rows)
        weights = np.arange(1, len(rows) + 1)
        weighed = as_counter(counted(rows, weights=weights))
    expected: Counter[tuple[int, int]] = Counter()
    for row, weight in zip(rows, weights.tolist(), strict=True):
        expected[row] += weight
    assert weighed == expected


@given(tables, tables)
def test_histograms_of_batches_add_up(first, second):
    assert as_counter(counted(first) + counted(second)) == Counter(first + second)


@given(tables)
def test_merged_classes_have_the_rows_of_both(rows):
    into = np.array([0, 1, 0, 1])

    merged = counted(rows).coarsened(into, 2)

    assert as_counter(merged) == Counter((int(into[i]), v) for i, v in rows)


@pytest.mark.slow
@given(tables)
def test_values_that_do_not_occur_are_left_out(rows):
    kept = sorted({v for _, v in rows})

    compact = counted(rows).compact()

    assert compact.n_values == len(kept)
    assert as_counter(compact) == Counter((i, kept.index(v)) for i, v in rows)


@given(tables.filter(bool))
def test_values_are_counted_as_their_nodes(rows):
    nodes = np.array([0, 0, 1, 1, 2])

    assert as_counter(counted(rows).generalized(nodes)) == Counter(
        (i, int(nodes[v])) for i, v in rows
    )


@pytest.mark.parametrize(
    ("classes", "codes", "message"),
    [
        ([0, 4], [0, 0], "class_of_row"),
        ([0, -1], [0, 0], "class_of_row"),
        ([0, 1], [0, 5], "codes"),
        ([0, 1], [0, -1], "codes"),
        ([0, 1], [0], "one each per row"),
    ],
)
def test_what_is_out_of_range_is_refused(classes, codes, message):
    with pytest.raises(ParameterError, match=message):
        Histogram.count(classes, codes, n_classes=N_CLASSES, n_values=N_VALUES)


def test_histograms_of_other_shapes_do_not_add_up():
    other = Histogram.count([0], [0], n_classes=1, n_values=N_VALUES)

    with pytest.raises(ParameterError, match="don't add up"):
        counted([]) + other  # raising is the point
