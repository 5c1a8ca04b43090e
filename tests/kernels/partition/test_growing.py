"""Grown partitions: against a slow Mondrian written from the paper, and by their invariants."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.anonymize._growth import GrowthPlan, grow_partition
from halfmask.anonymize._summary import SensitiveCodes
from halfmask.guarantees import (
    Classes,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    RecursiveCLDiversity,
    TCloseness,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

CARDINALITIES = (1, 2, 3, 7, 40, 255, 256, 257, 2000, 70_000)


@dataclass(kw_only=True)
class Table:
    """Codes by column, how many codes each may have, and the levels at which neighbours meet."""

    codes: list[NDArray[np.int64]]
    n_codes: list[int]
    boundaries: list[NDArray[np.uint8]] = field(default_factory=list)
    sensitive: tuple[SensitiveCodes, ...] = ()

    def __post_init__(self):
        self.boundaries = self.boundaries or [flat(n) for n in self.n_codes]

    @property
    def n(self):
        return len(self.codes[0])


def flat(n_codes):
    return np.zeros(max(0, n_codes - 1), dtype=np.uint8)


def random_tree(rng, n_codes):
    """Return the level at which each code and the next come together, of a random tree."""
    return np.minimum(rng.geometric(0.5, max(0, n_codes - 1)), 4).astype(np.uint8)


def random_table(seed, *, n, cardinalities, tiered=(), values=0):
    rng = np.random.default_rng(seed)
    codes = []
    for card in cardinalities:
        skewed = rng.random(n) ** rng.choice([1, 3])
        codes.append((skewed * card).astype(np.int64))
    sensitive: tuple[SensitiveCodes, ...] = ()
    if values:
        of_row = rng.integers(0, values, n)
        sensitive = (
            SensitiveCodes(
                name="s", order=tuple(map(str, range(values))), n_values=values, codes=of_row
            ),
        )
    return Table(
        codes=codes,
        n_codes=list(cardinalities),
        boundaries=[
            random_tree(rng, card) if j in tiered else flat(card)
            for j, card in enumerate(cardinalities)
        ],
        sensitive=sensitive,
    )


def grow(table, guarantees, plan=None):
    return grow_partition(
        table.codes,
        table.n_codes,
        table.boundaries,
        sensitive=table.sensitive,
        guarantees=guarantees,
        plan=plan or GrowthPlan(),
    )


def judge(table, cells, guarantees):
    classes = Classes.from_codes(
        cells, int(cells.max()) + 1, {s.name: (s.codes, s.n_values) for s in table.sensitive}
    )
    return [guarantee.judge(classes).holds for guarantee in guarantees]


def check(table, guarantees, partition, cells, *, strict=True):
    """Assert what every partition must be."""
    rows = np.stack(table.codes)
    assert len(cells) == table.n
    assert cells.min() >= 0
    np.testing.assert_array_equal(np.bincount(cells, minlength=partition.n_cells), partition.sizes)
    assert all(judge(table, cells, guarantees))
    for cell in range(partition.n_cells):
        inside = rows[:, cells == cell]
        np.testing.assert_array_equal(partition.low[cell], inside.min(axis=1))
        np.testing.assert_array_equal(partition.high[cell], inside.max(axis=1))
    _check_tree(partition)
    if strict:
        np.testing.assert_array_equal(partition.cells_of(table.codes), cells)
        _check_disjoint(partition)


def _check_tree(partition):
    """Every node but the root is the child of one; cells are numbered from left to right."""
    inner = partition.feature >= 0
    children = np.concatenate([partition.left[inner], partition.right[inner]])
    assert sorted(children.tolist()) == list(range(1, len(partition.feature)))
    in_order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        if partition.feature[node] < 0:
            in_order.append(int(partition.left[node]))
        else:
            waiting += [int(partition.right[node]), int(partition.left[node])]
    assert in_order == list(range(partition.n_cells))


def _check_disjoint(partition):
    low, high = partition.low[:400], partition.high[:400]
    apart = (low[:, None] > high[None]) | (high[:, None] < low[None])
    alone = apart.any(axis=2)
    np.fill_diagonal(alone, val=True)
    assert alone.all()


# --- a slow Mondrian, from LeFevre, DeWitt and Ramakrishnan 2006, figures 4 and 6 ---


def naive_cut(rows, table, column, allowed):
    """Return the first of the two permitted cuts next to the median that is allowed, or None."""
    codes = sorted(rows[column])
    low, high, n = codes[0], codes[-1], len(codes)
    median = codes[n // 2]
    edges = table.boundaries[column]
    if edges.any():
        inside = [int(level) for level in edges[low:high] if level != 255]
        top = max(inside, default=0)
        permitted = [c for c in range(low, high) if edges[c] >= top]
    else:
        permitted = list(range(low, high))
    before = max((c for c in permitted if c < median), default=None)
    behind = min((c for c in permitted if c >= median), default=None)
    below = sum(code < median for code in codes)
    up_to = sum(code <= median for code in codes)
    nearest = [behind, before] if abs(up_to - n / 2) <= abs(below - n / 2) else [before, behind]
    return next((cut for cut in nearest if cut is not None and allowed(cut)), None)


def naive_mondrian(table, allowed):
    """Return the sets of rows of a strict Mondrian partition."""

    def partition(members):
        rows = [[int(codes[i]) for i in members] for codes in table.codes]
        widths = [
            (max(row) - min(row)) * (1.0 / max(1, n - 1))
            for row, n in zip(rows, table.n_codes, strict=True)
        ]
        for column in sorted(range(len(rows)), key=lambda j: -widths[j]):
            if widths[column] == 0:
                break
            sides = [
                lambda cut, column=column: [i for i in members if table.codes[column][i] <= cut],
                lambda cut, column=column: [i for i in members if table.codes[column][i] > cut],
            ]
            cut = naive_cut(
                rows, table, column, lambda cut, sides=sides: all(allowed(s(cut)) for s in sides)
            )
            if cut is not None:
                return [cell for side in sides for cell in partition(side(cut))]
        return [members]

    return partition(list(range(table.n)))


def as_sets(cells):
    return {frozenset(np.flatnonzero(cells == cell).tolist()) for cell in np.unique(cells)}


small = st.lists(st.sampled_from([1, 2, 3, 5, 9, 20]), min_size=1, max_size=4)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 60),
    cardinalities=small,
    k=st.integers(1, 9),
    tiers=st.sets(st.integers(0, 3)),
)
def test_a_partition_is_that_of_the_paper(seed, n, cardinalities, k, tiers):
    table = random_table(seed, n=max(n, k), cardinalities=cardinalities, tiered=tiers)

    partition, cells = grow(table, [KAnonymity(k=k)])

    check(table, [KAnonymity(k=k)], partition, cells)
    naive = naive_mondrian(table, lambda rows: len(rows) >= k)
    assert as_sets(cells) == set(map(frozenset, naive))


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(20, 60),
    cardinalities=small,
    k=st.integers(1, 5),
    l=st.integers(1, 4),
)
def test_a_diverse_partition_is_that_of_the_paper(seed, n, cardinalities, k, l):
    table = random_table(seed, n=n, cardinalities=cardinalities, values=4)
    of_row = table.sensitive[0].codes
    of_row[:4] = range(4)
    guarantees = [KAnonymity(k=k), DistinctLDiversity(l=l, column="s")]

    partition, cells = grow(table, guarantees)

    def allowed(rows):
        return len(rows) >= k and len(set(of_row[rows].tolist())) >= l

    check(table, guarantees, partition, cells)
    assert as_sets(cells) == set(map(frozenset, naive_mondrian(table, allowed)))


# --- invariants, on tables of every lane type ---


def rules_for(choice, values):
    half = tuple(range(values))
    return {
        "none": [],
        "distinct": [DistinctLDiversity(l=2, column="s")],
        "entropy": [EntropyLDiversity(l=1.5, column="s")],
        "recursive": [RecursiveCLDiversity(c=2.5, l=2, column="s")],
        "equal": [TCloseness(t=0.35, column="s")],
        "ordered": [TCloseness(t=0.2, column="s", distance="ordered")],
        "several": [
            DistinctLDiversity(l=min(3, len(half)), column="s"),
            TCloseness(t=0.5, column="s"),
        ],
    }[choice]


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n=st.one_of(st.integers(1, 60), st.integers(60, 3000)),
    cardinalities=st.lists(st.sampled_from(CARDINALITIES), min_size=1, max_size=6),
    k=st.sampled_from([1, 2, 3, 5, 10, 50]),
    tiers=st.sets(st.integers(0, 5)),
    choice=st.sampled_from(
        ["none", "none", "distinct", "entropy", "recursive", "equal", "ordered", "several"]
    ),
    criterion=st.sampled_from(["strict", "strict", "relaxed", "labels", "probabilities"]),
)
def test_invariants(seed, n, cardinalities, k, tiers, choice, criterion):
    n, values = max(n, k, 4), 4
    table = random_table(seed, n=n, cardinalities=cardinalities, tiered=tiers, values=values)
    table.sensitive[0].codes[:values] = range(values)
    guarantees = [KAnonymity(k=k), *rules_for(choice, values)]
    if not all(judge(table, np.zeros(n, dtype=np.int64), guarantees)):
        return  # the whole table misses it; that is an error, and another test's
    rng = np.random.default_rng(seed)
    how = {
        "strict": GrowthPlan(),
        "relaxed": GrowthPlan(strict=False),
        "labels": GrowthPlan(guides=np.eye(3)[rng.integers(0, 3, n)], min_gain=0.001),
        "probabilities": GrowthPlan(guides=rng.random((n, 2)), min_gain=0.01),
    }[criterion]

    partition, cells = grow(table, guarantees, how)

    check(table, guarantees, partition, cells, strict=criterion != "relaxed")
    again, cells_again = grow(table, guarantees, how)
    np.testing.assert_array_equal(cells, cells_again)
    np.testing.assert_array_equal(partition.cut, again.cut)


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(10, 1500),
    cardinalities=st.lists(st.sampled_from(CARDINALITIES), min_size=1, max_size=4),
    k=st.sampled_from([1, 2, 5, 10]),
)
def test_no_cell_can_be_cut_any_more(seed, n, cardinalities, k):
    """Without other guarantees or hierarchies a strict partition is as fine as cuts make it."""
    table = random_table(seed, n=max(n, k), cardinalities=cardinalities)

    _, cells = grow(table, [KAnonymity(k=k)])

    check_finest(table, cells, k)


def check_finest(table, cells, k):
    """Assert that no cut of any column leaves k rows on both sides of it in any cell."""
    rows = np.stack(table.codes)
    for cell in range(int(cells.max()) + 1):
        for codes in rows[:, cells == cell]:
            _, counts = np.unique(codes, return_counts=True)
            left = np.cumsum(counts)[:-1]
            assert not ((left >= k) & (len(codes) - left >= k)).any()


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 400),
    card=st.sampled_from([1, 2, 3, 50, 300]),
    k=st.integers(1, 12),
)
def test_relaxed_cells_have_fewer_than_two_k_rows(seed, n, card, k):
    """LeFevre et al., section 2.3: relaxed, only rows that are all alike make a larger class."""
    table = random_table(seed, n=max(n, k), cardinalities=[card, card])

    _, cells = grow(table, [KAnonymity(k=k)], GrowthPlan(strict=False))

    rows = np.stack(table.codes)
    for cell in range(int(cells.max()) + 1):
        inside = rows[:, cells == cell]
        assert inside.shape[1] >= k
        alike = (inside == inside[:, :1]).all()
        assert alike or inside.shape[1] < 2 * k


# --- guided ---


def naive_gains(table, guides, k):
    """Return the gain of every permitted cut of the whole table, by column and cut."""

    def deviation(values):
        return float(((values - values.mean(axis=0)) ** 2).sum())

    gains = {}
    for j, codes in enumerate(table.codes):
        for cut in range(table.n_codes[j] - 1):
            left = codes <= cut
            if min(left.sum(), (~left).sum()) >= k:
                gains[j, cut] = (
                    deviation(guides) - deviation(guides[left]) - deviation(guides[~left])
                )
    return gains


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(4, 200),
    cardinalities=st.lists(st.sampled_from([2, 3, 10, 60, 256]), min_size=1, max_size=4),
    k=st.integers(1, 6),
    kind=st.sampled_from(["two", "three", "numbers"]),
)
def test_a_guided_cut_takes_most_of_the_spread(seed, n, cardinalities, k, kind):
    n = max(n, k)
    table = random_table(seed, n=n, cardinalities=cardinalities)
    rng = np.random.default_rng(seed)
    guides = {
        "two": rng.integers(0, 2, (n, 1)).astype(float),
        "three": np.eye(3)[rng.integers(0, 3, n)],
        "numbers": rng.random((n, 2)),
    }[kind]
    gains = naive_gains(table, guides, k)
    best = max(gains.values(), default=0.0)

    partition, _ = grow(table, [KAnonymity(k=k)], GrowthPlan(guides=guides, min_gain=0.0))

    if best > 1e-3:
        chosen = gains[int(partition.feature[0]), int(partition.cut[0])]
        # Numbers become 16-bit steps, labels stay exact.
        slack = 1e-3 * n if kind == "numbers" else 1e-9 * best
        assert chosen == pytest.approx(best, abs=slack)


def test_where_no_cut_separates_the_guide_the_widest_column_is_cut():
    table = Table(codes=[np.arange(8) // 4, np.arange(8)], n_codes=[2, 8])
    agreed = np.ones((8, 1))

    guided, cells = grow(table, [KAnonymity(k=2)], GrowthPlan(guides=agreed, min_gain=0.001))
    mondrian, plain = grow(table, [KAnonymity(k=2)])

    np.testing.assert_array_equal(cells, plain)
    assert guided.n_cells == mondrian.n_cells == 4


@pytest.mark.parametrize("odd", [1, 2, 5, 50])
def test_a_spread_lost_in_rounding_is_no_reason_to_cut(odd):
    """Sums of large squares may round the spread of nearly equal guides below 0."""
    n, rng = 70_000, np.random.default_rng(odd)
    guides = np.ones((n, 1))
    guides[rng.choice(n, odd, replace=False)] -= n / 2**36
    table = Table(codes=[rng.permutation(n), 1 + rng.integers(0, 5, n)], n_codes=[n, 6])

    partition, _ = grow(table, [KAnonymity(k=30)], GrowthPlan(guides=guides, min_gain=0.001))

    assert partition.sizes.min() >= 30


def test_many_certain_predictions_do_not_run_into_the_counts():
    """Counts and sums share a word: the sum of the greatest guide over all rows must fit."""
    n = 300_000
    table = Table(codes=[np.arange(n) % 70_000], n_codes=[70_000])
    guides = np.ones((n, 1))
    guides[table.codes[0] >= 35_000] = 0.5
    binned = replace(table, codes=[table.codes[0] // 274], n_codes=[256], boundaries=[])

    for each in (table, binned):
        partition, _ = grow(each, [KAnonymity(k=1000)], GrowthPlan(guides=guides, min_gain=0.001))
        assert partition.sizes.sum() == n
        assert partition.sizes.min() >= 1000


# --- edges ---


def test_one_row():
    partition, cells = grow(Table(codes=[np.zeros(1, int)], n_codes=[1]), [KAnonymity(k=1)])

    assert cells.tolist() == [0]
    assert partition.n_cells == 1


def test_as_many_rows_as_k_are_one_cell():
    partition, _ = grow(Table(codes=[np.arange(5)], n_codes=[5]), [KAnonymity(k=5)])

    assert partition.sizes.tolist() == [5]


def test_rows_that_are_all_alike_are_one_cell():
    table = Table(codes=[np.zeros(500, int)] * 3, n_codes=[1, 1, 1])

    for strict in (True, False):
        partition, _ = grow(table, [KAnonymity(k=2)], GrowthPlan(strict=strict))
        assert partition.sizes.tolist() == [500]


def test_rows_that_are_all_unique_can_all_be_told_apart_for_k_of_one():
    table = Table(codes=[np.random.default_rng(0).permutation(1000)], n_codes=[1000])

    partition, _ = grow(table, [KAnonymity(k=1)])

    assert partition.n_cells == 1000


def test_three_hundred_columns():
    rng = np.random.default_rng(1)
    table = Table(codes=[rng.integers(0, 3, 200) for _ in range(300)], n_codes=[3] * 300)

    partition, cells = grow(table, [KAnonymity(k=7)])

    check(table, [KAnonymity(k=7)], partition, cells)


@pytest.mark.parametrize("n_codes", [256, 257, 65_536, 65_537, 100_000])
def test_the_greatest_code_of_a_lane_stays_itself(n_codes):
    """Codes at the edge of a lane's type neither wrap nor meet the padding."""
    codes = np.array([0, 0, n_codes - 1, n_codes - 1, n_codes // 2, n_codes // 2])
    table = Table(codes=[codes], n_codes=[n_codes])

    partition, cells = grow(table, [KAnonymity(k=2)])

    check(table, [KAnonymity(k=2)], partition, cells)
    assert partition.high.ravel().tolist() == [0, n_codes // 2, n_codes - 1]


def test_arrays_need_not_be_contiguous():
    rng = np.random.default_rng(2)
    both = rng.integers(0, 9, (500, 2))
    strided = Table(codes=[both[:, 0], both[:, 1]], n_codes=[9, 9])
    packed = Table(codes=[both[:, 0].copy(), both[:, 1].copy()], n_codes=[9, 9])

    assert (
        grow(strided, [KAnonymity(k=3)])[1].tolist() == grow(packed, [KAnonymity(k=3)])[1].tolist()
    )


def test_missing_parts_from_values_wherever_that_leaves_k_on_both_sides():
    """255 marks the step to missing: no part of the tree, always a permitted cut."""
    edges = np.array([1, 2, 1, 255], dtype=np.uint8)
    codes = np.repeat([0, 1, 2, 3, 4], [5, 5, 5, 5, 5])
    table = Table(codes=[codes], n_codes=[5], boundaries=[edges])

    _, cells = grow(table, [KAnonymity(k=5)])

    assert len(set(cells.tolist())) == 5


def test_one_missing_cell_does_not_stop_the_cuts_of_a_tree():
    edges = np.array([1, 2, 1, 255], dtype=np.uint8)
    codes = np.repeat([0, 1, 2, 3, 4], [5, 5, 5, 5, 1])
    table = Table(codes=[codes], n_codes=[5], boundaries=[edges])

    partition, _ = grow(table, [KAnonymity(k=5)])

    assert partition.sizes.tolist() == [5, 5, 5, 6]


# --- power: an engine that is weaker than it says is seen ---


@pytest.mark.parametrize("k", [2, 5, 10])
def test_an_engine_that_grows_for_a_smaller_k_is_seen(k):
    table = random_table(3, n=500, cardinalities=[40, 40])

    partition, cells = grow(table, [KAnonymity(k=k - 1)])

    with pytest.raises(AssertionError):
        check(table, [KAnonymity(k=k)], partition, cells)


@pytest.mark.parametrize("choice", ["distinct", "entropy", "recursive", "equal", "ordered"])
def test_an_engine_that_forgets_a_rule_is_seen(choice):
    table = random_table(4, n=500, cardinalities=[40, 40], values=4)
    rules = rules_for(choice, 4)

    partition, cells = grow(table, [KAnonymity(k=2)])

    with pytest.raises(AssertionError):
        check(table, rules, partition, cells)


def test_one_row_in_another_cell_is_seen():
    table = random_table(5, n=500, cardinalities=[40, 40])
    partition, cells = grow(table, [KAnonymity(k=5)])
    for wrong in (replace_one(cells), cells[:-1]):
        with pytest.raises(AssertionError):
            check(table, [KAnonymity(k=5)], partition, wrong)


def replace_one(cells):
    moved = cells.copy()
    moved[0] = (moved[0] + 1) % (cells.max() + 1)
    return moved


def test_overlapping_cells_are_seen():
    table = random_table(6, n=300, cardinalities=[40, 40])
    partition, _ = grow(table, [KAnonymity(k=5)])
    stretched = partition.high.copy()
    stretched[0] = 39
    low = partition.low.copy()
    low[0] = 0

    with pytest.raises(AssertionError):
        _check_disjoint(replace(partition, low=low, high=stretched))


def test_an_unfinished_partition_is_seen():
    table = random_table(7, n=300, cardinalities=[40, 40])

    _, cells = grow(table, [KAnonymity(k=20)])

    check_finest(table, cells, 20)
    with pytest.raises(AssertionError):
        check_finest(table, cells, 5)
