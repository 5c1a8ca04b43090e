"""The search of a lattice for the node with the least loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from halfmask._errors import ParameterError
from halfmask._validation import integer_at_least, number_between, one_of
from halfmask.anonymize.lattice._best_effort_search import search_best_effort
from halfmask.anonymize.lattice._genetic_search import search_genetic
from halfmask.anonymize.lattice._judged_nodes import JudgedNodes, LimitReached
from halfmask.anonymize.lattice._node_score import SearchLimit
from halfmask.anonymize.lattice._optimal_search import search_optimal
from halfmask.anonymize.lattice._top_down_search import search_top_down

if TYPE_CHECKING:
    from halfmask.anonymize.lattice._judged_nodes import Found
    from halfmask.anonymize.lattice._lattice import Lattice
    from halfmask.anonymize.lattice._node_score import NodeJudge
    from halfmask.anonymize.lattice._objective import Objective

#: How a lattice is searched.
SearchStrategy: TypeAlias = Literal["auto", "optimal", "best-effort", "top-down", "genetic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LatticeSearch:
    """What is looked for in a lattice, and how.

    Parameters
    ----------
    objective
        What is minimized.
    strategy, limit, seed
        As of :func:`search`.
    rounds
        How often at most suppressed rows are generalized, the first time included.
    """

    objective: Objective
    strategy: SearchStrategy
    limit: SearchLimit
    seed: int
    rounds: int = 1


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
) -> Found:
    """Find the node with the least loss that holds.

    Parameters
    ----------
    lattice
        The nodes.
    judge
        Judges a node.
    strategy
        ``"optimal"`` proves that its result is the best. ``"best-effort"``, ``"top-down"`` and
        ``"genetic"`` return the best that they met within the limit. ``"auto"`` is ``"optimal"``
        up to 1,048,576 nodes, and ``"best-effort"`` above.
    limit
        When the search stops. Without one, ``"optimal"`` goes on to its end, and the other
        strategies judge at most 5,000 nodes.
    seed
        The random choices of ``"best-effort"`` and ``"genetic"``.

    Returns
    -------
    Found
        The best node, and whether it is proven to be the best.

    Raises
    ------
    ParameterError
        If ``"optimal"`` is asked for more than 67,108,864 nodes, or a limit isn't positive.

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
    nodes = JudgedNodes(judge, limit)
    try:
        if strategy == "optimal":
            search_optimal(lattice, nodes)
            proven = True
        elif strategy == "top-down":
            proven = search_top_down(lattice, nodes)
        elif strategy == "genetic":
            proven = search_genetic(lattice, nodes, seed=seed)
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
