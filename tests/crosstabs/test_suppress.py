"""Secondary suppression: the least cost by brute force, and patterns with nothing to spare."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from halfmask._errors import GuaranteeNotMetError, ParameterError
from halfmask.crosstabs._audit import audit
from halfmask.crosstabs._pattern import Sensitivity
from halfmask.crosstabs._primary import find_sensitive
from halfmask.crosstabs._protections import Suppression
from halfmask.crosstabs._requirements import sensitive_sums, state_requirements
from halfmask.crosstabs._rules import MinimumFrequency, PPercent
from halfmask.crosstabs._suppress import suppress

from ._tables import at, cells_of
from .test_audit import areas, hide, nothing_known, require


def sensitive_cells(cells, needs):
    """Cells that are sensitive, each with what it needs on either side."""
    below = np.zeros(cells.n)
    for cell, amount in needs.items():
        below[cell] = amount
    reasons = tuple(("p-percent",) if cell in needs else () for cell in range(cells.n))
    return Sensitivity(reasons=reasons, below=below, above=below.copy())


def plain(search, **given):
    return Suppression(search=search, singletons="off", hidden_sums=False, **given)


def unmet(cells, hidden, sensitivity, singletons="off"):
    needs = state_requirements(cells, sensitivity, hidden, singletons=singletons)
    return audit(cells, hidden, needs, nothing_known(cells), intervals=False).unmet


def holds(cells, hidden, sensitivity):
    """Whether each sensitive cell can move as far as it needs, by a program for each end."""
    bounds = [
        (0, None) if secret else (x, x) for x, secret in zip(cells.value, hidden, strict=True)
    ]
    for cell in np.flatnonzero(sensitivity.is_sensitive):
        for sign, need in ((1, sensitivity.below[cell]), (-1, sensitivity.above[cell])):
            objective = np.zeros(cells.n)
            objective[cell] = sign
            solved = linprog(
                objective,
                A_eq=cells.equations.toarray(),
                b_eq=np.zeros(cells.equations.shape[0]),
                bounds=bounds,
            )
            if solved.status == 0 and abs(solved.fun - sign * cells.value[cell]) < need - 1e-6:
                return False
    return True


def least_by_brute_force(cells, sensitivity):
    """The least cost of all patterns that hold."""
    free = np.flatnonzero(~sensitivity.is_sensitive)
    patterns = []
    for chosen in product((False, True), repeat=len(free)):
        hidden = sensitivity.is_sensitive.copy()
        hidden[free] = chosen
        patterns.append((float(np.maximum(cells.value, 1)[hidden].sum()), hidden))
    for cost, hidden in sorted(patterns, key=lambda each: each[0]):
        crossed = cells.equations != 0
        if (crossed @ hidden.astype(int) != 1).all() and holds(cells, hidden, sensitivity):
            return cost
    return None


@pytest.mark.parametrize("number", range(4))
def test_the_optimum_is_that_of_all_patterns(number):
    drawn = np.random.default_rng(number)
    cells = cells_of(drawn.integers(1, 30, (3, 2)).astype(float))
    inner = drawn.choice([at(cells, f"a{i}", f"b{j}") for i in (1, 2, 3) for j in (1, 2)], 2)
    sensitivity = sensitive_cells(cells, {cell: 1 + 0.3 * cells.value[cell] for cell in inner})
    sensitivity.below[:] = np.minimum(sensitivity.below, cells.value)
    found = suppress(cells, sensitivity, nothing_known(cells), plain("optimal"))
    assert found.cost == pytest.approx(least_by_brute_force(cells, sensitivity))
    assert found.gap == pytest.approx(0, abs=1e-6)
    assert holds(cells, found.hidden, sensitivity)


def firms(seed=0, shape=(5, 4, 3), firms=150):
    """A table of firms in cells at random, each in a few of them."""
    drawn = np.random.default_rng(seed)
    lists: Any = np.empty(shape, dtype=object)
    for where in np.ndindex(shape):
        lists[where] = []
    for owner in range(firms):
        for _ in range(drawn.integers(1, 3)):
            where = tuple(int(drawn.integers(size)) for size in shape)
            lists[where].append((owner, float(np.ceil(np.exp(drawn.normal(3, 1.5))))))
    return cells_of(contributors=lists.tolist(), shape=shape, zeros=False)


@pytest.mark.parametrize("search", ["linear", "optimal"])
def test_a_pattern_has_nothing_to_spare(search):
    cells = firms(shape=(4, 4), firms=40)
    sensitivity = find_sensitive(cells, [PPercent(p=10.0)], weights=None)
    found = suppress(cells, sensitivity, nothing_known(cells), plain(search))
    assert not len(unmet(cells, found.hidden, sensitivity))
    others = np.flatnonzero(found.hidden & ~sensitivity.is_sensitive)
    assert len(others)
    for cell in others:
        weaker = found.hidden.copy()
        weaker[cell] = False
        assert len(unmet(cells, weaker, sensitivity))


@pytest.mark.parametrize("singletons", ["exact", "full"])
def test_owners_and_hidden_sums_are_met_too(singletons):
    cells = firms(seed=1, firms=90)
    rules = [PPercent(p=10.0)]
    sensitivity = find_sensitive(cells, rules, weights=None)
    settings = Suppression(search="linear", singletons=singletons)
    found = suppress(cells, sensitivity, nothing_known(cells), settings, rules=rules)
    assert not len(unmet(cells, found.hidden, sensitivity, singletons))
    assert not sensitive_sums(cells, rules, found.hidden, weights=None)
    bare = suppress(cells, sensitivity, nothing_known(cells), plain("linear"))
    assert len(unmet(cells, bare.hidden, sensitivity, singletons))
    assert sensitive_sums(cells, rules, bare.hidden, weights=None)
    again = suppress(cells, sensitivity, nothing_known(cells), settings, rules=rules)
    assert (again.hidden == found.hidden).all()


def test_linked_tables_are_protected_as_one():
    # sdcTools/UserSupport#136: each table alone shows nothing, both together give K
    cells = areas()
    sensitivity = find_sensitive(cells, [MinimumFrequency(n=4)], weights=None)
    assert sensitivity.is_sensitive.sum() == 5
    found = suppress(cells, sensitivity, nothing_known(cells), plain("auto"))
    ends = audit(cells, found.hidden, require([]), nothing_known(cells))
    k = at(cells, "K")
    assert ends.upper[k] - ends.lower[k] >= 1
    assert not len(unmet(cells, found.hidden, sensitivity))


def test_three_who_are_alone_learn_nothing_exactly():
    # sdcTools/UserSupport#135: values over A, B, H, M, W; two at a time these cells look hidden
    cells = cells_of([[1, 1, 7, 1, 0], [1, 0, 0, 2, 8]], measure=None)
    sensitivity = find_sensitive(cells, [MinimumFrequency(n=3)], weights=None)
    settings = Suppression(singletons="full")
    found = suppress(cells, sensitivity, nothing_known(cells), settings)
    assert not len(unmet(cells, found.hidden, sensitivity, "full"))
    alone = np.flatnonzero(found.hidden & (cells.value == 1))
    for cell in alone:
        other = nothing_known(cells)
        other.lower[cell] = other.upper[cell] = 1
        ends = audit(cells, found.hidden, require([]), other)
        rest = np.setdiff1d(np.flatnonzero(sensitivity.is_sensitive), alone)
        assert (ends.upper - ends.lower)[rest].min() > 0.5


#: SSBtools' z1, in R package GaussSuppression: eight regions by four kinds of main income
Z1 = [
    [11, 11, 55, 36], [7, 1, 29, 18], [5, 8, 35, 25], [13, 2, 17, 13],
    [9, 14, 63, 52], [12, 9, 24, 22], [6, 4, 22, 8], [9, 3, 38, 15],
]  # fmt: skip


def test_counts_of_z1_cost_no_more_than_gaussian_elimination():
    # with maxN = 3 it hides output rows 12 13 22 23 42 43: annet and arbeid of B, D and H
    cells = cells_of(Z1, measure=None)
    sensitivity = find_sensitive(cells, [MinimumFrequency(n=4)], weights=None)
    assert sensitivity.is_sensitive.sum() == 3
    theirs = hide(cells, *[(f"a{row}", f"b{kind}") for row in (2, 4, 8) for kind in (1, 2)])
    assert not len(unmet(cells, theirs, sensitivity))
    found = suppress(cells, sensitivity, nothing_known(cells), plain("auto"))
    assert found.search == "optimal"
    assert found.cost <= cells.value[theirs].sum()
    assert not len(unmet(cells, found.hidden, sensitivity))


def test_given_states_are_kept():
    cells = cells_of(Z1, measure=None)
    sensitivity = find_sensitive(cells, [MinimumFrequency(n=4)], weights=None)
    known = nothing_known(cells)
    known.must_stay[[at(cells, f"a{row}", "b1") for row in range(1, 9)]] = True
    known.must_hide[at(cells, "a5", "b3")] = True
    found = suppress(cells, sensitivity, known, plain("linear"))
    assert not (found.hidden & known.must_stay).any()
    assert found.hidden[at(cells, "a5", "b3")]
    assert not len(unmet(cells, found.hidden, sensitivity))


def test_cells_that_must_stay_can_make_it_impossible():
    cells = cells_of(Z1, measure=None)
    sensitivity = find_sensitive(cells, [MinimumFrequency(n=4)], weights=None)
    known = nothing_known(cells)
    known.must_stay[~sensitivity.is_sensitive] = True
    with pytest.raises(GuaranteeNotMetError, match=r"3 of 3 sensitive cells.* 42 cells"):
        suppress(cells, sensitivity, known, plain("linear"))
    known.must_stay[:] = True
    with pytest.raises(GuaranteeNotMetError, match="3 sensitive cells must be published"):
        suppress(cells, sensitivity, known, plain("linear"))


def test_all_sensitive_is_said():
    cells = cells_of([[1, 2], [2, 1]])
    sensitivity = sensitive_cells(cells, dict.fromkeys(range(cells.n), 1.0))
    with pytest.raises(GuaranteeNotMetError, match="All 9 cells are sensitive"):
        suppress(cells, sensitivity, nothing_known(cells), plain("linear"))


@pytest.mark.parametrize("search", ["linear", "optimal", "elimination"])
def test_nothing_sensitive_hides_nothing(search):
    cells = cells_of([[1, 2], [3, 4]], measure=None)
    found = suppress(cells, sensitive_cells(cells, {}), nothing_known(cells), plain(search))
    assert not found.hidden.any()
    assert found.cost == 0


def test_costs_are_chosen():
    cells = cells_of([[9, 5, 1], [5, 5, 4], [1, 4, 2]])
    sensitivity = sensitive_cells(cells, {at(cells, "a1", "b1"): 1.0})
    by_value = suppress(cells, sensitivity, nothing_known(cells), plain("optimal"))
    by_number = suppress(cells, sensitivity, nothing_known(cells), plain("optimal", cost="cells"))
    assert by_number.cost == 4
    assert by_value.cost == cells.value[by_value.hidden].sum() == 9 + 1 + 1 + 2
    dear = suppress(
        cells, sensitivity, nothing_known(cells), plain("optimal", cost="cells", total_cost=3.0)
    )
    assert not dear.hidden[[at(cells, "a1"), at(cells, "Total", "b1"), at(cells)]].any()
    with pytest.raises(ParameterError, match="contributors"):
        suppress(cells, sensitivity, nothing_known(cells), plain("linear", cost="contributors"))


@pytest.mark.parametrize(("stage", "is_valid"), [("Hide cells", False), ("Publish", True)])
def test_an_interrupt_gives_what_holds_already(stage, is_valid):
    cells = firms(shape=(4, 4), firms=40)
    sensitivity = find_sensitive(cells, [PPercent(p=10.0)], weights=None)

    def interrupt(what, _share=None):
        if what.startswith(stage):
            raise KeyboardInterrupt

    def search():
        return suppress(
            cells, sensitivity, nothing_known(cells), plain("linear"), progress=interrupt
        )

    if not is_valid:
        with pytest.raises(KeyboardInterrupt):
            search()
        return
    found = search()
    assert found.stopped
    assert not len(unmet(cells, found.hidden, sensitivity))


def test_what_elimination_leaves_is_repaired():
    drawn = np.random.default_rng(3)
    cells = cells_of(drawn.poisson(6, (8, 7)).astype(float), measure=None)
    sensitivity = find_sensitive(cells, [MinimumFrequency(n=4)], weights=None)
    settings = Suppression(search="elimination")
    found = suppress(cells, sensitivity, nothing_known(cells), settings)
    assert found.search == "elimination"
    assert not found.hidden.all()
    assert not len(unmet(cells, found.hidden, sensitivity, "exact"))


def test_the_gap_is_stated_when_rounds_end():
    cells = firms(shape=(5, 5), firms=60)
    sensitivity = find_sensitive(cells, [PPercent(p=10.0)], weights=None)
    short, whole = (
        suppress(cells, sensitivity, nothing_known(cells), plain("optimal", rounds=rounds))
        for rounds in (2, 1000)
    )
    assert short.bound is not None
    assert short.gap is not None
    assert whole.bound is not None
    assert short.bound <= whole.bound == pytest.approx(whole.cost)
    assert short.gap > 0
    assert not len(unmet(cells, short.hidden, sensitivity))
