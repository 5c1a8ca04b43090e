"""A search from the top: the node with the least loss is left first, for all nodes below it."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from halfmask.anonymize.lattice._known_nodes import KnownNodes

if TYPE_CHECKING:
    from halfmask.anonymize.lattice._judged_nodes import JudgedNodes
    from halfmask.anonymize.lattice._lattice import Lattice, Levels


def search_top_down(lattice: Lattice, nodes: JudgedNodes) -> bool:
    """Judge nodes until the limit; return whether the best is proven to be the best.

    It is where the judge is monotone and no node is left below those that hold, or where all nodes
    were judged.
    """
    known = KnownNodes(lattice, nodes)
    met = {lattice.greatest}
    queue: list[tuple[float, int, Levels]] = []

    def judge(levels: Levels) -> None:
        """Judge a node; queue it unless all nodes below it fail."""
        score = known.score(levels)
        if score is not None and (score.holds or not nodes.monotone):
            heapq.heappush(queue, (score.loss, score.suppressed, levels))

    judge(lattice.greatest)
    while queue:
        *_, levels = heapq.heappop(queue)
        for below in lattice.below(levels):
            if below not in met:
                met.add(below)
                judge(below)
    return nodes.monotone or known.n_judged == lattice.n_nodes
