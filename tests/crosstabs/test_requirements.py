"""Test what each attacker must not compute: lone owners, and sums of hidden cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from crosstabs import _rule_oracle as oracle  # type: ignore[import-not-found] # beside
from crosstabs._tables import at, cells_of  # type: ignore[import-not-found] # beside
from halfmask import PolicyError
from halfmask.crosstabs import _requirements
from halfmask.crosstabs._primary import find_sensitive
from halfmask.crosstabs._requirements import sensitive_sums, state_requirements
from halfmask.crosstabs._rules import (
    CellRule,
    ClassDisclosure,
    Dominance,
    MinimumFrequency,
    PPercent,
    SensitiveZeros,
)


def hide(cells, *codes):
    """Return a pattern in which some cells are hidden."""
    hidden = np.zeros(cells.n, dtype=bool)
    hidden[[at(cells, *each) for each in codes]] = True
    return hidden


def asked_of_owners(requirements):
    """Return pairs of what an owner knows and the cell that they must not compute."""
    return {
        (known, int(cell))
        for known, cell in zip(requirements.known, requirements.cell, strict=True)
        if known
    }


def interval(cells, hidden, cell, known=()):
    """Return the least and greatest value of a cell that fits what is published and known."""
    free = hidden.copy()
    free[list(known)] = False
    fixed = np.where(free, 0.0, cells.value)
    goal = np.zeros(cells.n)
    goal[cell] = 1
    system = {
        "A_eq": cells.equations.toarray(),
        "b_eq": np.zeros(cells.equations.shape[0]),
        "bounds": [(0, None) if move else (at, at) for move, at in zip(free, fixed, strict=True)],
    }
    return linprog(goal, **system).fun, -linprog(-goal, **system).fun


def computed(cells, hidden, known=()):
    """Return the hidden cells that follow from all others and some known ones, if none is 0."""
    free = np.flatnonzero(hidden)
    rows = [cells.equations.toarray()[:, free], np.eye(cells.n)[list(known)][:, free]]
    _, sizes, axes = np.linalg.svd(np.concatenate(rows))
    moves = axes[(sizes > 1e-9).sum() :]
    return set(free[np.abs(moves).max(axis=0, initial=0.0) < 1e-9].tolist())


def three_singletons():
    """G4: values 1 1 7 1 0 and 1 0 0 2 8, and what a least count of 3 hides."""
    cells = cells_of([[1, 1, 7, 1, 0], [1, 0, 0, 2, 8]], measure=None)
    found = find_sensitive(cells, [MinimumFrequency(n=3)], weights=None)
    return cells, found, found.is_sensitive.copy()


def test_three_singletons_of_a_row_are_seen():
    cells, found, hidden = three_singletons()
    one, other = at(cells, "a1", "b4"), at(cells, "a2", "b1")
    requirements = state_requirements(cells, found, hidden, singletons="exact")
    asked = asked_of_owners(requirements)
    assert ((one,), other) in asked
    assert ((other,), one) in asked
    assert interval(cells, hidden, other, [one]) == (1, 1)
    for row, (known, cell) in enumerate(zip(requirements.known, requirements.cell, strict=True)):
        low, high = interval(cells, hidden, cell, known)
        if known:
            assert low == high, "only what can be computed is asked"
            assert (requirements.below[row], requirements.above[row]) == (0, 1)


def test_outsiders_need_the_whole_interval():
    cells, found, hidden = three_singletons()
    requirements = state_requirements(cells, found, hidden, singletons="off")
    assert set(requirements.known) == {()}
    np.testing.assert_array_equal(requirements.cell, np.flatnonzero(hidden))
    np.testing.assert_array_equal(requirements.above, found.above[hidden])
    np.testing.assert_array_equal(requirements.below, found.below[hidden])


def test_cells_that_are_sensitive_and_not_hidden_ask_for_nothing():
    cells, found, hidden = three_singletons()
    hidden[:] = False
    requirements = state_requirements(cells, found, hidden, singletons="exact")
    assert not len(requirements.cell)
    assert requirements.known == ()


def test_full_asks_for_the_whole_interval_of_all_that_is_linked():
    cells, found, hidden = three_singletons()
    exact = asked_of_owners(state_requirements(cells, found, hidden, singletons="exact"))
    full = state_requirements(cells, found, hidden, singletons="full")
    assert exact < asked_of_owners(full)
    owners = np.array([bool(each) for each in full.known])
    np.testing.assert_array_equal(full.above[owners], found.above[full.cell[owners]])
    assert len(set(full.known)) == 1 + 4  # outsiders, and one person each in b1, b1, b2, b4


def test_full_is_refused_where_it_would_never_end(monkeypatch):
    cells, found, hidden = three_singletons()
    monkeypatch.setattr(_requirements, "_MOST_PAIRS", 3)
    with pytest.raises(PolicyError, match=r"asks for \d+ intervals"):
        state_requirements(cells, found, hidden, singletons="full")


def test_sums_must_keep_a_share_of_their_interval_from_lone_owners():
    """G13: a row of 52 15 62 17, of which 15 and 17 are hidden and 15 is one contributor's."""
    cells = cells_of(
        shape=(2, 4),
        contributors=[[[20] * 2, [15], [31] * 2, [15, 2]], [[12] * 2, [9] * 2, [15] * 2, [4] * 2]],
    )
    found = find_sensitive(cells, [PPercent(p=10)], weights=None)
    alone, other = at(cells, "a1", "b2"), at(cells, "a1", "b4")
    hidden = hide(cells, ("a1", "b2"), ("a1", "b4"), ("a2", "b2"), ("a2", "b4"))
    requirements = state_requirements(cells, found, hidden, singletons="exact")
    row = requirements.known.index((alone,))
    assert requirements.cell[row] == other
    assert requirements.below[row] == 0
    assert requirements.above[row] == pytest.approx(0.1 * found.above[other])
    assert interval(cells, hidden, other, [alone]) == (17, 17)


