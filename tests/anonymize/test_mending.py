"""Cells that miss a guarantee are suppressed within the budget, or merged into their parents."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import GuaranteeNotMetError
from halfmask.anonymize import Partition
from halfmask.anonymize._cells import CellCounts, count_cells
from halfmask.anonymize._fitted import Fitted
from halfmask.anonymize._mending import mend
from halfmask.anonymize._summary import SensitiveCodes
from halfmask.anonymize.coding import code_column
from halfmask.data import Column
from halfmask.guarantees import (
    AverageRisk,
    DistinctLDiversity,
    KAnonymity,
    RecordsAtRisk,
    SampleUniques,
    TCloseness,
)


def ladder(n_cells, *, deep=False):
    """Return a tree over codes 0, 1, ... of one column: halved each time, or one cut off each."""
    feature: list[int] = []
    cut: list[int] = []
    left: list[int] = []
    right: list[int] = []

    def grow(first, last):
        node = len(feature)
        for column in (feature, cut, left, right):
            column.append(0)
        if first == last:
            feature[node], left[node], right[node] = -1, first, -1
            return node
        at = first if deep else (first + last) // 2
        cut[node] = at
        left[node] = grow(first, at)
        right[node] = grow(at + 1, last)
        return node

    grow(0, n_cells - 1)
    ids = np.arange(n_cells)[:, None]
    return Partition(
        feature=np.array(feature, dtype=np.int32),
        cut=np.array(cut),
        left=np.array(left, dtype=np.int32),
        right=np.array(right, dtype=np.int32),
        low=ids,
        high=ids,
        sizes=np.ones(n_cells, dtype=np.int64),
    )


@dataclass(frozen=True)
class Cells:
    """Cells grown from one row each, and the rows that are counted in them."""

    fitted: Fitted
    counts: CellCounts


def cells_of(sizes, *, deep=False, ill=None):
    n = len(sizes)
    column = Column(name="x", role="quasi_identifier", kind="numeric")
    coding = code_column(column, pl.Series("x", range(n)), missing=False)
    rows = np.repeat(np.arange(n), sizes)
    values = tuple(sorted(set(ill or "")))
    sensitive: tuple[SensitiveCodes, ...] = ()
    if ill:
        order = SensitiveCodes.of(pl.Series("ill", list(ill)), order=values, missing=False)
        sensitive = (replace(order, codes=np.zeros(n, dtype=np.int64)),)
    fitted = Fitted(
        codings=(coding,),
        codes=(np.arange(n, dtype=np.uint8),),
        sensitive=sensitive,
        guarantees=(),
        partition=ladder(n, deep=deep),
        cell_of_row=np.arange(n, dtype=np.int32),
    )
    batch = pl.DataFrame({"x": rows, **({"ill": list(ill)} if ill else {})})
    return Cells(fitted=fitted, counts=count_cells(fitted, batch))


def mended(cells, guarantees, fraction=0.0):
    return mend(
        cells.fitted, cells.counts, guarantees=guarantees, max_suppression_fraction=fraction
    )


def joined(fitted):
    """Return which old cells each new one has, and which were suppressed."""
    of_cell = fitted.cell_of_row.tolist()
    groups = [
        [i for i, cell in enumerate(of_cell) if cell == new]
        for new in range(fitted.partition.n_cells)
    ]
    return groups, [i for i, cell in enumerate(of_cell) if cell < 0]


def test_cells_that_all_hold_stay():
    fitted, counts = mended(cells_of([3, 4, 5]), [KAnonymity(k=3)])

    assert joined(fitted) == ([[0], [1], [2]], [])
    assert fitted.partition.sizes.tolist() == counts.classes.sizes.tolist() == [3, 4, 5]


def test_a_small_cell_joins_its_sibling():
    fitted, counts = mended(cells_of([5, 1, 5, 5]), [KAnonymity(k=3)])

    assert joined(fitted) == ([[0, 1], [2], [3]], [])
    assert counts.classes.sizes.tolist() == [6, 5, 5]
    assert fitted.partition.low.ravel().tolist() == [0, 2, 3]
    assert fitted.partition.high.ravel().tolist() == [1, 2, 3]


def test_a_small_cell_whose_sibling_is_cut_on_joins_all_below():
    fitted, _ = mended(cells_of([1, 5, 5, 5], deep=True), [KAnonymity(k=3)])

    assert joined(fitted) == ([[0, 1, 2, 3]], [])


def test_nested_runs_become_one_cell():
    """One failing cell joins a part of what another joins: the wider run wins."""
    fitted, _ = mended(cells_of([5, 1, 5, 1, 5, 1], deep=True), [KAnonymity(k=3)])

    groups, _ = joined(fitted)
    assert groups == [[0], [1, 2, 3, 4, 5]]


def test_runs_side_by_side_stay_apart():
    fitted, _ = mended(cells_of([1, 2, 2, 1]), [KAnonymity(k=3)])

    assert joined(fitted) == ([[0, 1], [2, 3]], [])


def test_a_joined_cell_that_still_misses_climbs_on():
    fitted, _ = mended(cells_of([1, 1, 2, 2, 9, 9, 9, 9]), [KAnonymity(k=5)])

    groups, _ = joined(fitted)
    assert groups == [[0, 1, 2, 3], [4], [5], [6], [7]]


def test_within_the_budget_cells_are_suppressed_smallest_first():
    cells = cells_of([9, 2, 9, 1, 9, 9, 9, 2])

    fitted, counts = mended(cells, [KAnonymity(k=3)], fraction=3 / 50)

    groups, suppressed = joined(fitted)
    assert suppressed == [1, 3]
    assert groups == [[0], [2], [4], [5], [6, 7]]
    assert counts.classes.rows == 47


def test_what_is_left_beside_a_suppressed_sibling_climbs_over_it():
    """Both siblings miss, one is suppressed: the other must go on up, not stay for ever."""
    fitted, counts = mended(cells_of([1, 2, 50, 50]), [KAnonymity(k=3)], fraction=1.5 / 103)

    groups, suppressed = joined(fitted)
    assert suppressed == [0]
    assert groups == [[1, 2, 3]]
    assert counts.classes.sizes.min() >= 3


def test_where_suppression_leaves_too_little_all_is_merged_instead():
    fitted, counts = mended(cells_of([1, 2]), [KAnonymity(k=3)], fraction=0.4)

    assert joined(fitted) == ([[0, 1]], [])
    assert counts.classes.rows == 3


def test_a_promise_that_all_rows_together_miss():
    with pytest.raises(GuaranteeNotMetError, match="whole table"):
        mended(cells_of([1, 1]), [KAnonymity(k=3)])
    with pytest.raises(GuaranteeNotMetError):
        mended(cells_of([1, 1]), [KAnonymity(k=3)], fraction=0.99)


def test_a_cell_without_rows_promises_nothing():
    """Relaxed cuts may leave one: it is no failure, and costs no budget."""
    fitted, counts = mended(cells_of([3, 0, 3, 3]), [KAnonymity(k=3)])

    assert joined(fitted) == ([[0], [2], [3]], [1])
    assert counts.classes.sizes.tolist() == [3, 3, 3]


def test_rows_that_were_suppressed_before_stay_suppressed():
    cells = cells_of([3, 4, 1, 5])
    trimmed = cells.fitted.cell_of_row.copy()
    trimmed[1] = -1

    fitted, _ = mend(
        replace(cells.fitted, cell_of_row=trimmed),
        cells.counts,
        guarantees=[KAnonymity(k=3)],
        max_suppression_fraction=0.0,
    )

    assert fitted.cell_of_row.tolist() == [0, -1, 2, 2]


def test_diversity_merges_too():
    cells = cells_of([2, 2, 2], deep=True, ill="abaaab")

    fitted, _ = mended(cells, [DistinctLDiversity(l=2, column="ill")])

    assert joined(fitted) == ([[0], [1, 2]], [])


def test_after_suppression_closeness_is_judged_against_what_is_left():
    """Without the suppressed rows the whole is another table; cells that were close may not be."""
    ill = "ab" * 4 + "aab" * 2 + "bbbb"
    cells = cells_of([8, 6, 4], ill=ill)
    guarantee = TCloseness(t=0.17, column="ill")

    fitted, counts = mended(cells, [guarantee], fraction=4 / 18)

    judgement = guarantee.judge(counts.classes)
    assert judgement.holds
    assert counts.classes.histogram("ill").totals.sum() == counts.classes.rows
    assert counts.classes.rows == int(fitted.partition.sizes.sum())


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 9), min_size=1, max_size=40),
    k=st.integers(1, 12),
    fraction=st.sampled_from([0.0, 0.05, 0.3, 0.9]),
    deep=st.booleans(),
)
def test_mended_cells_keep_the_promise_within_the_budget(sizes, k, fraction, deep):
    cells = cells_of(sizes, deep=deep)
    if sum(sizes) < k:
        with pytest.raises(GuaranteeNotMetError):
            mended(cells, [KAnonymity(k=k)], fraction)
        return

    fitted, counts = mended(cells, [KAnonymity(k=k)], fraction)

    groups, suppressed = joined(fitted)
    assert counts.classes.sizes.min() >= k
    assert [sum(sizes[i] for i in group) for group in groups] == counts.classes.sizes.tolist()
    assert sum(sizes[i] for i in suppressed) <= fraction * sum(sizes)
    assert sorted([*suppressed, *(i for group in groups for i in group)]) == list(range(len(sizes)))
    # A joined cell is all that is left below one node: new rows find it by the tree.
    again = fitted.partition.cells_of([np.arange(len(sizes))])
    np.testing.assert_array_equal(again, fitted.cell_of_row)


def test_many_failing_cells_are_mended_at_once():
    """A hundred thousand small cells: joined in one pass, not one scan of all for each."""
    n = 1 << 16
    sizes = np.ones(n, dtype=np.int64)

    fitted, counts = mended(cells_of(sizes), [KAnonymity(k=16)])

    assert counts.classes.sizes.tolist() == [16] * (n // 16)
    assert fitted.partition.n_cells == n // 16


# --- guarantees of the whole table ---


def test_only_the_classes_to_blame_are_merged():
    fitted, counts = mended(cells_of([1, 1, 1, 9, 9, 9, 9, 9]), [AverageRisk(risk=0.13)])

    assert joined(fitted) == ([[0, 1], [2, 3], [4], [5], [6], [7]], [])
    assert counts.classes.n_classes == 6


def test_small_classes_are_suppressed_where_that_is_enough():
    """Two unique rows of 48 may go: without them five classes have 46 rows."""
    cells = cells_of([9, 1, 9, 9, 9, 1, 10])

    fitted, counts = mended(cells, [AverageRisk(risk=0.11)], fraction=2 / 48)

    assert joined(fitted) == ([[0], [2], [3], [4], [6]], [1, 5])
    assert counts.classes.rows == 46


def test_nothing_is_suppressed_in_vain():
    """Classes of one size: without some of them the average is the same."""
    cells = cells_of([2] * 8)

    fitted, counts = mended(cells, [AverageRisk(risk=0.25)], fraction=0.2)

    assert counts.classes.rows == 16
    assert joined(fitted)[1] == []
    assert counts.classes.n_classes <= 4


def test_what_is_left_after_merging_may_be_suppressed():
    """Six unique rows, one may stay: some are merged, and the budget is spent on one class."""
    sizes = [1, 1, 1, 1, 1, 1, 20, 20]

    fitted, counts = mended(cells_of(sizes), [SampleUniques(share=0)], fraction=1.5 / 46)

    assert counts.classes.sizes.min() >= 2
    assert counts.classes.rows >= 45
    assert fitted.partition.n_cells > 2


def test_each_class_comes_first_and_the_table_last():
    """Cells that are merged for k may be all that the average asks for."""
    sizes = [1, 1, 1, 1, 20, 20, 20, 20]
    alone, _ = mended(cells_of(sizes), [KAnonymity(k=2)])

    fitted, _ = mended(cells_of(sizes), [AverageRisk(risk=0.08), KAnonymity(k=2)])

    assert joined(fitted) == joined(alone)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 9), min_size=1, max_size=40),
    bound=st.sampled_from([0.0, 0.05, 0.2, 0.5]),
    k=st.integers(1, 4),
    fraction=st.sampled_from([0.0, 0.05, 0.3, 0.9]),
    deep=st.booleans(),
)
def test_a_mended_table_keeps_what_it_promises_as_a_whole(sizes, bound, k, fraction, deep):
    """Mending ends, within the budget, with what a slow count finds to hold; or it raises."""
    rows = sum(sizes)
    guarantees = [
        *([AverageRisk(risk=bound)] if bound else []),
        SampleUniques(share=bound),
        RecordsAtRisk(share=bound, risk=0.3),
        KAnonymity(k=k),
    ]
    possible = rows >= max(k, 4) and (not bound or rows * bound >= 1)
    cells = cells_of(sizes, deep=deep)
    try:
        fitted, counts = mended(cells, guarantees, fraction)
    except GuaranteeNotMetError:
        assert not possible
        return

    groups, suppressed = joined(fitted)
    left = [sum(sizes[i] for i in group) for group in groups]
    n = sum(left)
    assert left == counts.classes.sizes.tolist()
    assert sum(sizes[i] for i in suppressed) <= fraction * rows
    assert not bound or len(left) <= bound * n * (1 + 1e-12)
    assert left.count(1) <= bound * n * (1 + 1e-12)
    assert sum(size for size in left if size < 4) <= bound * n * (1 + 1e-12)
    assert min(left) >= k
    again = fitted.partition.cells_of([np.arange(len(sizes))])
    np.testing.assert_array_equal(again, fitted.cell_of_row)


def test_many_classes_are_merged_at_once():
    """A table as a whole that misses by sixty thousand cells: a few passes, not one for each."""
    n = 1 << 16

    fitted, counts = mended(cells_of(np.ones(n, dtype=np.int64)), [AverageRisk(risk=0.05)])

    assert n * 0.04 < counts.classes.n_classes <= n * 0.05
    assert fitted.partition.n_cells == counts.classes.n_classes
