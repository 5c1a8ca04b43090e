"""The search of a lattice for the node with the least loss.

The exact search: the least loss of all nodes, proven.

A node can only be the best if its bound is below the least loss that was found: it is *open* until
it is judged or known to fail. Where the judge is monotone, a node that fails closes all nodes below
it. So the search climbs from an open node until nothing open is above, and judges there: it closes
the most that one node can. What is known to hold is judged last, by its bound.

The bounds and a byte for each node are in memory: 9 bytes a node.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from operator import add
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

import numpy as np

from halfmask._errors import ParameterError
from halfmask._validation import integer_at_least, number_between, one_of
from halfmask.anonymize.lattice._best_effort_search import search_best_effort
from halfmask.anonymize.lattice._judged_nodes import JudgedNodes, LimitReached, SearchLimit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.anonymize.lattice._judged_nodes import Found, NodeJudge, NodeScore
    from halfmask.anonymize.lattice._lattice import Lattice
    from halfmask.anonymize.lattice._objective import Objective

#: Nodes are visited at steps of this share of them, so that the next is far from the last ones.
_GOLDEN = 0.6180339887498949
#: Bounds are asked for so many nodes at once.
_CHUNK = 2**16


def search_optimal(lattice: Lattice, nodes: JudgedNodes) -> None:
    """Judge nodes until none that is left can be better than the best.

    Notes
    -----
    Pruning by monotonicity and by bounds is that of Flash (Kohlmayer, Prasser, Eckert, Kemper and
    Kuhn 2012, *Flash: efficient, stable and optimal k-anonymity*), the order of nodes isn't.
    """
    space = _OpenNodes(lattice, nodes)
    top = space.judge(lattice.n_nodes - 1)
    if not nodes.monotone:
        space.judge_by_bound(np.arange(lattice.n_nodes - 1))
        return
    if not top.holds:
        return
    space.bisect_to_top()
    space.judge_highest()
    space.judge_by_bound(space.held())


class _OpenNodes:
    """What is known of each node of a lattice, by number: the last column counts fastest."""

    def __init__(self, lattice: Lattice, nodes: JudgedNodes) -> None:
        from halfmask.kernels.lattice import climbing  # noqa: PLC0415 # numba costs a second

        self._kernel = climbing
        self._nodes = nodes
        self._least = lattice.least
        self._shape = lattice.shape
        self._bound_grid = _bounds(lattice, nodes.judge)
        self._bounds = self._bound_grid.reshape(-1)
        self._grid = np.zeros(self._shape, np.uint8)
        self._flags = self._grid.reshape(-1)

    def held(self) -> NDArray[np.intp]:
        """Return the nodes that are known to hold, and that weren't judged."""
        return np.flatnonzero(self._flags == self._kernel.HOLDS)

    def judge(self, node: int) -> NodeScore:
        """Judge a node, and note what follows for the nodes above or below it."""
        place = tuple(map(int, np.unravel_index(node, self._shape)))
        score = self._nodes.score(tuple(map(add, self._least, place)))
        at_or_above = tuple(slice(level, None) for level in place)
        if score.above > self._bounds[node]:
            of_them = self._bound_grid[at_or_above]
            np.maximum(of_them, score.above, out=of_them)
        if not score.holds and self._flags[node] & self._kernel.HOLDS:
            raise ParameterError(
                "The judge of a lattice is monotone by its own account. Got a node that fails "
                "above one that holds.",
                hint="Correct `monotone` of the judge.",
            )
        if self._nodes.monotone and score.holds:
            self._grid[at_or_above] |= self._kernel.HOLDS
            self._flags[node] |= self._kernel.JUDGED
        elif self._nodes.monotone:
            self._grid[tuple(slice(None, level + 1) for level in place)] |= self._kernel.FAILS
        return score

    def bisect_to_top(self) -> None:
        """Find a first node that holds, on the path from the bottom by the least bounds."""
        path = [0]
        while above := self._above(path[-1]):
            path.append(min(above, key=lambda node: float(self._bounds[node])))
        low, high = 0, len(path) - 1
        while low < high:
            middle = (low + high) // 2
            if self.judge(path[middle]).holds:
                high = middle
            else:
                low = middle + 1

    def judge_highest(self) -> None:
        """Judge the highest open nodes until none is open that isn't known to hold."""
        sizes = np.array(self._shape, np.int64)
        n_nodes = len(self._flags)
        stride = max(1, int(n_nodes * _GOLDEN))
        while gcd(stride, n_nodes) > 1:
            stride += 1
        visited = 0
        while True:
            state = (self._bounds, self._flags, self._nodes.least_loss)
            visited = self._kernel.next_open(*state, stride, visited)
            if visited == n_nodes:
                return
            self.judge(self._kernel.climb(visited * stride % n_nodes, *state, sizes))

    def judge_by_bound(self, places: NDArray[np.intp]) -> None:
        """Judge the nodes with bounds below the least loss, the lowest bounds first."""
        places = places[self._bounds[places] < self._nodes.least_loss]
        for node in places[np.argsort(self._bounds[places], kind="stable")]:
            if self._bounds[node] < self._nodes.least_loss:
                self.judge(int(node))

    def _above(self, node: int) -> list[int]:
        step, above = 1, []
        for size in reversed(self._shape):
            if node // step % size + 1 < size:
                above.append(node + step)
            step *= size
        return above