def test_several_cells_of_one_owner_are_known_together():
    """The owner 7 is alone in two of the hidden cells of a row, and computes the third."""
    cells = cells_of(
        shape=(2, 4),
        contributors=[
            [[(7, 30)], [(7, 20)], [(8, 9)], [50] * 3],
            [[40] * 3, [50] * 3, [60] * 3, [50] * 3],
        ],
    )
    found = find_sensitive(cells, [PPercent(p=10)], weights=None)
    hidden = hide(cells, *[(a, b) for a in ("a1", "a2") for b in ("b1", "b2", "b3")])
    own = (at(cells, "a1", "b1"), at(cells, "a1", "b2"))
    third = at(cells, "a1", "b3")
    asked = asked_of_owners(state_requirements(cells, found, hidden, singletons="exact"))
    assert (own, third) in asked
    assert all(cell not in known for known, cell in asked)
    unknown = replace(
        cells, contributors=replace(cells.contributors, owners=np.full((cells.n, 5), -1))
    )
    apart = asked_of_owners(state_requirements(unknown, found, hidden, singletons="exact"))
    assert all(len(known) == 1 for known, _ in apart)
    assert not apart  # each of three computes only the sum of the two others


def test_unknown_owners_of_a_total_and_its_only_part_are_one():
    cells = cells_of([[5, 0, 0], [7, 3, 9]], contributors=[[[5], [], []], [[7], [3], [9, 9]]])
    unknown = replace(
        cells, contributors=replace(cells.contributors, owners=np.full((cells.n, 5), -1))
    )
    part, total = at(cells, "a1", "b1"), at(cells, "a1")
    hidden = hide(cells, ("a1", "b1"), ("a1",), ("a2", "b1"), ("a2",))
    found = find_sensitive(cells, [PPercent(p=10)], weights=None)
    for each in (cells, unknown):
        requirements = state_requirements(each, found, hidden, singletons="full")
        assert tuple(sorted((part, total))) in set(requirements.known)


COUNTS = st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=3, max_size=3)


@settings(max_examples=12)
@given(COUNTS, st.data())
def test_all_that_lone_owners_could_compute_is_asked(values, data):
    cells = cells_of(values, measure=None)
    found = find_sensitive(cells, [MinimumFrequency(n=3)], weights=None)
    more = data.draw(st.lists(st.integers(0, cells.n - 1), max_size=6))
    hidden = found.is_sensitive.copy()
    hidden[[each for each in more if cells.value[each]]] = True
    asked = asked_of_owners(state_requirements(cells, found, hidden, singletons="exact"))
    connected = asked_of_owners(state_requirements(cells, found, hidden, singletons="full"))
    assert asked <= connected
    agrees(cells, hidden, asked, connected)


def agrees(cells, hidden, asked, connected):
    """Check that what is asked of owners is what they compute and others don't."""
    anybody = computed(cells, hidden)
    by_owner = {known: computed(cells, hidden, known) for known, _ in connected}
    wanted = {(known, cell) for known, cell in connected if cell in by_owner[known] - anybody}
    assert {(known, cell) for known, cell in asked if cell not in anybody} == wanted


@pytest.mark.slow
@settings(max_examples=8)
@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=3, max_size=3))
def test_all_that_lone_owners_could_compute_with_hidden_zeros_is_asked(values):
    cells = cells_of(values, measure=None)
    rules = [MinimumFrequency(n=2), SensitiveZeros()]
    found = find_sensitive(cells, rules, weights=None)
    hidden = found.is_sensitive
    asked = asked_of_owners(state_requirements(cells, found, hidden, singletons="exact"))
    connected = asked_of_owners(state_requirements(cells, found, hidden, singletons="full"))
    for known, cell in connected - asked:
        low, high = interval(cells, hidden, cell)
        if low < high:  # otherwise anybody computes it
            low, high = interval(cells, hidden, cell, known)
            assert high - low > 0.5


