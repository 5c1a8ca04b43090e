"""From coded columns to the kernel's records and rules."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from halfmask._errors import GuaranteeNotMetError
from halfmask.anonymize import Anonymizer, _growth
from halfmask.anonymize._growth import GrowthPlan, _pack, engine_rules, grow_partition
from halfmask.anonymize._summary import SensitiveCodes
from halfmask.data import Hierarchy
from halfmask.guarantees import (
    Classes,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    RecursiveCLDiversity,
    TCloseness,
)
from halfmask.kernels.partition.criteria import rules_hold


def sensitive_of(values, order, *, name="s"):
    missing = None in values
    series = pl.Series(name, values, dtype=pl.String)
    return SensitiveCodes.of(series, order=tuple(order), missing=missing)


@st.composite
def trees(draw, leaves):
    """Draw a hierarchy whose levels join runs of neighbouring leaves."""
    levels, nodes = [], list(range(leaves))
    for _ in range(draw(st.integers(0, 2))):
        merged = [0]
        for left, right in itertools.pairwise(nodes):
            merged.append(merged[-1] + (left != right and draw(st.booleans())))
        levels.append(merged)
        nodes = merged
    rows = [
        [f"v{i}", *(f"{level}.{each[i]}" for level, each in enumerate(levels))]
        for i in range(leaves)
    ]
    return Hierarchy.from_rows(rows, column="s")


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(data=st.data(), leaves=st.integers(1, 6), t=st.integers(0, 100))
def test_the_kernel_never_passes_what_a_judge_fails(data, leaves, t):
    """Each tree, missing sensitive cells included, stated as arrays: the kernel is the stricter."""
    tree = data.draw(trees(leaves))
    cells = st.sampled_from([*tree.leaves, None])
    values = data.draw(st.lists(cells, min_size=2, max_size=20))
    own = data.draw(st.integers(1, len(values)))
    distance, hierarchy = data.draw(
        st.sampled_from([("hierarchical", tree), ("ordered", tree), ("equal", None)])
    )
    guarantee = TCloseness(t=t / 100, column="s", distance=distance, hierarchy=hierarchy)
    sensitive = sensitive_of(values, tree.leaves)
    rules, k = engine_rules([guarantee], [sensitive])
    of_row = (np.arange(len(values)) >= own).astype(int)
    classes = Classes.from_codes(
        of_row, int(of_row.max()) + 1, {"s": (sensitive.codes, sensitive.n_values)}
    )
    judgement = guarantee.judge(classes)

    counts = np.bincount(sensitive.codes[:own], minlength=sensitive.n_values)[None]
    kept = rules_hold(counts, 0, own, rules, np.empty((4, sensitive.n_values)), False)

    assert k == 1
    if kept:
        assert 0 not in judgement.failing
    if judgement.levels[0] < guarantee.t - 1e-7:
        assert kept


def test_several_rules_find_their_columns_and_trees():
    tree = Hierarchy.from_rows([("a", "1"), ("b", "1"), ("c", "2")], column="x")
    first = sensitive_of(["a", "b", "c", None], "abc", name="x")
    second = sensitive_of(["p", "p", "q", "q"], "pq", name="y")
    guarantees = [
        TCloseness(t=0.4, column="x", distance="hierarchical", hierarchy=tree),
        DistinctLDiversity(l=2, column="y"),
        TCloseness(t=0.9, column="x", distance="hierarchical", hierarchy=tree),
        RecursiveCLDiversity(c=2, l=2, column="y"),
    ]

    rules, k = engine_rules(guarantees, [first, second])

    assert k == 2
    assert rules.columns.tolist() == [0, 1, 0, 1]
    assert rules.offsets.tolist() == [0, 4, 6]
    assert rules.shares is not None
    assert rules.shares.tolist() == [0.25] * 4 + [0.5] * 2
    assert rules.trees.tolist() == [0, 8, 8, 16, 16]
    assert rules.parents[:8].tolist() == [0, 0, 1, 2, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("guarantees", "k"),
    [
        ([KAnonymity(k=4)], 4),
        ([KAnonymity(k=4), DistinctLDiversity(l=6, column="s")], 6),
        ([EntropyLDiversity(l=2.1, column="s")], 3),
        ([KAnonymity(k=4), EntropyLDiversity(l=2.1, column="s")], 4),
        ([RecursiveCLDiversity(c=2, l=3, column="s")], 1),
    ],
)
def test_the_least_size_follows_from_all_guarantees(guarantees, k):
    assert engine_rules(guarantees, [sensitive_of(list("abcabc"), "abc")])[1] == k


# --- records ---


@pytest.mark.parametrize(
    ("greatest", "dtype"),
    [(0, np.uint8), (255, np.uint8), (256, np.uint16), (65_535, np.uint16), (65_536, np.uint32)],
)
@pytest.mark.parametrize("columns", [1, 3, 12, 13, 300])
def test_records_hold_codes_and_the_rows_number(greatest, dtype, columns):
    codes = [np.array([0, greatest, greatest // 2])] * columns

    records = _pack(codes, [greatest + 1] * columns, [], np.zeros((3, 0)))

    assert records.dtype == dtype
    assert records.strides[0] % 16 == 0
    np.testing.assert_array_equal(records[:, :columns].T, codes)
    assert records.view(np.uint32)[:, -1].tolist() == [0, 1, 2]


def test_sensitive_values_widen_the_lanes_too():
    values = [f"v{i}" for i in range(300)]
    sensitive = sensitive_of(values, values)

    records = _pack([np.zeros(300, int)], [1], [sensitive], np.zeros((300, 0)))

    assert records.dtype == np.uint16
    np.testing.assert_array_equal(records[:, 1], np.arange(300))


def test_labels_fit_a_byte_and_probabilities_two():
    codes = [np.zeros(2, int)]

    assert _pack(codes, [1], [], np.array([[0.0], [1.0]])).dtype == np.uint8
    assert _pack(codes, [1], [], np.array([[0.0], [0.5]])).dtype == np.uint16


@settings(max_examples=30, deadline=None)
@given(n=st.integers(1, 200_000), greatest=st.sampled_from([255, 65_535, 65_536]))
def test_the_sum_of_a_guide_fits_its_bits(n, greatest):
    """Even if every row's guide is 1, the sum leaves the counts alone."""
    assume(n * 40 < 2**24)
    guides = np.ones((n, 1))
    guides[0] = 0.5

    records = _pack([np.zeros(n, int)], [greatest + 1], [], guides)

    assert int(records[:, 1].astype(np.uint64).sum()) < 1 << 36


