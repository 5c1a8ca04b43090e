"""What can be computed of hidden cells: tables that fit all that is published, as witnesses.

A table that fits what is published, and differs from another one in a cell, proves that the cell
isn't known. One linear program moves many cells at once, so few of them reach most goals; the other
cells have a program each. Programs are of a neighbourhood of cells first: all others stay.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from halfmask._errors import VerificationError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from halfmask.verifier.crosstabs._system import Bools, Floats, Ints
    from halfmask.verifier.crosstabs._unknown import Unknown

#: How much of what is claimed a witness may lack, for rounding.
SLACK: Final = 1e-5
#: What of the largest number in it an equation doesn't tell from 0.
_RESOLUTION: Final = 1e-11
#: How many cells a program for one has at first, how many one for many has, and by how many times
#: as many the next one for one does.
_AT_FIRST: Final = 400
_AT_ONCE: Final = 2000
_MORE: Final = 8
#: Rounds of programs that move many cells, and the share of open goals that each must reach.
_ROUNDS: Final = 12
_GAIN: Final = 0.1
#: How many times as far as the largest goal a cell may move, and which goals have one program.
_FURTHEST: Final = 1e4
_ALIKE: Final = 1e3
#: How many random moves there are, and the share of its room that no cell moves by chance.
_MOVES: Final = 8
_TIED: Final = 1e-8
#: So many cells that can't reach their goals are enough.
_ENOUGH: Final = 10
_SECONDS: Final = 120.0


class Space:
    """All tables that fit what is published, as deviations of hidden cells from one of them.

    `matrix` @ deviation is 0, and each deviation is between `low` and `high`.
    """

    def __init__(self, matrix: csr_array, base: Floats, lower: Floats, upper: Floats) -> None:
        self.matrix, self.by_cell = matrix.tocsr(), matrix.tocsc()
        self.base, self.low, self.high = base, lower - base, upper - base
        #: The largest and the smallest deviation of each cell in any witness.
        self.most, self.least = np.zeros(len(base)), np.zeros(len(base))
        self.witnesses: list[tuple[Ints, Floats, float]] = []
        self.part = _components(self.matrix)

    def without(self, cells: Ints) -> Space:
        """Return the space for an attacker who knows some cells: they don't deviate."""
        made = Space.__new__(Space)
        made.__dict__ |= {"_room": self._room, "_moves": self._moves, **self.__dict__}
        made.low, made.high = self.low.copy(), self.high.copy()
        made.low[cells] = made.high[cells] = 0.0
        made.most, made.least = np.zeros_like(self.most), np.zeros_like(self.least)
        made.move_all(cells)
        return made

    def recall(self) -> None:
        """Take in the witnesses that were found for others, and move no known cell."""
        known = (self.low == 0) & (self.high == 0)
        for free, moved, lost in self.witnesses:  # the list is shared
            if not known[free[moved != 0]].any():
                self.note(free, moved, lost)

    def move_all(self, known: Ints) -> None:
        """Move all cells that can at once, without known ones, by linear algebra.

        Some random moves keep all equations. Of these, one is put together that doesn't move known
        cells. It moves every other cell that isn't tied to known ones, unless these are too many.
        """
        _, sizes, axes = np.linalg.svd(np.linalg.qr(self._moves[known], mode="r"))
        weights = axes[int((sizes > _TIED).sum()) :]
        if not len(weights):
            return
        share = self._moves @ weights.sum(axis=0)
        share[known] = 0.0
        share[np.abs(share) < _TIED] = 0.0
        moved = share * (self._room / max(float(np.abs(share).max()), 1.0))
        lost = float(np.abs(self.matrix @ moved).sum())
        lost += _RESOLUTION * float(np.abs(moved).max(initial=0.0))
        every = np.arange(len(moved))
        for each in (moved, -moved):
            self.note(every, each, lost)

    @cached_property
    def _room(self) -> Floats:
        """How far each cell can move both ways; where it has no end, as far as its own size."""
        size = np.maximum(np.abs(self.base), float(np.abs(self.base).max(initial=0.0)) * SLACK)
        return np.minimum(np.minimum(-self.low, self.high), size)

    @cached_property
    def _moves(self) -> Floats:
        """Random moves that keep the equations, as shares of the room of each cell."""
        from scipy.sparse import diags_array  # noqa: PLC0415 # for claims on hidden cells alone
        from scipy.sparse.linalg import lsmr  # noqa: PLC0415 # the same

        by_room = (self.matrix @ diags_array(self._room / max(self._room.max(), 1e-300))).T.tocsr()
        found = np.random.default_rng(0).uniform(-1, 1, (len(self.base), _MOVES))
        for at in range(_MOVES):  # what equations fix is taken off
            fixed = lsmr(by_room, found[:, at], atol=1e-14, btol=1e-14, conlim=0, maxiter=5000)[0]
            found[:, at] -= by_room @ fixed
        return found

    def push(self, free: Ints, goal: Floats) -> None:
        """Move some cells as far as possible towards their goals, by one linear program."""
        rows = np.unique(self.by_cell[:, free].indices)
        small = self.matrix[rows][:, free]
        scale = float(np.abs(goal).max(initial=0.0))
        if not scale:
            return
        # No cell moves much further than the goals: else rounding would hide small moves.
        low = np.maximum(self.low[free], -_FURTHEST * scale)
        high = np.minimum(self.high[free], _FURTHEST * scale)
        found = _solved(small, np.zeros(len(rows)), goal / scale, low / scale, high / scale)
        if found is None:
            return
        moved = np.clip(found * scale, low, high)
        # To mend what equations lack, no cell of a table has to move further than all that.
        lost = float(np.abs(small @ moved).sum())
        lost += _RESOLUTION * float(np.abs(moved).max(initial=0.0))
        self.witnesses.append((free, moved, lost))
        self.note(free, moved, lost)

    def note(self, free: Ints, moved: Floats, lost: float) -> None:
        """Take in a witness: how some cells move, and what may be wrong with it."""
        self.most[free] = np.maximum(self.most[free], moved - lost)
        self.least[free] = np.minimum(self.least[free], moved + lost)

    def near(self, cells: Ints, size: int) -> Ints:
        """Return so many cells: the first one, those that share equations with it, and so on."""
        found: Bools = np.zeros(len(self.base), dtype=np.bool_)
        n_found = 0
        for cell in cells:
            edge = np.array([] if found[cell] else [cell], dtype=np.int64)
            while n_found < size and len(edge):
                found[edge] = True
                n_found += len(edge)
                rows = np.unique(self.by_cell[:, edge].indices)
                around = np.unique(self.matrix[rows].indices)
                edge = around[~found[around]][: size - n_found]
            if n_found >= size:
                break
        return np.flatnonzero(found)