@settings(max_examples=12)
@given(COUNTS, st.data())
def test_all_that_owners_of_several_cells_could_compute_is_asked(values, data):
    owner = st.integers(0, 3)
    lists = [[[(data.draw(owner), 1.0)] * each for each in row] for row in values]
    cells = cells_of(values, contributors=lists)
    found = find_sensitive(cells, [MinimumFrequency(n=2, margin=10)], weights=None)
    hidden = found.is_sensitive.copy()
    hidden[data.draw(st.lists(st.integers(0, cells.n - 1), max_size=5))] = True
    hidden &= cells.value > 0
    asked = asked_of_owners(state_requirements(cells, found, hidden, singletons="exact"))
    connected = asked_of_owners(state_requirements(cells, found, hidden, singletons="full"))
    agrees(cells, hidden, asked, connected)


def test_hidden_zeros_do_not_keep_a_cell_from_an_owner():
    """A hidden cell of 0 can only rise: whether that helps is for the audit, so it is asked."""
    cells = cells_of([[1, 2, 0], [3, 9, 0]], measure=None)
    found = find_sensitive(cells, [MinimumFrequency(n=3)], weights=None)
    hidden = found.is_sensitive | hide(
        cells, ("a1", "b3"), ("a2", "b3"), ("a2", "b2"), ("a2", "b1")
    )
    one, two = at(cells, "a1", "b1"), at(cells, "a1", "b2")
    asked = asked_of_owners(state_requirements(cells, found, hidden, singletons="exact"))
    assert ((one,), two) in asked
    assert interval(cells, hidden, two, [one]) == (2, 2)


def test_owners_know_all_that_is_inside_their_own_cell():
    """One person of a town is ill; this person knows that nobody else there is."""
    cells = cells_of([[1, 0], [3, 4]], measure=None)
    found = find_sensitive(cells, [ClassDisclosure(dimension="b")], weights=None)
    assert found.is_sensitive[at(cells, "a1", "b2")]
    hidden = np.ones(cells.n, dtype=bool)
    for singletons in ("exact", "full"):
        requirements = state_requirements(cells, found, hidden, singletons=singletons)
        assert set(requirements.known) == {()}


def test_an_owner_knows_that_a_total_is_no_less_than_their_own_part():
    cells = cells_of(shape=(2, 2), contributors=[[[90], [5, 5]], [[60, 50, 40], [70, 60]]])
    found = find_sensitive(cells, [PPercent(p=50)], weights=None)
    total, own = at(cells, "a1"), at(cells, "a1", "b1")
    requirements = state_requirements(cells, found, np.ones(9, dtype=bool), singletons="full")
    below = {
        (known, cell): level
        for known, cell, level in zip(
            requirements.known, requirements.cell.tolist(), requirements.below, strict=True
        )
    }
    assert below[(), total] == pytest.approx(0.5 * 90 - 5)
    assert below[(own,), total] == pytest.approx(10)  # of 100, 90 are their own
    part = at(cells, "a1", "b2")
    assert below[(own,), part] == below[(), part] == pytest.approx(2.5)


def test_own_parts_bound_nothing_where_others_may_be_negative():
    lists = [[[90], [5, -5]], [[60, 50, 40], [70, 60]]]
    cells = cells_of(shape=(2, 2), contributors=lists)
    found = find_sensitive(cells, [PPercent(p=50)], weights=None)
    total, own = at(cells, "a1"), at(cells, "a1", "b1")
    requirements = state_requirements(cells, found, np.ones(9, dtype=bool), singletons="full")
    row = [
        (known, int(cell))
        for known, cell in zip(requirements.known, requirements.cell, strict=True)
    ].index(((own,), total))
    assert requirements.below[row] == found.below[total] > 0


def test_a_lone_owner_of_a_ready_table_is_one_cell():
    cells = replace(cells_of([[1, 1], [1, 9]], measure=None), contributors=None)
    found = find_sensitive(cells, [MinimumFrequency(n=3)], weights=None)
    hidden = found.is_sensitive | hide(cells, ("a2", "b2"))
    requirements = state_requirements(cells, found, hidden, singletons="exact")
    assert all(len(known) < 2 for known in requirements.known)
    assert any(requirements.known)