def test_a_promise_that_the_whole_table_misses():
    with pytest.raises(GuaranteeNotMetError, match="one class of 3 rows reaches 3"):
        grow_partition(
            [np.zeros(3, int)],
            [1],
            [np.zeros(0, np.uint8)],
            sensitive=[],
            guarantees=[KAnonymity(k=4)],
            plan=GrowthPlan(),
        )


def test_the_repr_of_a_plan_has_no_guides():
    assert repr(GrowthPlan(guides=np.array([[0.125]]))) == "GrowthPlan(strict=True, 1 guides)"
    assert repr(GrowthPlan()) == "GrowthPlan(strict=True, 0 guides)"


def test_distinct_values_of_a_column_behind_a_counted_one_allow_cuts():
    """Distinct values are read at each cut; only columns up to the last counted one are counted."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "a": rng.integers(0, 100, 600),
            "b": rng.integers(0, 100, 600),
            "s": rng.choice(list("xyz"), 600),
            "t": rng.choice(list("pqr"), 600),
        }
    )
    share = TCloseness(t=0.6, column="s")
    sizes = []
    for more in ([], [DistinctLDiversity(l=2, column="t")]):
        fitted = Anonymizer(
            guarantees=[KAnonymity(k=5), share, *more], quasi_identifiers=["a", "b"]
        ).fit(frame)
        sizes.append(fitted.plan_.partition.n_cells)
    assert sizes[1] > 0.7 * sizes[0] > 20


def _grown(codes, guarantees, guides, ill):
    n_codes = [int(column.max()) + 1 for column in codes]
    return grow_partition(
        codes,
        n_codes,
        [np.zeros(n - 1, dtype=np.uint8) for n in n_codes],
        sensitive=[SensitiveCodes(name="ill", order=("0", "1", "2"), n_values=3, codes=ill)],
        guarantees=guarantees,
        plan=GrowthPlan(guides=guides),
    )


@pytest.mark.slow
@given(st.integers(0, 10_000), st.integers(50, 600), st.integers(1, 6), st.booleans())
@settings(max_examples=40, deadline=None)
def test_branches_in_threads_give_the_cells_of_one_thread(seed, n, k, guided):
    draw = np.random.default_rng(seed)
    codes = [draw.integers(0, high, n) for high in (40, 7, 300)]
    ill = draw.integers(0, 3, n)
    guides = draw.integers(0, 2, (n, 1)).astype(float) if guided else None
    guarantees = [KAnonymity(k=k), DistinctLDiversity(l=1, column="ill")]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_growth, "PARALLEL_ROWS", 10_000)
        alone, cells_alone = _grown(codes, guarantees, guides, ill)
        patch.setattr(_growth, "PARALLEL_ROWS", 1)
        patch.setattr(_growth, "worker_count", lambda: 2)
        shared, cells_shared = _grown(codes, guarantees, guides, ill)

    np.testing.assert_array_equal(cells_alone, cells_shared)
    for name in ("low", "high", "sizes"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(shared, name))
    np.testing.assert_array_equal(cells_shared, shared.cells_of(codes))
    parents = np.flatnonzero(shared.feature >= 0)
    assert (shared.left[parents] > parents).all()
    assert (shared.right[parents] > parents).all()


def test_a_grower_shows_sizes_and_no_values():
    draw = np.random.default_rng(0)
    codes = [draw.integers(0, 9, 50)]
    seen = []
    original = _growth.Grower.partition

    def partition(self, cell_of_row):
        seen.append(repr(self))
        return original(self, cell_of_row)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_growth.Grower, "partition", partition)
        _grown(codes, [KAnonymity(k=3)], None, draw.integers(0, 3, 50))

    assert seen == ["Grower(50 rows, k=3)"]