class Goals:
    """How far each hidden cell must be able to deviate: up, down, or in an interval.

    `width` is the width that an interval must have, and `share` its width as a share of its end
    that is farther from 0, for the `asked` cells; 0 where nothing is asked.
    """

    def __init__(
        self,
        space: Space,
        *,
        up: Floats | float = 0.0,
        down: Floats | float = 0.0,
        width: Floats | float = 0.0,
        share: float = 0.0,
        asked: Bools | None = None,
    ) -> None:
        self.space, self.share = space, share
        self.up, self.down, self.width = (
            np.broadcast_to(each, space.base.shape) for each in (up, down, width)
        )
        self.asked = np.ones(space.base.shape, dtype=np.bool_) if asked is None else asked
        self.given_up = np.zeros(len(space.base), dtype=np.bool_)

    def short(self) -> tuple[Floats, Floats]:
        """Return for each cell the goal above and the goal below that it hasn't reached; 0: none.

        An interval is wide enough once one of its two goals is reached.
        """
        most, least = self.space.most, self.space.least
        above = np.where(most < self.up * (1 - SLACK), self.up, 0.0)
        below = np.where(-least < self.down * (1 - SLACK), self.down, 0.0)
        if self.width.any():
            lacks = self.asked & (most - least < self.width * (1 - SLACK))
            # Twice as far as asked: of a tiny width, what equations lack could be more than SLACK.
            above = np.maximum(above, np.where(lacks, 2 * self.width + least, 0.0))
            below = np.maximum(below, np.where(lacks, 2 * self.width - most, 0.0))
        if self.share:
            wider = self._wider()
            above, below = np.maximum(above, wider[0]), np.maximum(below, wider[1])
        return above, below

    def _wider(self) -> tuple[Floats, Floats]:
        """Return which moves would make an interval a large enough share of its far end."""
        base, kept = self.space.base, 1 - self.share
        low, high = base + self.space.least, base + self.space.most
        is_below = (high <= 0) & (low < 0)  # the same of an interval below 0, turned around
        near, far = np.where(is_below, -high, low), np.where(is_below, -low, high)
        lacks = far - near < self.share * far * (1 - SLACK)
        lacks = (lacks | (far == near)) & self.asked
        start = np.where(is_below, -base, base)
        least = SLACK * max(1.0, float(np.abs(base).max(initial=0.0)))
        outwards = np.maximum(near / kept, least) - start if kept > SLACK else np.zeros_like(base)
        inwards = start - kept * far
        outwards, inwards = (np.where(lacks, each, 0.0) for each in (outwards, inwards))
        return np.where(is_below, inwards, outwards), np.where(is_below, outwards, inwards)

    def unmet(self) -> Bools:
        """Return the cells that haven't reached their goals."""
        above, below = self.short()
        return (above > 0) | (below > 0)