def test_a_firm_that_dominates_the_hidden_cells_of_a_row_is_seen():
    """UserSupport#160: each cell is safe by itself or hidden, and their sum is one firm's."""
    cells = cells_of(
        shape=(2, 4),
        contributors=[
            [[(1, 900)], [(2, 5), (3, 5), (4, 5)], [30] * 9, [40] * 9],
            [[20] * 9, [20] * 9, [20] * 9, [20] * 9],
        ],
    )
    rule = PPercent(p=10)
    pair = [("a1", "b1"), ("a1", "b2"), ("a2", "b1"), ("a2", "b2")]
    found = sensitive_sums(cells, [rule], hide(cells, *pair), weights=None)
    first = sorted([at(cells, "a1", "b1"), at(cells, "a1", "b2")])
    assert [each.tolist() for each, _ in found] == [first]
    wider = hide(cells, *pair, ("a1", "b3"), ("a2", "b3"))
    assert sensitive_sums(cells, [rule], wider, weights=None) == []
    assert sensitive_sums(cells, [MinimumFrequency(n=3, margin=1)], wider, weights=None) == []


def test_sums_of_hidden_cells_are_known_only_where_the_total_is():
    lists = [[[(1, 900)], [5, 5], [3]], [[20] * 9, [20] * 9, [20] * 9]]
    cells, rule = cells_of(shape=(2, 3), contributors=lists), PPercent(p=10)
    pair = hide(cells, ("a1", "b1"), ("a1", "b2"))
    assert len(sensitive_sums(cells, [rule], pair, weights=None)) == 1
    assert sensitive_sums(cells, [rule], pair | hide(cells, ("a1",)), weights=None) == []
    all_parts = pair | hide(cells, ("a1", "b3"))  # their sum is the total, a cell of its own
    assert sensitive_sums(cells, [rule], all_parts, weights=None) == []


def test_one_owner_of_several_hidden_cells_is_one_contributor():
    lists = [[[(1, 50), 8], [(1, 45), 7], [30] * 9], [[20] * 9] * 3]
    cells = cells_of(shape=(2, 3), contributors=lists)
    hidden = hide(cells, ("a1", "b1"), ("a1", "b2"), ("a2", "b1"), ("a2", "b2"))
    rule = Dominance(n=1, k=80)
    assert len(sensitive_sums(cells, [rule], hidden, weights=None)) == 1
    unknown = replace(
        cells, contributors=replace(cells.contributors, owners=np.full((cells.n, 5), -1))
    )
    assert sensitive_sums(unknown, [rule], hidden, weights=None) == []


def test_an_owner_who_is_not_among_the_largest_of_a_cell_counts_as_the_last_of_these():
    many = [10, 9, 8, 7, 6, ("first", 5)]
    lists = [[[("first", 50)], many, [30]], [[("first", 1), 20]] * 3]
    cells = cells_of(shape=(2, 3), contributors=lists)
    hidden = hide(cells, ("a1", "b1"), ("a1", "b2"))
    assert len(sensitive_sums(cells, [Dominance(n=1, k=58)], hidden, weights=None)) == 1  # 56 of 95
    assert sensitive_sums(cells, [Dominance(n=1, k=59)], hidden, weights=None) == []


OWNED = st.lists(st.tuples(st.integers(0, 5), st.integers(-20, 60).filter(bool)), max_size=4)


@given(st.lists(OWNED, min_size=6, max_size=6), st.lists(st.booleans(), min_size=12, max_size=12))
def test_sums_of_hidden_cells_are_judged_as_cells(inner, picked):
    cells = cells_of(shape=(2, 3), contributors=[inner[:3], inner[3:]])
    hidden = np.array(picked)
    shares, largest = PPercent(p=95), Dominance(n=1, k=45)
    wanted: dict[CellRule, set[tuple[int, ...]]] = {shares: set(), largest: set()}
    for axis, size in enumerate((2, 3)):
        for where in range((3, 2)[axis]):
            lists = {}
            for k in range(size):
                i, j = (k, where) if axis == 0 else (where, k)
                if inner[3 * i + j]:
                    lists[at(cells, f"a{i + 1}", f"b{j + 1}")] = inner[3 * i + j]
            total = at(cells, *(("Total", f"b{where + 1}") if axis == 0 else (f"a{where + 1}",)))
            secret = tuple(sorted(cell for cell in lists if hidden[cell]))
            together = [(*each, 1) for cell in secret for each in lists[cell]]
            if 2 <= len(secret) < len(lists) and not hidden[total]:
                if oracle.p_percent(together, None, 95) > 0:
                    wanted[shares].add(secret)
                if oracle.dominance(together, None, 1, 45) > 0:
                    wanted[largest].add(secret)
    for rule, sums in wanted.items():
        found = sensitive_sums(cells, [rule], hidden, weights=None)
        inner_cells = {tuple(each.tolist()) for each, _ in found if cells.codes[each].all()}
        assert inner_cells == sums
