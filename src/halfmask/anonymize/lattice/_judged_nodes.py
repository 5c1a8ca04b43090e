"""Nodes of the lattice as a search meets them: judged once, within a limit, the best kept."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Protocol

import numpy as np

from halfmask._errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.anonymize.lattice._lattice import Lattice, Levels


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeScore:
    """One node, judged.

    A node that doesn't hold has an infinite loss.
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
        """Group the rows of a node and judge it: the expensive step that a limit counts."""

    def bound(self, levels: Levels) -> float:
        """Return a loss that no node at or above this one falls below.

        Cheap: no rows are read. ``-inf`` where the objective knows no bound.
        """

    def bounds(self, nodes: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the bound of each of many nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchLimit:
    """When a search stops and returns the best that it has found.

    A search with a limit of time isn't repeatable; one with a limit of steps is.
    """

    steps: int | None = None
    seconds: float | None = None


#: By how much, relative to it, rounding may put a bound above the loss.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search of the lattice found: the nodes with the least loss, the best first."""

    near: tuple[NodeScore, ...]
    optimal: bool
    n_judged: int
    closest: NodeScore | None

    @property
    def best(self) -> NodeScore | None:
        """The node with the least loss; ``None`` where none holds."""
        return self.near[0] if self.near else None


class LimitReached(Exception):  # noqa: N818 # no error: the search returns what it has
    """The search may judge no further node."""


class JudgedNodes:
    """Asks the judge within the limit, and keeps the best answers."""

    def __init__(self, judge: NodeJudge, limit: SearchLimit, *, n_best: int = 1) -> None:
        self.judge, self.monotone = judge, judge.monotone
        self.near: list[NodeScore] = []
        self._n_best = n_best
        self.closest: NodeScore | None = None
        self.n_judged = 0
        self._steps = limit.steps
        self._end = None if limit.seconds is None else time.monotonic() + limit.seconds

    @property
    def least_loss(self) -> float:
        """The loss that a node must fall below to be one of the best; infinite with too few."""
        return self.near[-1].loss if len(self.near) == self._n_best else inf

    def score(self, levels: Levels) -> NodeScore:
        """Judge a node."""
        if self.n_judged and self._used_up():
            raise LimitReached
        score = self.judge.score(levels)
        self.n_judged += 1
        if not score.holds:
            if self.closest is None or score.suppressed < self.closest.suppressed:
                self.closest = score
            return score
        self._check_bound(score)
        self.near = sorted([*self.near, score], key=rank)[: self._n_best]
        return score

    def found(self, *, optimal: bool) -> Found:
        """Return the result of the search."""
        near = tuple(self.near)
        return Found(near=near, optimal=optimal, n_judged=self.n_judged, closest=self.closest)

    def _used_up(self) -> bool:
        if self._steps is not None and self.n_judged >= self._steps:
            return True
        return self._end is not None and time.monotonic() >= self._end

    def _check_bound(self, score: NodeScore) -> None:
        bound = max(self.judge.bound(score.levels), score.above)
        if score.loss + _ROUNDING * max(1.0, abs(score.loss)) < bound:
            raise ParameterError(
                f"The objective's bound of a node is above the node's loss: {bound:g} and "
                f"{score.loss:g}.",
                hint="Correct the objective's bound, or return -inf where none is known.",
            )


def rank(score: NodeScore) -> tuple[float, int, Levels]:
    """Return what nodes are sorted by, the best first."""
    return score.loss, score.suppressed, score.levels


class KnownNodes:
    """Judges each node at most once, and none that is below a failing one where that settles it."""

    def __init__(self, lattice: Lattice, nodes: JudgedNodes) -> None:
        self._nodes = nodes
        self._scores: dict[Levels, NodeScore] = {}
        self._highest_failing = np.empty((0, len(lattice.least)), np.int16)

    @property
    def n_judged(self) -> int:
        """How many nodes were judged."""
        return len(self._scores)

    def is_settled(self, levels: Levels) -> bool:
        """Return whether a node was judged, or is known to fail without that."""
        if levels in self._scores:
            return True
        return bool((np.array(levels, np.int16) <= self._highest_failing).all(axis=1).any())

    def score(self, levels: Levels) -> NodeScore | None:
        """Return the score of a node; ``None`` where it is known to fail without being judged."""
        if not self.is_settled(levels):
            score = self._scores[levels] = self._nodes.score(levels)
            if not score.holds and self._nodes.monotone:
                self._note_failing(levels)
        return self._scores.get(levels)

    def holds(self, levels: Levels) -> bool:
        """Return whether a node holds."""
        score = self.score(levels)
        return score is not None and score.holds

    def _note_failing(self, levels: Levels) -> None:
        node = np.array(levels, np.int16)
        rest = self._highest_failing[~(self._highest_failing <= node).all(axis=1)]
        self._highest_failing = np.vstack([rest, node])
