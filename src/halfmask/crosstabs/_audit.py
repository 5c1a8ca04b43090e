"""The audit: what can be computed of hidden cells in the full system of equations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from halfmask._progress import silent
from halfmask.crosstabs._pattern import Audit
from halfmask.crosstabs._program import Deviations, Extremes, Room, components
from halfmask.crosstabs._witnesses import Needs, Witnesses

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from halfmask._progress import Progress
    from halfmask.crosstabs._cells import Cells
    from halfmask.crosstabs._pattern import Knowledge, Requirements

#: What counts as reached, as a share of the widest bound of connected cells.
_CLOSE: Final = 1e-9
#: The least number of ends that one program for many must prove for another one to follow.
_SHARED: Final = 3


def audit(
    cells: Cells,
    hidden: NDArray[np.bool_],
    requirements: Requirements,
    knowledge: Knowledge,
    *,
    intervals: bool = True,
    progress: Progress = silent,
) -> Audit:
    """Return the intervals of hidden cells, and the requirements that a pattern doesn't meet.

    A deviation that proves one requirement proves all others that it satisfies. Without
    ``intervals`` the ends for hidden cells are NaN.
    """
    room = Room.of(cells, knowledge)
    lower, upper = cells.value.copy(), cells.value.copy()
    if intervals:
        low, high = _intervals(cells.equations, room, hidden, progress)
        lower[hidden] = np.maximum(lower + low, knowledge.lower)[hidden]
        upper[hidden] = np.minimum(upper + high, knowledge.upper)[hidden]
    else:
        lower[hidden] = upper[hidden] = np.nan
    needs = Needs.of(requirements, cells.n)
    witnesses = Witnesses(needs, room, hidden)
    prove(cells.equations, room, hidden, witnesses, progress=progress)
    return Audit(lower=lower, upper=upper, unmet=np.unique(needs.requirement[witnesses.open]))


def prove(
    equations: csr_array,
    room: Room,
    hidden: NDArray[np.bool_],
    witnesses: Witnesses,
    *,
    progress: Progress,
) -> None:
    """Look for a proof of each need that has none, with deviations of hidden cells alone."""
    needs = witnesses.needs
    price = np.where(hidden, 1.0, np.inf)
    for group in components(equations, hidden):
        program = None
        for entry in witnesses.open[np.isin(needs.cell[witnesses.open], group)].tolist():
            if witnesses.proof[entry] >= 0:
                continue
            program = program or Deviations(equations, room, group)
            progress("Audit hidden cells")
            found = program.reach(
                int(needs.cell[entry]),
                float(needs.amount[entry]),
                price=price,
                fixed=needs.fixed(entry),
            )
            if found is not None:
                witnesses.add(*found)


def _intervals(
    equations: csr_array, room: Room, hidden: NDArray[np.bool_], progress: Progress
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least and the greatest deviation of each hidden cell."""
    lower, upper = np.zeros(len(hidden)), np.zeros(len(hidden))
    for group in components(equations, hidden):
        lower[group], upper[group] = _Ends(equations, room, group, progress).found()
    return lower, upper


class _Ends:
    """The intervals of connected hidden cells, closed in on from both sides.

    ``inner`` is what deviations have reached, ``outer`` what bounds allow; an end is proven where
    they meet. The ends of all cells are columns of one matrix: down first, then up.
    """

    def __init__(
        self, equations: csr_array, room: Room, group: NDArray[np.int64], progress: Progress
    ) -> None:
        part = equations[:, group]
        self._equations = part[np.diff(part.indptr) > 0]
        self._program = Extremes(equations, room, group)
        self._outer = _propagated(self._equations, room.below[group], room.above[group])
        self._inner = np.zeros_like(self._outer)
        finite = self._outer[np.isfinite(self._outer)]
        self._close = _CLOSE * finite.max(initial=1.0)
        self._progress = progress

    def found(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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
            while self._open()[side, at]:
                weights = np.zeros(self._outer.shape[1])
                weights[at] = 1.0 if side else -1.0
                if self._solve(weights):
                    self._outer[side, at] = self._inner[side, at]
        return -self._inner[0], self._inner[1]

    def _open(self) -> NDArray[np.bool_]:
        return self._inner < self._outer - self._close

    def _solve(self, weights: NDArray[np.float64]) -> bool:
        """Take what an extreme deviation reaches; say whether the weighted sum has a limit."""
        moved, ray = self._program.extreme(weights)
        self._inner = np.maximum(self._inner, np.stack([-moved, moved]))
        if ray is not None:
            scale = np.abs(ray).max()
            self._inner[np.stack([-ray, ray]) > scale * _CLOSE] = np.inf
        return ray is None


def _propagated(
    equations: csr_array, below: NDArray[np.float64], above: NDArray[np.float64], rounds: int = 4
) -> NDArray[np.float64]:
    """Return bounds of deviations, down and up, that follow from one equation at a time."""
    outer = np.stack([below, above])
    entries = equations.tocoo()
    rows, columns, signs = entries.coords[0], entries.coords[1], entries.data
    for _ in range(rounds):
        up = np.where(signs > 0, outer[1, columns], outer[0, columns])  # of the term
        down = np.where(signs > 0, outer[0, columns], outer[1, columns])
        for bound, positive_side, negative_side in ((down, 1, 0), (up, 0, 1)):
            # a term goes as far as all others of its equation together go the other way
            infinite = np.isinf(bound)
            sums = np.bincount(rows, np.where(infinite, 0.0, bound), equations.shape[0])
            many = np.bincount(rows, infinite, equations.shape[0])
            others = sums[rows] - np.where(infinite, 0.0, bound)
            others = np.where(many[rows] - infinite > 0, np.inf, np.maximum(others, 0.0))
            np.minimum.at(outer[positive_side], columns[signs > 0], others[signs > 0])
            np.minimum.at(outer[negative_side], columns[signs < 0], others[signs < 0])
    return outer
