"""The audit: what can be computed of hidden cells in the full system of equations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from halfmask._progress import silent
from halfmask.crosstabs._cells import link, places_of
from halfmask.crosstabs._merging import Merged, merge
from halfmask.crosstabs._pattern import Audit
from halfmask.crosstabs._program import Deviations, Extremes, Slack
from halfmask.crosstabs._witnesses import Needs, Witnesses

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from halfmask._progress import Progress
    from halfmask.crosstabs._arrays import Bools, Floats, Ints
    from halfmask.crosstabs._cells import CellSystem
    from halfmask.crosstabs._pattern import Knowledge, Requirements

#: What counts as reached, as a share of the widest bound of connected cells.
_CLOSE: Final = 1e-9
#: The least number of ends that one program for many must prove for another one to follow.
_SHARED: Final = 3
#: Needs are asked for together if they are at least so many, and while that proves such a share.
_MANY: Final = 20
_MANY_SHARE: Final = 0.03


def audit(
    cells: CellSystem,
    hidden: Bools,
    requirements: Requirements,
    knowledge: Knowledge,
    *,
    intervals: bool = True,
    progress: Progress = silent,
) -> Audit:
    """Return the intervals of hidden cells, NaN if not asked for, and the unmet requirements."""
    room = Slack.of(cells, knowledge)
    lower, upper = cells.value.copy(), cells.value.copy()
    if intervals:
        low, high = _intervals(cells.equations, room, hidden, progress)
        lower[hidden] = np.maximum(lower + low, knowledge.lower)[hidden]
        upper[hidden] = np.minimum(upper + high, knowledge.upper)[hidden]
    else:
        lower[hidden] = upper[hidden] = np.nan
    needs = Needs.of(requirements, cells.n)
    witnesses = Witnesses(needs, room, hidden)
    prove(cells.equations, room, hidden, witnesses, together=True, progress=progress)
    return Audit(lower=lower, upper=upper, unmet=np.unique(needs.requirement[witnesses.open]))


def prove(
    equations: csr_array,
    room: Slack,
    hidden: Bools,
    witnesses: Witnesses,
    *,
    together: bool,
    progress: Progress,
) -> None:
    """Look for a proof of each open need in hidden cells; ``together``: of many at a time first."""
    _Proving(merge(equations, room, hidden), witnesses, progress).run(together=together)


class _Proving:
    """The search for proofs of open needs, in each component of hidden cells by itself."""

    def __init__(self, merged: Merged, witnesses: Witnesses, progress: Progress) -> None:
        self._merged, self._witnesses, self._progress = merged, witnesses, progress
        self._needs = needs = witnesses.needs
        self._group = merged.group[needs.cell]
        self._amount = needs.amount * merged.sign[needs.cell]

    def run(self, *, together: bool) -> None:
        """Prove what can be proven."""
        part_of = link(self._merged.equations)
        groups, entries = places_of(part_of), self._witnesses.open
        parts = np.append(part_of, -1)[self._group[entries]]  # the last is that of no group
        for part, places in places_of(parts).items():
            own = self._open(entries[places])
            if part < 0 or not len(own):
                continue
            program = Deviations(self._merged.equations, self._merged.room, groups[part])
            if together:
                self._prove_many(program, own)
            self._prove_each(program, own)

    def _prove_each(self, program: Deviations, own: Ints) -> None:
        price = np.ones(self._merged.equations.shape[1])
        for entry in own.tolist():
            if self._witnesses.proof[entry] < 0:
                self._progress("Audit hidden cells")
                known = self._merged.group[self._needs.fixed(entry)]
                asked = int(self._group[entry]), float(self._amount[entry]), known[known >= 0]
                self._take(program.reach(*asked, price=price))

    def _prove_many(self, program: Deviations, own: Ints) -> None:
        """Ask for the needs of many cells at a time, while that proves enough of them."""
        drawn = np.random.default_rng(0)  # which way a cell goes first
        while True:
            entries = drawn.permutation(self._open(own))
            chosen = entries[np.unique(self._group[entries], return_index=True)[1]]
            if len(chosen) < _MANY:
                return
            self._progress("Audit hidden cells")
            self._take(program.reach_many(self._group[chosen], self._amount[chosen]))
            if len(entries) - len(self._open(own)) < _MANY_SHARE * len(entries):
                return

    def _open(self, entries: Ints) -> Ints:
        return entries[self._witnesses.proof[entries] < 0]

    def _take(self, found: tuple[Ints, Floats] | None) -> None:
        if found is not None:
            moved = np.zeros(self._merged.equations.shape[1])
            moved[found[0]] = found[1]
            whole = self._merged.spread(moved)
            cells = np.flatnonzero(whole)
            self._witnesses.add(cells, whole[cells])


def _intervals(
    equations: csr_array, room: Slack, hidden: Bools, progress: Progress
) -> tuple[Floats, Floats]:
    """Return the least and the greatest deviation of each hidden cell."""
    merged = merge(equations, room, hidden)
    n = merged.equations.shape[1]
    down, up = np.zeros(n), np.zeros(n)
    for groups in places_of(link(merged.equations)).values():
        down[groups], up[groups] = _Ends(merged.equations, merged.room, groups, progress).found()
    return merged.spread_ends(down, up)


class _Ends:
    """The intervals of connected hidden cells, closed in on from both sides.

    ``inner`` is what deviations have reached, ``outer`` what bounds allow; an end is proven where
    they meet. The ends of all cells are columns of one matrix: down first, then up.
    """

    def __init__(self, equations: csr_array, room: Slack, group: Ints, progress: Progress) -> None:
        part = equations[:, group]
        self._equations = part[np.diff(part.indptr) > 0]
        self._program = Extremes(equations, room, group)
        self._outer = propagated(self._equations, room.below[group], room.above[group])
        np.maximum(self._outer, 0.0, out=self._outer)  # below 0 by rounding
        self._inner = np.zeros_like(self._outer)
        finite = self._outer[np.isfinite(self._outer)]
        self._close = _CLOSE * finite.max(initial=1.0)
        self._progress = progress

    def found(self) -> tuple[Floats, Floats]:
        """Return the least and the greatest deviations."""
        open_ends = self._open()
        while open_ends.any():
            weights = np.where(open_ends[1], 1.0, 0.0) - np.where(
                open_ends[0] & ~open_ends[1], 1.0, 0.0
            )
            self._solve(weights)
            left = self._open()
            if open_ends.sum() - left.sum() < _SHARED:
                break
            open_ends = left
        for side, at in np.argwhere(self._open()):
            self._progress("Compute intervals")
            if self._open()[side, at]:
                weights = np.zeros(self._outer.shape[1])
                weights[at] = 1.0 if side else -1.0
                if self._solve(weights):
                    self._outer[side, at] = self._inner[side, at]
                else:  # without a limit, if also without a direction that shows it
                    self._inner[side, at] = self._outer[side, at]
        return -self._inner[0], self._inner[1]

    def _open(self) -> Bools:
        return np.asarray(self._inner < self._outer - self._close)

    def _solve(self, weights: Floats) -> bool:
        """Take what an extreme deviation reaches; say whether the weighted sum has a limit."""
        moved, ray = self._program.extreme(weights)
        self._inner = np.maximum(self._inner, np.stack([-moved, moved]))
        if ray is not None:
            scale = np.abs(ray).max()
            self._inner[np.stack([-ray, ray]) > scale * _CLOSE] = np.inf
        return ray is None


def propagated(equations: csr_array, below: Floats, above: Floats, rounds: int = 4) -> Floats:
    """Return bounds of deviations, down and up, that follow from one equation at a time."""
    outer = np.stack([below, above])
    entries = equations.tocoo()
    rows, columns = entries.coords
    signs, size = np.sign(entries.data), np.abs(entries.data)
    for _ in range(rounds):
        up = size * np.where(signs > 0, outer[1, columns], outer[0, columns])  # of the term
        down = size * np.where(signs > 0, outer[0, columns], outer[1, columns])
        for bound, positive_side, negative_side in ((down, 1, 0), (up, 0, 1)):
            # a term goes as far as all others of its equation together go the other way
            infinite = np.isinf(bound)
            sums = np.bincount(rows, np.where(infinite, 0.0, bound), equations.shape[0])
            many = np.bincount(rows, infinite, equations.shape[0])
            others = sums[rows] - np.where(infinite, 0.0, bound)
            others = np.where(many[rows] - infinite > 0, np.inf, others) / size
            np.minimum.at(outer[positive_side], columns[signs > 0], others[signs > 0])
            np.minimum.at(outer[negative_side], columns[signs < 0], others[signs < 0])
    return outer
