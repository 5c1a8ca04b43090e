"""A search for lattices that are too large for the exact one: from the bottom, then step by step.

It climbs from the lowest node by the least bounds until a node holds, as Lightning does (Prasser,
Bild, Eicher, Spengler, Kohlmayer and Kuhn 2016, *Lightning: utility-driven anonymization of
high-dimensional data*). From there it lowers one column at a time, or lowers one and raises
another, as long as the loss falls; then it starts again from a node some random levels away from
the best one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.anonymize.lattice._known_nodes import KnownNodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halfmask.anonymize.lattice._judged_nodes import JudgedNodes
    from halfmask.anonymize.lattice._lattice import Lattice, Levels
    from halfmask.anonymize.lattice._node_score import NodeScore

__all__ = ["search_best_effort"]

#: The search ends after this many starts in a row from which no new node was judged.
_STARTS_WITHOUT_NEWS = 100
#: How many columns a new start moves at least and at most.
_MOVED_COLUMNS = (2, 4)


def search_best_effort(lattice: Lattice, nodes: JudgedNodes, *, seed: int) -> bool:
    """Judge nodes until the limit; return whether it is proven that none holds.

    Parameters
    ----------
    lattice
        The nodes.
    nodes
        Judges them.
    seed
        Where the search starts again.
    """
    known = KnownNodes(lattice, nodes)
    if not known.holds(lattice.greatest) and known.monotone:
        return True
    best = _descended(known, lattice.least)
    rng = np.random.default_rng(seed)
    without_news = 0
    while without_news < _STARTS_WITHOUT_NEWS and known.n_judged < lattice.n_nodes:
        n_judged = known.n_judged
        start = _moved(lattice, lattice.greatest if best is None else best.levels, rng)
        found = _descended(known, start)
        if found is not None and (best is None or found.loss < best.loss):
            best = found
        without_news = without_news + 1 if known.n_judged == n_judged else 0
    return known.n_judged == lattice.n_nodes


def _descended(known: KnownNodes, start: Levels) -> NodeScore | None:
    """Climb from a node to one that holds, then step to nodes with less loss until none is near."""
    if known.holds(known.lattice.greatest):
        score = known.first_holding(_path_up(known, start))
    else:
        score = known.score(start)  # where the judge isn't monotone: no path up leads to one
    if score is None or not score.holds:
        return None
    while True:
        better = _first_better(known, score, known.lattice.below(score.levels))
        if better is None:
            better = _first_better(known, score, known.lattice.exchanged(score.levels))
        if better is None:
            return score
        score = better


def _path_up(known: KnownNodes, levels: Levels) -> list[Levels]:
    """Return a path to the top that raises the column with the least bound at each step."""
    path = [levels]
    while above := list(known.lattice.above(path[-1])):
        path.append(min(above, key=lambda node: (known.bound(node), max(node))))
    return path


def _first_better(known: KnownNodes, score: NodeScore, steps: Iterator[Levels]) -> NodeScore | None:
    by_bound = sorted((known.bound(levels), levels) for levels in steps)
    for bound, levels in by_bound:
        if bound >= score.loss:
            return None
        reached = known.score(levels)
        if reached is not None and reached.loss < score.loss:
            return reached
    return None


def _moved(lattice: Lattice, levels: Levels, rng: np.random.Generator) -> Levels:
    """Return a node with a few columns at random levels."""
    moved = list(levels)
    n_moved = min(len(moved), int(rng.integers(*_MOVED_COLUMNS, endpoint=True)))
    for place in rng.choice(len(moved), n_moved, replace=False):
        moved[place] = int(rng.integers(lattice.least[place], lattice.greatest[place] + 1))
    return tuple(moved)
