"""Joined runs of a sequence keep every rule."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.anonymize._growth import engine_rules
from halfmask.anonymize._summary import SensitiveCodes
from halfmask.guarantees import (
    Classes,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    RecursiveCLDiversity,
    TCloseness,
)
from halfmask.kernels.partition.criteria import rules_hold
from halfmask.kernels.partition.joining import join_runs


def cuts_of(origin):
    cuts = [len(origin) - 1]
    while cuts[-1]:
        cuts.append(int(origin[cuts[-1]]))
    return cuts[::-1]


def loss(points, starts, scale, first, last):
    box = points[first:last]
    return float((starts[last] - starts[first]) * ((box.max(0) - box.min(0)) * scale).sum())


def total(points, starts, scale, cuts):
    runs = itertools.pairwise(cuts)
    return sum(loss(points, starts, scale, first, last) for first, last in runs)


@st.composite
def sequences(draw):
    n = draw(st.integers(1, 9))
    points = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=n, max_size=n))
    rows = draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    starts = np.concatenate([[0], np.cumsum(rows)]).astype(np.int64)
    return np.array(points, dtype=np.int32), starts


GUARANTEES = [
    DistinctLDiversity(l=3, column="s"),
    EntropyLDiversity(l=1.8, column="s"),
    RecursiveCLDiversity(c=2.0, l=2, column="s"),
    TCloseness(t=0.3, column="s"),
    TCloseness(t=0.0, column="s"),
]


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    sequence=sequences(),
    values=st.lists(st.integers(0, 3), min_size=36, max_size=36),
    guarantee=st.sampled_from(GUARANTEES),
    reach=st.integers(1, 9),
)
def test_joined_runs_keep_the_rules_whatever_they_are(sequence, values, guarantee, reach):
    points, starts = sequence
    n = int(starts[-1])
    codes = np.array(values[:n])
    sensitive = SensitiveCodes(name="s", order=tuple("0123"), n_values=4, codes=codes)
    rules, k = engine_rules([KAnonymity(k=2), guarantee], [sensitive])
    scale, origin = np.array([0.2, 1 / 3]), np.zeros(len(starts), dtype=np.int64)

    def judged(of_row):
        classes = Classes.from_codes(of_row, int(of_row.max()) + 1, {"s": (codes, 4)})
        return guarantee.judge(classes)

    def allowed(first, last):
        counts = np.bincount(codes[first:last], minlength=4)[None]
        return rules_hold(counts, 0, last - first, rules, np.empty((4, 4)), False)

    join_runs(points, points, starts, codes[None], scale, k, rules, reach, origin)
    cuts = cuts_of(origin)

    if judged(np.zeros(n, dtype=np.int64)).holds and n >= k:
        sizes = starts[cuts[1:]] - starts[cuts[:-1]]
        assert sizes.min() >= k
        assert judged(np.repeat(np.arange(len(sizes)), sizes)).holds
        plain = left_to_right(starts, k, allowed)
        assert total(points, starts, scale, cuts) <= total(points, starts, scale, plain) + 1e-9


def left_to_right(starts, k, allowed):
    """Join runs from the left, each as short as it can be; lengthen the last to the left."""
    cuts = [0]
    for stop in range(1, len(starts)):
        first, last = starts[cuts[-1]], starts[stop]
        if last - first >= k and allowed(first, last):
            cuts.append(stop)
    end = len(starts) - 1

    def misses(first):
        return starts[end] - first < k or not allowed(first, starts[end])

    while cuts[-1] != end and len(cuts) > 1 and misses(starts[cuts[-1]]):
        cuts.pop()
    return cuts if cuts[-1] == end else [*cuts, end]


def test_a_rule_that_takes_more_runs_than_are_looked_at_is_kept_all_the_same():
    """All of one value first, then all of the other: only everything together has both halves."""
    n = 400
    codes = (np.arange(n) >= n // 2).astype(np.int64)
    sensitive = SensitiveCodes(name="s", order=("0", "1"), n_values=2, codes=codes)
    rules, k = engine_rules([EntropyLDiversity(l=1.9, column="s")], [sensitive])
    points = np.arange(n, dtype=np.int32)[:, None]
    origin = np.zeros(n + 1, dtype=np.int64)

    join_runs(points, points, np.arange(n + 1), codes[None], np.array([1.0]), k, rules, 4, origin)

    assert cuts_of(origin) == [0, n]
