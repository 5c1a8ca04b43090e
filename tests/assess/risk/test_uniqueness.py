"""Rows that no other row looks like."""

from __future__ import annotations

import numpy as np

from halfmask.assess.risk import Alike, sample_uniqueness


def test_rows_that_are_alone_are_counted(alike):
    found = sample_uniqueness(alike)

    assert (found.rows, found.share.value) == (1, 0.1)
    assert found.sentence.startswith("1 row (10 %) is the only one")


def test_a_row_that_may_be_another_is_not_alone():
    found = sample_uniqueness(Alike(rows=np.array([1, 1]), sample=np.array([2, 1])))

    assert (found.rows, found.share.value) == (1, 0.5)


def test_where_none_is_alone_it_says_so():
    sizes = np.array([2, 3])
    found = sample_uniqueness(Alike(rows=sizes, sample=sizes))

    assert found.sentence.startswith("0 rows (0 %) are")
    assert found.to_dict()["rows"] == 0
