"""A judge that reads its answers from tables, for lattices that a test draws."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np
import pytest

from halfmask.anonymize.lattice import Lattice, NodeScore

INFINITE = float("inf")


@dataclass
class TableJudge:
    """Answers from tables over all nodes, by level above the least; notes what it was asked."""

    lattice: Lattice
    holds: np.ndarray
    losses: np.ndarray
    bound_table: np.ndarray
    monotone: bool
    above: np.ndarray
    asked: list[tuple[int, ...]] = field(default_factory=list)

    def score(self, levels):
        self.asked.append(levels)
        place = self.place(levels)
        holds = bool(self.holds[place])
        loss = float(self.losses[place]) if holds else INFINITE
        above = float(self.above[place]) if holds else -INFINITE
        return NodeScore(
            levels=levels, holds=holds, loss=loss, suppressed=int(sum(place)), above=above
        )

    def bound(self, levels):
        return float(self.bound_table[self.place(levels)])

    def bounds(self, nodes):
        return np.array([self.bound(levels) for levels in nodes.tolist()])

    def place(self, levels):
        return tuple(np.subtract(levels, self.lattice.least))

    def least_loss(self):
        """The least loss of all nodes that hold, by looking at all."""
        losses = [
            float(self.losses[place])
            for place in product(*map(range, self.holds.shape))
            if self.holds[place]
        ]
        return min(losses, default=INFINITE)


def drawn_judge(seed, shape, *, monotone=True, bounds="tight", share=0.5):
    """Draw a judge: which nodes hold, what they lose, and a valid bound of each kind."""
    rng = np.random.default_rng(seed)
    least = tuple(int(low) for low in rng.integers(0, 3, len(shape)))
    lattice = Lattice(least=least, greatest=tuple(np.add(least, shape) - 1))
    if monotone:
        # A node holds if its weighted height passes a threshold, or if it is above a drawn node.
        heights = np.indices(shape).reshape(len(shape), -1).T @ rng.random(len(shape))
        holds = (heights >= (1 - share) * heights.max()).reshape(shape)
        for node in rng.integers(0, shape, (2, len(shape))):
            holds[tuple(slice(level, None) for level in node)] = True
        if rng.random() < 0.1:
            holds[:] = False
    else:
        holds = rng.random(shape) < share
    losses = np.round(rng.random(shape) * 3, 1)  # ties, and losses that don't follow the levels
    if rng.random() < 0.7:
        losses += np.indices(shape).sum(axis=0)
    at_or_above = np.where(holds, losses, INFINITE)
    for axis in range(len(shape)):
        at_or_above = np.flip(np.minimum.accumulate(np.flip(at_or_above, axis), axis=axis), axis)
    least_bounds = np.minimum(at_or_above, losses.max() + 1)
    tables = {
        "tight": least_bounds,
        "loose": least_bounds - rng.random(shape) * 2,
        "none": np.full(shape, -INFINITE),
        "part": np.where(rng.random(shape) < 0.5, least_bounds, -INFINITE),
    }
    above = np.where(rng.random(shape) < 0.5, least_bounds, -INFINITE)
    return TableJudge(lattice, holds, losses, tables[bounds], monotone, above)


@pytest.fixture(scope="session")
def draw():
    """The function that draws a judge."""
    return drawn_judge
