"""The nodes that a search has judged: the best, the closest, and how many more it may judge."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask._errors import ParameterError

if TYPE_CHECKING:
    from halfmask.anonymize.lattice._lattice import Levels
    from halfmask.anonymize.lattice._node_score import NodeJudge, NodeScore, SearchLimit

#: By how much, relative to it, rounding may put a bound above the loss.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search of the lattice found.

    Parameters
    ----------
    best
        The node with the least loss that holds; ``None`` if none of the judged nodes holds.
    optimal
        Whether it is proven that no node has less loss, or that no node holds.
    n_judged
        How many nodes were judged.
    closest
        Of the judged nodes that fail, the one that would need the fewest suppressed rows.
    """

    best: NodeScore | None
    optimal: bool
    n_judged: int
    closest: NodeScore | None


class LimitReached(Exception):  # noqa: N818 # no error: the search returns what it has
    """The search may judge no further node."""


class JudgedNodes:
    """Asks the judge within the limit, and keeps the best answers."""

    def __init__(self, judge: NodeJudge, limit: SearchLimit) -> None:
        self.judge, self.monotone = judge, judge.monotone
        self.best: NodeScore | None = None
        self.closest: NodeScore | None = None
        self.n_judged = 0
        self._steps = limit.steps
        self._end = None if limit.seconds is None else time.monotonic() + limit.seconds

    @property
    def least_loss(self) -> float:
        """The least loss of a judged node; infinite where none holds."""
        return float("inf") if self.best is None else self.best.loss

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
        if self.best is None or _rank(score) < _rank(self.best):
            self.best = score
        return score

    def found(self, *, optimal: bool) -> Found:
        """Return the result of the search."""
        return Found(best=self.best, optimal=optimal, n_judged=self.n_judged, closest=self.closest)

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


def _rank(score: NodeScore) -> tuple[float, int, Levels]:
    return score.loss, score.suppressed, score.levels
