"""The persons of classes, against sets of tuples."""

from __future__ import annotations

import random
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.guarantees import ClassMembers, _histogram


class Naive:
    """Rows as tuples of class, person and value."""

    def __init__(self, rows):
        self.rows = set(rows)

    def sizes(self, n_classes):
        return [len({p for c, p, _ in self.rows if c == at}) for at in range(n_classes)]

    def histogram(self, n_classes, n_values):
        return [
            [
                len({p for c, p, v in self.rows if (c, v) == (at, value)})
                for value in range(n_values)
            ]
            for at in range(n_classes)
        ]

    def several(self):
        values = defaultdict(set)
        for _, person, value in self.rows:
            values[person].add(value)
        return sum(len(each) > 1 for each in values.values())

    def moved(self, into):
        return Naive((into[c], p, v) for c, p, v in self.rows if into[c] >= 0)


def counted(rows, n_classes, n_values):
    classes, persons, values = (np.array(each, dtype=np.int64) for each in zip(*rows, strict=True))
    return ClassMembers.count(classes, persons, n_classes, {"ill": (values, n_values)})


def grid(members, n_values):
    histogram = members.histograms["ill"]
    found = np.zeros((members.n_classes, n_values), dtype=int)
    found[histogram.class_of_entry, histogram.codes] = histogram.counts
    return found.tolist()


def same(members, naive, n_values):
    n = members.n_classes
    assert members.sizes.tolist() == naive.sizes(n)
    assert grid(members, n_values) == naive.histogram(n, n_values)
    assert members.with_several_values("ill") == naive.several()
    assert members.n_persons == len({p for _, p, _ in naive.rows})
    assert set(members.persons.rows()) == {(c, p) for c, p, _ in naive.rows}


@pytest.mark.slow
@given(st.integers(0, 10**6), st.booleans())
def test_counts_merges_and_sums_are_those_of_sets(seed, wide):
    draw = random.Random(seed)
    n_classes, n_values = draw.randrange(1, 7), draw.randrange(1, 4)
    # Numbers of persons as large as this leave no room to sort pairs as one number.
    far = 2**60 if wide else 1
    rows = [
        (draw.randrange(n_classes), far * draw.randrange(6), draw.randrange(n_values))
        for _ in range(draw.randrange(1, 40))
    ]
    if wide:
        n_values = 1
        rows = [(c, p, 0) for c, p, _ in rows]
    members, naive = counted(rows, n_classes, n_values), Naive(rows)
    same(members, naive, n_values)
    n_after = draw.randrange(1, n_classes + 1)
    into = [draw.randrange(-1, n_after) for _ in range(n_classes)]
    moved = members.renumbered(np.array(into), n_after)
    same(moved, naive.moved(into), n_values)
    half = draw.randrange(1, len(rows) + 1)
    if half < len(rows):
        both = counted(rows[:half], n_classes, n_values) + counted(rows[half:], n_classes, n_values)
        same(both, naive, n_values)


def test_the_comparison_sees_a_person_who_is_counted_twice(monkeypatch):
    rows = [(0, 1, 0), (1, 1, 0), (1, 2, 1)]
    members = counted(rows, 2, 2)
    merged = np.zeros(2, dtype=np.int64)
    same(members.renumbered(merged, 1), Naive(rows).moved([0, 0]), 2)

    def not_merged(self, into, n_classes):
        del n_classes
        return _histogram._Pairs(into[self.classes], self.keys)

    monkeypatch.setattr(_histogram._Pairs, "renumbered", not_merged)
    with pytest.raises(AssertionError):
        same(members.renumbered(merged, 1), Naive(rows).moved([0, 0]), 2)