def _bounds(lattice: Lattice, judge: NodeJudge) -> NDArray[np.float64]:
    """Return the greatest bound of the nodes at or below each node: all of them bound it."""
    shape = lattice.shape
    grid = np.empty(shape)
    flat = grid.reshape(-1)
    for start in range(0, len(flat), _CHUNK):
        numbers = np.arange(start, min(start + _CHUNK, len(flat)))
        nodes = np.stack(np.unravel_index(numbers, shape), axis=1) + lattice.least
        flat[numbers] = judge.bounds(nodes)
    for axis in range(grid.ndim):
        np.maximum.accumulate(grid, axis=axis, out=grid)
    return grid


#: How a lattice is searched.
SearchStrategy: TypeAlias = Literal["auto", "optimal", "best-effort"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LatticeSearch:
    """What is looked for in a lattice, and how."""

    objective: Objective
    strategy: SearchStrategy
    limit: SearchLimit
    seed: int
    rounds: int = 1
    n_best: int = 1


#: "auto" searches exactly up to this many nodes.
AUTO_NODES: Final = 2**20
#: The exact search refuses more nodes: it keeps 9 bytes for each.
MOST_NODES: Final = 2**26
#: The steps of a search that isn't exact and has no limit.
DEFAULT_STEPS: Final = 5_000


def search(
    lattice: Lattice,
    judge: NodeJudge,
    *,
    strategy: SearchStrategy = "auto",
    limit: SearchLimit | None = None,
    seed: int = 0,
    n_best: int = 1,
) -> Found:
    """Find the nodes with the least loss that hold, so many of them.

    Without a limit, ``optimal`` goes on to its end, and ``best-effort`` judges 5,000 nodes.

    Notes
    -----
    **Guarantees**: a node that holds is returned whenever one was judged. The top of the lattice is
    judged first: where the judge is monotone and the top fails, no node holds, and the search ends
    after one step. A limit of steps and the same seed give the same result.

    **Edge cases**: the limit is looked at before a node is judged, so that a search takes one
    node's time longer than its seconds.
    """
    limit = SearchLimit() if limit is None else limit
    _check(lattice, strategy, limit, seed)
    if strategy == "auto":
        strategy = "optimal" if lattice.n_nodes <= AUTO_NODES else "best-effort"
    if strategy != "optimal" and limit.steps is None and limit.seconds is None:
        limit = SearchLimit(steps=DEFAULT_STEPS)
    nodes = JudgedNodes(judge, limit, n_best=n_best)
    try:
        if strategy == "optimal":
            search_optimal(lattice, nodes)
            proven = True
        else:
            proven = search_best_effort(lattice, nodes, seed=seed)
    except LimitReached:
        proven = False
    return nodes.found(optimal=proven)


def _check(lattice: Lattice, strategy: str, limit: SearchLimit, seed: int) -> None:
    one_of(get_args(SearchStrategy), owner="search", strategy=strategy)
    integer_at_least(0, owner="search", seed=seed)
    if limit.steps is not None:
        integer_at_least(1, owner="SearchLimit", steps=limit.steps)
    if limit.seconds is not None:
        number_between(0, float("inf"), owner="SearchLimit", low_open=True, seconds=limit.seconds)
    if strategy == "optimal" and lattice.n_nodes > MOST_NODES:
        raise ParameterError(
            f"The optimal search takes at most {MOST_NODES:,} nodes. Got {lattice.n_nodes:,}.",
            hint="Search by best effort, or narrow the levels of some columns.",
        )
