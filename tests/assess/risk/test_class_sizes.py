"""The distribution of class sizes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.assess.risk import Alike, class_sizes


@given(st.lists(st.integers(1, 3000), min_size=1, max_size=20))
def test_every_class_and_row_is_in_one_bin(sizes):
    rows = np.array(sizes)
    found = class_sizes(Alike(rows=rows, sample=rows))

    assert sum(each.classes for each in found.bins) == len(sizes)
    assert sum(each.rows for each in found.bins) == sum(sizes)
    for each in found.bins:
        inside = [n for n in sizes if each.low <= n and (each.high is None or n <= each.high)]
        assert (each.classes, each.rows) == (len(inside), sum(inside))


@pytest.mark.slow
@given(st.lists(st.integers(1, 50), min_size=1, max_size=20))
def test_half_of_the_rows_look_like_the_median_or_more(sizes):
    rows = np.array(sizes)
    found = class_sizes(Alike(rows=rows, sample=rows))
    of_row = sorted((n for n in sizes for _ in range(n)), reverse=True)

    assert found.median_of_rows == of_row[(len(of_row) + 1) // 2 - 1]
    assert (found.smallest, found.largest) == (min(sizes), max(sizes))
    assert found.average == pytest.approx(sum(sizes) / len(sizes))


def test_bins_follow_each_other_without_a_gap(alike):
    bins = class_sizes(alike).bins

    assert bins[0].low == 1
    assert [each.low for each in bins[1:]] == [(each.high or 0) + 1 for each in bins[:-1]]
    assert bins[-1].high is None


def test_it_says_so(alike):
    assert class_sizes(alike).sentence == (
        "There are 4 groups of rows that look alike, the smallest of 1 row and the largest of "
        "5 rows; half of the rows are in groups of 5 or more."
    )
    assert class_sizes(alike).to_dict()["classes"] == 4
