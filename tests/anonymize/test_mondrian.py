"""Mondrian: the widest column, at its median."""

from __future__ import annotations

import numpy as np

from halfmask.anonymize import Anonymizer, Method, Mondrian
from halfmask.guarantees import KAnonymity


def cells(rows, *, k, strict=True):
    anonymizer = Anonymizer(guarantees=[KAnonymity(k=k)], method=Mondrian(strict=strict))
    return anonymizer.fit(np.array(rows, dtype=float)).cells_.tolist()


def test_it_is_a_method_that_needs_no_guide():
    assert isinstance(Mondrian(), Method)
    assert (Mondrian.name, Mondrian.needs_guide) == ("mondrian", False)
    assert Mondrian(strict=False).plan_growth(None).strict is False


def test_one_column_is_cut_at_its_median():
    assert cells([[n] for n in range(8)], k=2) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_the_widest_column_is_cut():
    """Both columns are as wide at first; then the first is narrow on both sides, the second not."""
    rows = [[a, b] for a in (0, 1, 8, 9) for b in (0, 9)]

    found = cells(rows, k=2)

    assert found == [0, 1, 0, 1, 2, 3, 2, 3]


def test_strict_cuts_keep_equal_rows_together_and_relaxed_ones_share_them_out():
    rows = [[1]] * 2 + [[2]] * 4 + [[3]] * 2

    strict, relaxed = cells(rows, k=4), cells(rows, k=4, strict=False)

    assert set(strict) == {0}
    assert sorted(relaxed) == [0] * 4 + [1] * 4
