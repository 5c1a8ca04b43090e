"""Elimination: no sensitive cell is a combination of published cells, and none is hidden in vain.

The oracle has ranks of dense matrices of fractions; it shares no code with the sparse elimination.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.crosstabs._tables import cells_of

from halfmask.crosstabs._dimension import tree_dimension
from halfmask.crosstabs._eliminate import eliminate
from halfmask.crosstabs._pattern import Knowledge, Sensitivity


def computable(cells, hidden, known=()):
    """Return the hidden cells that the others give, by reduced rows of exact fractions."""
    columns = [cell for cell in np.flatnonzero(hidden) if cell not in known]
    rows = [[Fraction(int(x)) for x in row] for row in cells.equations.toarray()[:, columns]]
    pivots = []
    for column in range(len(columns)):
        lead = next((row for row in rows if row not in pivots and row[column]), None)
        if lead is None:
            continue
        lead[:] = [x / lead[column] for x in lead]
        for row in rows:
            if row is not lead and row[column]:
                row[:] = [x - row[column] * y for x, y in zip(row, lead, strict=True)]
        pivots.append(lead)
    single = [row for row in rows if sum(map(bool, row)) == 1]
    return {int(columns[next(i for i, x in enumerate(row) if x)]) for row in single}


def sensitive_below(cells, n, *, needs=True):
    is_sensitive = (cells.value > 0) & (cells.value < n)
    return Sensitivity(
        reasons=tuple(("minimum-frequency",) if each else () for each in is_sensitive),
        below=np.where(is_sensitive, 1.0 if needs else 0.0, 0.0),
        above=np.where(is_sensitive, n - cells.value if needs else 0.0, 0.0),
    )


def nothing_known(cells, stay=(), hide=()):
    state = [np.isin(np.arange(cells.n), list(each)) for each in (stay, hide)]
    return Knowledge(
        lower=np.zeros(cells.n),
        upper=np.full(cells.n, np.inf),
        must_stay=state[0],
        must_hide=state[1],
    )


def hide(cells, sensitivity, knowledge=None, *, alone=None):
    alone = np.zeros(cells.n, dtype=bool) if alone is None else alone
    knowledge = knowledge or nothing_known(cells)
    return eliminate(cells, sensitivity, knowledge, cells.value.copy(), alone=alone)


@st.composite
def tables(draw):
    shape = draw(st.sampled_from([(3,), (2, 2), (3, 4), (5, 5), (2, 3, 3), (3, 3, 3)]))
    counts = draw(
        st.lists(st.integers(0, 12), min_size=math.prod(shape), max_size=math.prod(shape))
    )
    return cells_of(np.reshape(counts, shape), measure=None, zeros=False)


@settings(max_examples=16)
@given(tables())
def test_no_sensitive_cell_is_computed_and_each_other_hidden_cell_is_needed(cells):
    found = sensitive_below(cells, 3, needs=False)
    hidden = hide(cells, found)
    sensitive = set(np.flatnonzero(found.is_sensitive).tolist())
    everything = computable(cells, np.ones(cells.n, dtype=bool))
    assert hidden[list(sensitive)].all()
    assert computable(cells, hidden) & sensitive <= everything
    if not sensitive & everything:
        for cell in np.flatnonzero(hidden & ~found.is_sensitive):
            fewer = hidden.copy()
            fewer[cell] = False
            assert computable(cells, fewer) & sensitive, "a cell is hidden in vain"


@settings(max_examples=40)
@given(tables())
def test_each_equation_leaves_the_interval_that_a_cell_needs(cells):
    """The interval that one equation leaves is no narrower than that of all: it must suffice."""
    found = sensitive_below(cells, 3)
    hidden = hide(cells, found)
    for row in cells.equations.toarray():
        at = np.flatnonzero(row)
        for cell in at[found.is_sensitive[at]]:
            others = [other for other in at if hidden[other] and other != cell]
            same = [other for other in others if row[other] == row[cell]]
            down = sum(cells.value[other] for other in same)  # others make room for more
            reaches = down >= found.above[cell] or len(same) < len(others)
            assert reaches or hidden[at].all() or found.is_sensitive[at].sum() == len(at)


def test_two_hidden_cells_in_each_line_can_still_be_computed():
    """The table of sdcTable (G2): wb is exact though each line has two hidden cells."""
    values = [[30, 47, 64, 89], [90, 124, 5, 31], [92, 100, 59, 85], [800, 991, 651, 685]]
    cells = cells_of(values, measure=None)
    at = {
        f"{row}{column}": 5 * (i + 1) + j + 1
        for i, row in enumerate("wxyz")
        for j, column in enumerate("abcd")
    }
    places = [at[name] for name in ("wa", "wb", "wc", "xa", "xc", "yb", "yd", "zb", "zd")]
    secret = np.isin(np.arange(cells.n), places)
    assert computable(cells, secret) == {at["wb"]}
    found = Sensitivity(
        reasons=tuple(("given",) if each else () for each in secret),
        below=np.zeros(cells.n),
        above=np.zeros(cells.n),
    )
    hidden = hide(cells, found)
    assert not computable(cells, hidden) & set(places)
    assert (hidden & ~secret).sum() == 1


def test_cells_that_must_stay_and_must_hide_do():
    cells = cells_of([[1, 9, 9], [9, 9, 9], [9, 9, 9]], measure=None)
    found = sensitive_below(cells, 3)
    usual = hide(cells, found)
    stay = np.flatnonzero(usual & ~found.is_sensitive)[:1]
    other = np.flatnonzero(~usual)[-1:]
    hidden = hide(cells, found, nothing_known(cells, stay=stay, hide=other))
    assert not hidden[stay].any()
    assert hidden[other].all()
    assert not computable(cells, hidden) & set(np.flatnonzero(found.is_sensitive))


def test_nobody_who_is_alone_in_a_cell_computes_another_sensitive_one():
    counts = np.full((4, 4), 9)
    counts[0, 0] = counts[1, 1] = 1
    counts[0, 1] = counts[1, 0] = 2
    cells = cells_of(counts, measure=None)
    found = sensitive_below(cells, 3)
    alone = cells.value == 1
    assert any(computable(cells, hide(cells, found), known=(one,)) for one in np.flatnonzero(alone))
    hidden = hide(cells, found, alone=alone)
    usual = eliminate(cells, found, nothing_known(cells), cells.value.copy())
    assert (usual == hidden).all()
    for one in np.flatnonzero(alone):
        told = computable(cells, hidden, known=(one,))
        assert not told & set(np.flatnonzero(found.is_sensitive))


def test_hierarchies_are_one_system():
    region = tree_dimension("region", [("n", "n1"), ("n", "n2"), ("s", "s1"), ("s", "s2")])
    sector = tree_dimension("sector", [("x", "x1"), ("x", "x2"), ("y", "y1")])
    counts = [[1, 8, 9], [7, 2, 6], [9, 9, 1], [5, 6, 7]]
    cells = cells_of(counts, dimensions=(region, sector), measure=None)
    found = sensitive_below(cells, 3)
    hidden = hide(cells, found)
    assert not computable(cells, hidden) & set(np.flatnonzero(found.is_sensitive))


@pytest.mark.parametrize("values", [[1], [2, 1], [[1, 1], [1, 1]]])
def test_tables_that_nothing_can_protect_come_to_an_end(values):
    cells = cells_of(values, measure=None)
    assert hide(cells, sensitive_below(cells, 9))[cells.value > 0].all()


def test_a_table_without_sensitive_cells_hides_nothing():
    cells = cells_of([[5, 6], [7, 8]], measure=None)
    assert not hide(cells, sensitive_below(cells, 3)).any()


@pytest.mark.slow
def test_the_pattern_is_the_same_in_every_run():
    rng = np.random.default_rng(3)
    cells = cells_of(rng.poisson(4, size=(12, 9, 8)), measure=None, zeros=False)
    found = sensitive_below(cells, 3)
    first, second = (hide(cells, found, alone=cells.value == 1) for _ in range(2))
    assert (first == second).all()
    assert first[found.is_sensitive].all()
