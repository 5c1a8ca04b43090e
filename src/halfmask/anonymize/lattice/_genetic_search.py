"""A genetic search: nodes that hold with little loss are crossed and mutated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.anonymize.lattice._known_nodes import KnownNodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.anonymize.lattice._judged_nodes import JudgedNodes
    from halfmask.anonymize.lattice._lattice import Lattice, Levels

#: The nodes of a generation, and how many of the best stay in the next.
_POPULATION = 40
_ELITE = 10
#: The search ends after this many generations in a row in which no new node was judged.
_GENERATIONS_WITHOUT_NEWS = 100


def search_genetic(lattice: Lattice, nodes: JudgedNodes, *, seed: int) -> bool:
    """Judge nodes until the limit; return whether it is proven that none holds."""
    known = KnownNodes(lattice, nodes)
    if not known.holds(lattice.greatest) and nodes.monotone:
        return True
    rng = np.random.default_rng(seed)
    least, greatest = np.array(lattice.least), np.array(lattice.greatest)
    share = np.linspace(0.0, 1.0, _POPULATION)[:, None]  # of the way to the top, in each column
    drawn = rng.random((_POPULATION, len(least))) * (1 - share) + share
    generation = least + np.minimum(drawn * (greatest - least + 1), greatest - least).astype(int)
    without_news = 0
    while without_news < _GENERATIONS_WITHOUT_NEWS and known.n_judged < lattice.n_nodes:
        n_judged = known.n_judged
        ranked = _ranked(known, generation)
        children = _crossed(ranked, rng)
        mutated = rng.random(children.shape) < 1.0 / len(least)
        children = children + mutated * rng.choice([-1, 1], children.shape)
        generation = np.vstack([ranked[:_ELITE], np.clip(children, least, greatest)])
        without_news = without_news + 1 if known.n_judged == n_judged else 0
    return known.n_judged == lattice.n_nodes


def _ranked(known: KnownNodes, generation: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct nodes of a generation, those that hold with the least loss first."""

    def rank(levels: Levels) -> tuple[float, float, Levels]:
        score = known.score(levels)
        if score is None:  # it is below a node that fails
            return float("inf"), float("inf"), levels
        return score.loss, score.suppressed, levels

    return np.array(sorted({tuple(map(int, levels)) for levels in generation}, key=rank))


def _crossed(ranked: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return children of two parents each, which are the better of two nodes that are drawn."""
    n_children = _POPULATION - min(_ELITE, len(ranked))
    drawn = rng.integers(len(ranked), size=(2, n_children, 2)).min(axis=2)
    from_first = rng.random((n_children, ranked.shape[1])) < 0.5
    children: NDArray[np.int64] = np.where(from_first, ranked[drawn[0]], ranked[drawn[1]])
    return children
