"""What a search asks of a node, and how long it may ask."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from halfmask.anonymize.lattice._lattice import Levels


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeScore:
    """One node, judged.

    Parameters
    ----------
    levels
        The node.
    holds
        Whether every guarantee holds once at most the allowed rows are suppressed.
    loss
        The loss of what would be released; infinite where `holds` is false.
    suppressed
        The rows that are suppressed for it.
    above
        A loss that no node at or above it falls below, from its classes; at least as high as the
        judge's `bound`. ``-inf`` where none is known.
    """

    levels: Levels
    holds: bool
    loss: float
    suppressed: int
    above: float = -inf


class NodeJudge(Protocol):
    """Judges nodes of one table: all that a search knows of it."""

    @property
    def monotone(self) -> bool:
        """Whether all nodes above one that holds hold too, suppression included."""

    def score(self, levels: Levels) -> NodeScore:
        """Group the rows of a node and judge it: the expensive step that a limit counts.

        Parameters
        ----------
        levels
            The node.
        """

    def bound(self, levels: Levels) -> float:
        """Return a loss that no node at or above this one falls below.

        Cheap: no rows are read. ``-inf`` where the objective knows no bound.

        Parameters
        ----------
        levels
            The node.
        """

    def bounds(self, nodes: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the bound of each of many nodes.

        Parameters
        ----------
        nodes
            The levels of the nodes, (nodes, columns).
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchLimit:
    """When a search stops and returns the best that it has found.

    Parameters
    ----------
    steps
        Nodes that are judged at most; ``None``: no limit.
    seconds
        Seconds of wall time at most; ``None``: no limit. A search with a limit of time isn't
        repeatable; one with a limit of steps is.
    """

    steps: int | None = None
    seconds: float | None = None
