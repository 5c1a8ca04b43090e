"""The audit: intervals and requirements, by published examples and by one program for each end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from halfmask._errors import GuaranteeNotMetError
from halfmask.crosstabs._audit import audit
from halfmask.crosstabs._dimension import CodeSum, Dimension
from halfmask.crosstabs._pattern import Knowledge, Requirements

from ._tables import at, cells_of


def nothing_known(cells):
    n = cells.n
    none = np.zeros(n, dtype=bool)
    return Knowledge(
        lower=np.zeros(n), upper=np.full(n, np.inf), must_stay=none, must_hide=none.copy()
    )


def require(entries):
    """Requirements of tuples (cell, below, above, known cells)."""
    return Requirements(
        cell=np.array([each[0] for each in entries], dtype=np.int64),
        below=np.array([each[1] for each in entries], dtype=float),
        above=np.array([each[2] for each in entries], dtype=float),
        known=tuple(tuple(each[3]) for each in entries),
    )


def hide(cells, *codes):
    hidden = np.zeros(cells.n, dtype=bool)
    hidden[[at(cells, *each) for each in codes]] = True
    return hidden


def intervals(cells, hidden, knowledge=None):
    found = audit(cells, hidden, require([]), knowledge or nothing_known(cells))
    return found.lower, found.upper


def by_linprog(cells, hidden, knowledge):
    """The interval of each hidden cell, by two linear programs over the values themselves."""
    lower, upper = cells.value.copy(), cells.value.copy()
    bounds = [
        (low, None if np.isinf(high) else high) if secret else (value, value)
        for low, high, value, secret in zip(
            knowledge.lower, knowledge.upper, cells.value, hidden, strict=True
        )
    ]
    for cell in np.flatnonzero(hidden):
        for sign, ends in ((1, lower), (-1, upper)):
            objective = np.zeros(cells.n)
            objective[cell] = sign
            solved = linprog(
                objective, A_eq=cells.equations.toarray(), b_eq=np.zeros(cells.equations.shape[0]),
                bounds=bounds,
            )  # fmt: skip
            ends[cell] = sign * solved.fun if solved.status == 0 else -sign * np.inf
    return lower, upper


def test_intervals_of_geurts():
    # Geurts 1992; tau-argus manual 2.15; Handbook on SDC, chapter 4, example 3
    cells = cells_of([[4, 3], [2, 1], [3, 3]])
    inner = [("a1", "b1"), ("a1", "b2"), ("a2", "b1"), ("a2", "b2")]
    lower, upper = intervals(cells, hide(cells, *inner))
    found = [(lower[at(cells, *each)], upper[at(cells, *each)]) for each in inner]
    assert np.allclose(found, [(3, 6), (1, 4), (0, 3), (0, 3)])


#: sdcTable's test of simple heuristics, R package sdcTable 0.34
SDC_TABLE = [[30, 47, 64, 89], [90, 124, 5, 31], [92, 100, 59, 85], [800, 991, 651, 685]]
SDC_HIDDEN = ["11", "12", "13", "21", "23", "32", "34", "42", "44"]


def test_two_hidden_in_each_line_can_tell_one_exactly():
    cells = cells_of(SDC_TABLE)
    hidden = hide(cells, *[(f"a{each[0]}", f"b{each[1]}") for each in SDC_HIDDEN])
    lower, upper = intervals(cells, hidden)
    place = {each: at(cells, f"a{each[0]}", f"b{each[1]}") for each in SDC_HIDDEN}
    wanted = {
        "12": (47, 47), "11": (25, 94), "13": (0, 69), "21": (26, 95), "23": (0, 69),
        "32": (0, 185), "34": (0, 185), "42": (906, 1091), "44": (585, 770),
    }  # fmt: skip
    for each, ends in wanted.items():
        assert np.allclose((lower[place[each]], upper[place[each]]), ends), each
    wb = at(cells, "a1", "b2")
    hidden[at(cells, "a2", "b2")] = True
    lower, upper = intervals(cells, hidden)
    assert np.allclose((lower[wb], upper[wb]), (0, 141))


def areas():
    """Counts by area, where counties and sizes are sums of the same areas (UserSupport#136)."""
    counts = {"A": 2, "B": 2, "I": 8, "J": 8, "K": 3, "L": 3, "M": 3, "N": 7}
    dimension = Dimension(
        name="area",
        codes=("Total", "county-1", "county-2", "big", "small", *counts),
        sums=(
            CodeSum("Total", ("county-1", "county-2")),
            CodeSum("Total", ("big", "small")),
            CodeSum("county-1", tuple("ABIJ")),
            CodeSum("county-2", tuple("KLMN")),
            CodeSum("big", tuple("LM")),
            CodeSum("small", tuple("ABIJKN")),
        ),
        total="Total",
    )
    return cells_of(list(counts.values()), dimensions=(dimension,), measure=None)


def test_linked_tables_are_audited_as_one():
    # each table alone shows nothing; both together give K (sdcTools/UserSupport#136)
    cells = areas()
    hidden = hide(cells, *[(code,) for code in "ABKLM"])
    k = at(cells, "K")
    lower, upper = intervals(cells, hidden)
    assert np.allclose((lower[k], upper[k]), (3, 3))
    hidden[at(cells, "N")] = True
    lower, upper = intervals(cells, hidden)
    assert np.allclose((lower[k], upper[k]), (0, 10))


def test_who_knows_a_cell_computes_the_other_one():
    # tau-argus manual, singletons: c12 has one contributor, who takes it off the sum of 32
    cells = cells_of([[52, 15, 62, 17], [24, 18, 31, 8]])
    single, unsafe = at(cells, "a1", "b2"), at(cells, "a1", "b4")
    hidden = hide(cells, ("a1", "b2"), ("a1", "b4"), ("a2", "b2"), ("a2", "b4"))
    needs = require([(unsafe, 1.0, 1.0, ()), (unsafe, 0.0, 1.0, (single,))])
    known = nothing_known(cells)
    assert audit(cells, hidden, needs, known, intervals=False).unmet.tolist() == [1]
    hidden |= hide(cells, ("a1", "b1"), ("a2", "b1"))
    assert audit(cells, hidden, needs, known, intervals=False).unmet.tolist() == []


def test_requirements_are_met_up_to_the_ends_and_not_beyond():
    cells = cells_of([[4, 3], [2, 1], [3, 3]])
    hidden = hide(cells, ("a1", "b1"), ("a1", "b2"), ("a2", "b1"), ("a2", "b2"))
    cell, published = at(cells, "a1", "b1"), at(cells, "a3", "b1")
    needs = require(
        [(cell, 1, 2, ()), (cell, 1.001, 0, ()), (cell, 0, 2.001, ()), (published, 1, 0, ())]
    )
    found = audit(cells, hidden, needs, nothing_known(cells), intervals=False)
    assert found.unmet.tolist() == [1, 2, 3]
    assert np.isnan(found.lower[cell])
    assert found.lower[published] == found.upper[published] == 3


def test_an_end_without_a_limit_is_infinite():
    cells = cells_of([[4, 3], [2, 1]])
    lower, upper = intervals(cells, np.ones(cells.n, dtype=bool))
    assert (lower == 0).all()
    assert np.isinf(upper).all()


def test_cells_of_either_sign_have_no_limit():
    cells = cells_of([[0, 0, 5], [0, 3, -2], [1, 1, 1]])
    known = nothing_known(cells)
    known.lower[:] = -np.inf
    pairs = [("a1", "b1"), ("a1", "b3"), ("a2", "b1"), ("a2", "b3")]
    hidden = hide(cells, *pairs, ("a3", "b2"))
    lower, upper = intervals(cells, hidden, known)
    moving = [at(cells, *each) for each in pairs]
    assert np.isneginf(lower[moving]).all()
    assert np.isposinf(upper[moving]).all()
    alone = at(cells, "a3", "b2")
    assert lower[alone] == upper[alone] == 1


@st.composite
def _tables(draw):
    shape = draw(st.sampled_from([(3, 4), (2, 2, 3), (5,)]))
    size = int(np.prod(shape))
    values = draw(st.lists(st.integers(0, 40), min_size=size, max_size=size))
    cells = cells_of(np.array(values, dtype=float).reshape(shape))
    drawn = st.lists(st.booleans(), min_size=cells.n, max_size=cells.n)
    hidden = np.array(draw(drawn)) | np.array(draw(drawn))
    knowledge = nothing_known(cells)
    if draw(st.booleans()):
        known = np.array(draw(drawn))
        knowledge.lower[known] = np.floor(cells.value[known] / 2)
        knowledge.upper[known] = cells.value[known] * 2
    return cells, hidden, knowledge


@settings(max_examples=5)
@given(_tables())
def test_intervals_are_those_of_one_program_for_each_end(drawn):
    cells, hidden, knowledge = drawn
    found = audit(cells, hidden, require([]), knowledge)
    lower, upper = by_linprog(cells, hidden, knowledge)
    assert np.allclose(found.lower, lower, atol=1e-6)
    assert np.allclose(found.upper, upper, atol=1e-6)
    cell = np.flatnonzero(hidden & np.isfinite(upper))
    needs = require([(each, 0, upper[each] - cells.value[each], ()) for each in cell])
    assert audit(cells, hidden, needs, knowledge, intervals=False).unmet.size == 0
    wider = require([(each, 0, upper[each] - cells.value[each] + 0.01, ()) for each in cell])
    assert audit(cells, hidden, wider, knowledge, intervals=False).unmet.size == len(cell)


def test_a_solver_that_does_not_end_is_an_error(monkeypatch):
    """Of no steps the limit is 0: so it ends wherever a solver would go in circles."""
    monkeypatch.setattr("halfmask.crosstabs._program._STEPS", 0)
    cells = cells_of([[3, 4, 1, 7], [2, 5, 2, 9], [8, 1, 6, 3], [4, 4, 2, 5]])
    hidden = hide(cells, *((f"a{i}", f"b{j}") for i in range(1, 5) for j in range(1, 5) if i != j))
    with pytest.raises(GuaranteeNotMetError, match="found no solution"):
        intervals(cells, hidden)


def test_cells_that_move_freely_have_no_limits():
    cells = cells_of([[3, -4, 1], [-2, 5, 2]])
    hidden = hide(cells, ("a1", "b1"), ("a1", "b2"), ("a2", "b1"), ("a2", "b2"))
    known = replace(nothing_known(cells), lower=np.full(cells.n, -np.inf))
    lower, upper = intervals(cells, hidden, known)
    assert np.isneginf(lower[hidden]).all()
    assert np.isposinf(upper[hidden]).all()
