"""The graphical model against the table of all columns, which small domains have room for."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.dp.synthesis._graphical_model import (
    GraphicalModel,
    JunctionTree,
    NoisyTable,
    cells_needed,
)

SHAPE = (2, 3, 4, 2, 3)
tables = st.lists(
    st.lists(st.integers(0, 4), min_size=1, max_size=3, unique=True).map(
        lambda it: tuple(sorted(it))
    ),
    max_size=6,
)


@given(tables)
def test_each_table_has_a_clique_and_shared_columns_hang_together(asked):
    tree = JunctionTree.of(asked, SHAPE)
    assert {i for clique in tree.cliques for i in clique} == set(range(5))
    for table in asked:
        assert set(table) <= set(tree.cliques[tree.home(table)])
    for place, (clique, parent) in enumerate(zip(tree.cliques, tree.parents, strict=True)):
        assert parent < place
        before = {i for other in tree.cliques[:place] for i in other}
        assert set(clique) & before == set(tree.separators[place])
        if place:
            assert set(tree.separators[place]) <= set(tree.cliques[parent])
    cells = sum(int(np.prod([SHAPE[i] for i in clique])) for clique in tree.cliques)
    assert cells_needed(asked, SHAPE) == cells


@pytest.mark.slow
@given(tables, st.integers(0, 100))
def test_messages_give_the_marginals_of_the_whole_table(asked, seed):
    rng = np.random.default_rng(seed)
    model = GraphicalModel(SHAPE)
    model.tree = JunctionTree.of(asked, SHAPE)
    potentials = {it: rng.normal(size=[SHAPE[i] for i in it]) for it in asked}
    whole = np.zeros(SHAPE)
    for columns, potential in potentials.items():
        shape = [SHAPE[i] if i in columns else 1 for i in range(5)]
        whole += potential.reshape(shape)
    whole = np.exp(whole)
    whole /= whole.sum()
    for clique, found in zip(model.tree.cliques, model._propagated(potentials), strict=True):
        axes = tuple(i for i in range(5) if i not in clique)
        np.testing.assert_allclose(found, whole.sum(axis=axes), rtol=1e-9)


def noisy(codes: np.ndarray, columns: tuple[int, ...], scale: float) -> NoisyTable:
    sizes = [SHAPE[i] for i in columns]
    places = np.ravel_multi_index([codes[i] for i in columns], sizes)
    counts = np.bincount(places, minlength=int(np.prod(sizes))).reshape(sizes)
    noise = np.random.default_rng(len(columns)).normal(0, scale, sizes)
    return NoisyTable(columns=columns, counts=counts + noise, scale=scale)


def rows(n: int = 4_000) -> np.ndarray:
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, n)
    return np.stack(
        [
            first,
            (first + rng.integers(0, 2, n)) % 3,
            rng.integers(0, 4, n),
            (first + (rng.random(n) < 0.1)) % 2,
            rng.integers(0, 3, n),
        ]
    )


def test_a_model_fits_its_tables_and_its_rows_have_them():
    codes = rows()
    pairs: list[tuple[int, ...]] = [(0, 1), (0, 3), (2, 4)]
    measured = {it: noisy(codes, it, 3.0) for it in pairs}
    model = GraphicalModel(SHAPE).fit(measured, steps=300)
    assert model.total == pytest.approx(4_000, abs=30)
    drawn = model.sample(4_000, np.random.default_rng(1))
    for columns in combinations(range(5), 2):
        truth = noisy(codes, columns, 1e-9).counts
        found = noisy(drawn, columns, 1e-9).counts
        assert np.abs(truth - found).sum() / 8_000 < 0.05
    # The power of it: a model of single columns misses what two say of each other.
    single: dict[tuple[int, ...], NoisyTable] = {(i,): noisy(codes, (i,), 3.0) for i in range(5)}
    poor = GraphicalModel(SHAPE).fit(single, steps=300).sample(4_000, np.random.default_rng(1))
    gap = noisy(poor, (0, 3), 1e-9).counts - noisy(codes, (0, 3), 1e-9).counts
    assert np.abs(gap).sum() / 8_000 > 0.3


def test_a_second_measurement_is_weighed_by_its_noise():
    one, other = (NoisyTable(columns=(0,), counts=np.array([c, c]), scale=s) for c, s in POINTS)
    both = one.joined(other)
    assert both.counts.tolist() == pytest.approx([12.0, 12.0])
    assert both.scale == pytest.approx((1 + 1 / 4) ** -0.5)


POINTS = ((10.0, 1.0), (20.0, 2.0))
