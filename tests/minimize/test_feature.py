"""One feature's ways to become coarser, and what each is said to gain."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.anonymize.coding import code_column
from halfmask.data import Column, Groups
from halfmask.minimize._feature import BINS, Feature


def feature(cells, *, kind="numeric", hierarchy=None):
    series = pl.Series("a", cells)
    column = Column(name="a", role="quasi_identifier", kind=kind, hierarchy=hierarchy)
    coding = code_column(column, series.drop_nulls().unique(), missing=bool(series.null_count()))
    return Feature.of(0, coding, coding.codes(series))


@pytest.mark.slow
@given(
    st.lists(st.none() | st.integers(-20, 60), min_size=2, max_size=40).filter(
        lambda cells: any(cell is not None for cell in cells)
    ),
    st.sampled_from(["numeric", "categorical"]),
    st.integers(0, 2**32 - 1),
)
def test_a_join_gains_what_it_loses_of_information(cells, kind, seed):
    """The gain is worked out from the two groups; `lost` looks at the whole map."""
    one = feature(cells, kind=kind)
    rng = np.random.default_rng(seed)
    profiles = rng.random((one.coding.n_codes, 3))
    target = one.identity
    while moves := [m for m in one.moves(target, profiles) if m.key[0] == "join"]:
        for move in moves:
            coarser = move.applied(target)
            assert len(np.unique(coarser)) == len(np.unique(target)) - 1
            assert move.gain == pytest.approx(one.lost(coarser) - one.lost(target), abs=1e-9)
        target = moves[rng.integers(len(moves))].applied(target)
        assert (target[target] == target).all(), "a representative stands for itself"

    assert all(move.key[0] == "drop" for move in one.moves(target, profiles))


def test_ordered_groups_are_ranges_and_missing_stays_apart():
    one = feature([1, 1, 2, 3, 5, 8, None])

    joins = [move for move in one.moves(one.identity, None) if move.key[0] == "join"]

    assert {frozenset((m.gone, m.stays)) for m in joins} == {
        frozenset((i, i + 1)) for i in range(4)
    }
    assert all(one.counts[m.gone] <= one.counts[m.stays] for m in joins)


def test_ncp_of_ranges_and_of_categories():
    numbers = feature([0, 0, 0, 10])
    words = feature(["a", "a", "b", "c"], kind="categorical")

    assert numbers.ncp(numbers.identity) == words.ncp(words.identity) == 0.0
    assert numbers.ncp(np.array([0, 0])) == 1.0
    assert words.ncp(np.array([0, 1, 1])) == pytest.approx(2 / 4 * 2 / 3)
    assert numbers.bits(numbers.identity) == pytest.approx(0.8113, abs=1e-4)
    assert numbers.bits(np.array([0, 0])) == numbers.lost(numbers.identity) == 0.0
    assert numbers.lost(np.array([1, 1])) == 1.0


def test_thousands_of_values_are_binned_first_finer_where_more_rows_are():
    rng = np.random.default_rng(0)
    cells = np.concatenate([np.zeros(5000), rng.lognormal(3, 1, 3000)])
    one = feature([*cells.tolist(), None])

    first = [move for move in one.moves(one.identity, None) if move.key[0] != "drop"]

    assert [move.key for move in first] == [("bin",)]
    target = first[0].applied(one.identity)
    assert BINS * 0.8 < len(np.unique(target)) <= BINS + 2
    assert target[-1] == len(target) - 1, "missing"
    bins = np.searchsorted(np.unique(target), target[:-1])
    assert (np.diff(bins) >= 0).all()


def test_a_hierarchy_gives_its_nodes():
    tree = Groups({"south": ["a", "b"], "north": ["c", "d", "e"]})
    one = feature(["a", "b", "c", "d", "e"], kind="categorical", hierarchy=tree)

    nodes = [move for move in one.moves(one.identity, None) if move.key[0] == "node"]

    assert [len(np.unique(move.applied(one.identity))) for move in nodes] == [4, 3, 1]


def test_a_constant_has_nothing_to_give():
    one = feature([7, 7])

    assert list(one.moves(one.identity, None)) == []
    assert one.ncp(one.identity) == 1.0
    assert one.lost(one.identity) == 0.0