def prove(goals: Goals) -> Bools:
    """Return the cells whose goals no witness reaches; after a few, the search ends.

    What it returns may lack some of them, but is empty only if witnesses reach all goals.
    """
    if goals.unmet().any():
        goals.space.recall()
    rng = np.random.default_rng(0)  # which cells move together: any choice is sound
    while (left := goals.unmet() & ~goals.given_up).any() and goals.given_up.sum() < _ENOUGH:
        cells = np.flatnonzero(left)
        sizes = np.maximum(*goals.short())
        alike = sizes[cells] <= _ALIKE * sizes[cells[0]]
        alike &= sizes[cells] >= sizes[cells[0]] / _ALIKE
        _together(goals, cells[alike], rng)
        _one_by_one(goals, int(cells[0]))
    return goals.unmet()


def _together(goals: Goals, cells: Ints, rng: np.random.Generator) -> None:
    """Move cells and their neighbourhood at once, up or down by chance, while that gains much."""
    free = goals.space.near(cells, _AT_ONCE)
    chosen = np.isin(free, cells, assume_unique=True)
    above, below = (np.where(chosen, each[free], 0.0) for each in goals.short())
    for _ in range(_ROUNDS):
        either = (above > 0) & (below > 0)
        upwards = np.where(either, rng.random(len(free)) < 0.5, above > 0)
        before = int((above > 0).sum() + (below > 0).sum())
        goals.space.push(free, np.where(upwards, above, -below))
        above, below = (np.where(chosen, each[free], 0.0) for each in goals.short())
        left = int((above > 0).sum() + (below > 0).sum())
        if not left or before - left < _GAIN * before:
            return


def _one_by_one(goals: Goals, cell: int) -> None:
    """Move one cell alone, among more and more others; give it up if all of them don't help."""
    space, size = goals.space, _AT_FIRST
    whole = np.flatnonzero(space.part == space.part[cell])
    while goals.unmet()[cell]:
        free = whole if size >= len(whole) else space.near(np.array([cell]), size)
        at = int(np.searchsorted(free, cell))
        for side, sign in ((0, 1.0), (1, -1.0)):
            goal = np.zeros(len(free))
            goal[at] = goals.short()[side][cell] * sign
            space.push(free, goal)
        if len(free) == len(whole):
            break
        size *= _MORE
    goals.given_up[cell] = goals.unmet()[cell]


def find_space(unknown: Unknown) -> Space:
    """Return all tables that fit what is published; raise if published cells contradict it."""
    from scipy.sparse import diags_array, hstack  # noqa: PLC0415 # for hidden cells alone

    matrix, sums, n = unknown.matrix, unknown.sums, len(unknown.lower)
    scale = max(1.0, float(np.abs(sums).max(initial=0.0)))
    there = np.abs(sums[sums != 0])
    goal = np.full(n, float(np.median(there)) / 10 / scale if len(there) else 1.0)
    low, high = unknown.lower / scale, unknown.upper / scale
    found = _solved(matrix, sums / scale, goal, low, high)
    if found is None and unknown.slack.any():  # what rounding took off or added
        off = diags_array(unknown.slack / scale)
        matrix, goal = hstack([matrix, off], format="csr"), np.append(goal, np.zeros(len(sums)))
        low, high = np.append(low, np.full(len(sums), -1.0)), np.append(high, np.ones(len(sums)))
        found = _solved(matrix, sums / scale, goal, low, high)
    if found is None:
        raise VerificationError("The published cells fit no table: they contradict each other.")
    base = np.clip(found[:n] * scale, unknown.lower, unknown.upper)
    return Space(unknown.matrix, base, unknown.lower, unknown.upper)


def _components(matrix: csr_array) -> Ints:
    """Return the number of the part that each cell is in; equations link the cells of a part."""
    from scipy.sparse import block_array  # noqa: PLC0415 # for claims on hidden cells alone
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 # the same

    linked = block_array([[None, matrix.T], [matrix, None]], format="csr")
    _, labels = connected_components(linked, directed=False)
    part: Ints = labels[: matrix.shape[1]].astype(np.int64)
    return part


def _solved(
    matrix: csr_array, sums: Floats, goal: Floats, low: Floats, high: Floats
) -> Floats | None:
    """Return cells that meet the equations and come as close as possible to their goals.

    ``None``: there are none, or the time was up.
    """
    from scipy.optimize import linprog  # noqa: PLC0415 # for claims on hidden cells alone
    from scipy.sparse import csr_array, eye_array, hstack  # noqa: PLC0415 # the same

    wanted = np.flatnonzero(goal)
    n, k = len(goal), len(wanted)
    # A reward is at most 1, and at most the share of its goal that its cell has come.
    share = csr_array((-1 / goal[wanted], (np.arange(k), wanted)), shape=(k, n))
    found: Any = linprog(
        np.concatenate([np.zeros(n), np.full(k, -1.0)]),
        A_ub=hstack([share, eye_array(k)], format="csr"),
        b_ub=np.zeros(k),
        A_eq=hstack([matrix, csr_array((len(sums), k))], format="csr"),
        b_eq=sums,
        bounds=np.array([[*low, *np.full(k, -np.inf)], [*high, *np.ones(k)]]).T,
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "time_limit": _SECONDS},
    )
    return None if found.x is None else found.x[:n]
