"""The R+ tree's cut: the one that leaves the smallest boxes, of those that may be made."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.anonymize._growth import SplitCriterion, grow_partition
from halfmask.anonymize._sensitive_codes import SensitiveCodes
from halfmask.guarantees import Classes, DistinctLDiversity, EntropyLDiversity, KAnonymity


def flat(n_codes):
    return [np.zeros(n - 1, dtype=np.uint8) for n in n_codes]


def grow(rows, n_codes, guarantees, *, share, boundaries=None, sensitive=()):
    return grow_partition(
        list(np.asarray(rows).T),
        n_codes,
        boundaries or flat(n_codes),
        sensitive=sensitive,
        guarantees=guarantees,
        criterion=SplitCriterion(search="margin", min_fraction=share),
    )


def size_of(rows, n_codes):
    widths = (rows.max(0) - rows.min(0)) / (np.array(n_codes) - 1)
    return len(rows) * widths.sum()


def best_sizes(rows, n_codes, k, share):
    """Return the size of both boxes of each column's cuts that are even enough, else of its best.

    From the definition: every cut of every column, the rows of both sides, their boxes.
    """
    n, sizes = len(rows), []
    for j in range(rows.shape[1]):
        offers = []
        for cut in range(rows[:, j].min(), rows[:, j].max()):
            left = rows[:, j] <= cut
            smaller = min(left.sum(), n - left.sum())
            if smaller >= k:
                both = size_of(rows[left], n_codes) + size_of(rows[~left], n_codes)
                offers.append((int(smaller), both))
        even = min(
            ceil(Fraction(str(share)) * n), max((smaller for smaller, _ in offers), default=0)
        )
        sizes += [both for smaller, both in offers if smaller >= even]
    return sizes


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 2), st.integers(0, 40)),
        min_size=2,
        max_size=40,
    ),
    k=st.integers(1, 8),
    share=st.sampled_from([0.0, 0.25, 0.4, 0.5]),
)
def test_the_first_cut_leaves_the_smallest_boxes(rows, k, share):
    rows, n_codes = np.array(rows), [7, 3, 41]
    k = min(k, len(rows))

    partition, _ = grow(rows, n_codes, [KAnonymity(k=k)], share=share)

    sizes = best_sizes(rows, n_codes, k, share)
    feature, cut = partition.feature[0], partition.cut[0]
    assert (feature >= 0) == bool(sizes)
    if sizes:
        left = rows[:, feature] <= cut
        both = size_of(rows[left], n_codes) + size_of(rows[~left], n_codes)
        assert both == pytest.approx(min(sizes))


def test_a_least_share_is_counted_exactly():
    """7 of 25 rows are .28 of them: in binary 7.000000000000001, which would ask for 8."""
    rows = [(0,)] * 7 + [(40,)] * 18

    partition, _ = grow(np.array(rows), [41], [KAnonymity(k=1)], share=0.28)

    assert partition.n_cells == 2


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    k=st.integers(1, 30),
    cards=st.lists(st.sampled_from([2, 5, 256, 300, 5000, 70_000]), min_size=1, max_size=4),
)
def test_every_cell_keeps_k_and_holds_its_rows(seed, k, cards):
    """Also where a column's codes are looked at in steps of many."""
    rng = np.random.default_rng(seed)
    rows = np.stack([(rng.random(300) ** 2 * card).astype(np.int64) for card in cards], axis=1)

    partition, cells = grow(rows, cards, [KAnonymity(k=k)], share=0.25)

    sizes = np.bincount(cells, minlength=partition.n_cells)
    np.testing.assert_array_equal(sizes, partition.sizes)
    assert sizes.min() >= k
    np.testing.assert_array_equal(partition.cells_of(list(rows.T)), cells)
    for cell in range(partition.n_cells):
        np.testing.assert_array_equal(partition.low[cell], rows[cells == cell].min(0))
        np.testing.assert_array_equal(partition.high[cell], rows[cells == cell].max(0))


def test_every_side_keeps_every_rule():
    rng = np.random.default_rng(7)
    rows = rng.integers(0, 30, (600, 3))
    codes = rng.choice(5, 600, p=[0.6, 0.2, 0.1, 0.05, 0.05])
    sensitive = SensitiveCodes(name="s", order=tuple("01234"), n_values=5, codes=codes)
    guarantees = [
        KAnonymity(k=5),
        DistinctLDiversity(l=3, column="s"),
        EntropyLDiversity(l=2.2, column="s"),
    ]

    partition, cells = grow(rows, [30] * 3, guarantees, share=0.25, sensitive=(sensitive,))

    classes = Classes.from_codes(cells, partition.n_cells, {"s": (codes, 5)})
    assert partition.n_cells > 10
    assert all(guarantee.judge(classes).holds for guarantee in guarantees)


def test_a_tree_is_cut_between_the_children_of_its_top():
    """Eight codes in two groups of three and five: behind 2 or not at all."""
    boundaries = [np.array([1, 1, 2, 1, 1, 1, 1], dtype=np.uint8)]
    rows = np.repeat(np.arange(8), 3)[:, None]

    partition, _ = grow(rows, [8], [KAnonymity(k=9)], share=0.0, boundaries=boundaries)
    none, _ = grow(rows, [8], [KAnonymity(k=10)], share=0.0, boundaries=boundaries)

    assert (partition.feature[0], partition.cut[0]) == (0, 2)
    assert none.n_cells == 1


def test_it_loses_less_than_medians_where_a_column_has_a_gap():
    """Two clusters of unlike size: the box between them is empty, a median's cut goes through one.

    Widths are ranks, so that a gap is seen only across columns: one cluster has few of the second
    column's values.
    """
    rng = np.random.default_rng(3)
    small, large = rng.integers(0, 4, (60, 2)), rng.integers(4, 40, (240, 2))
    rows = np.concatenate([small, large])

    def mean_loss(search):
        criterion = SplitCriterion(search=search, min_fraction=0.0)
        partition, _ = grow_partition(
            list(rows.T),
            [40, 40],
            flat([40, 40]),
            sensitive=(),
            guarantees=[KAnonymity(k=40)],
            criterion=criterion,
        )
        return (partition.sizes[:, None] * (partition.high - partition.low)).sum()

    assert mean_loss("margin") < 0.9 * mean_loss("median")
