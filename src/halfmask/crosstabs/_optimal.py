"""Secondary suppression at the least cost, with a proof: cuts of a mixed-integer program.

Source: M. Fischetti and J.-J. Salazar-González, "Solving the cell suppression problem on tabular
data with linear constraints", Management Science 47(7), 2001.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.sparse import csc_array

from halfmask.crosstabs._program import TOLERANCE, quiet_solver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halfmask._progress import Progress
    from halfmask.crosstabs._arrays import Bools, Floats
    from halfmask.crosstabs._program import Deviations
    from halfmask.crosstabs._witnesses import Needs

#: A cost is the least one if it exceeds what is proven by no more than this share.
_EXACT: Final = 1e-6
#: Whole cells are asked for once a round lifts the bound by less than this share of the gap.
_TAIL: Final = 0.1
#: By how much a condition must be broken to be added.
_BROKEN: Final = 1e-4
#: Whole shares are 0 or 1, up to the solver's tolerance.
_HALF: Final = 0.5


def least_cost(
    program: Deviations,
    needs: Needs,
    cost: Floats,
    start: Bools,
    best: Bools,
    *,
    rounds: int,
    progress: Progress,
) -> Iterator[tuple[Bools, float]]:
    """Yield the cheapest pattern so far, and a cost below which there is none, until they meet.

    Each round adds conditions that the solution breaks: with shares of cells, then with whole ones.
    """
    master = _Master(cost, start)
    bound, whole = float(cost[start].sum()), False
    for number in range(rounds):
        share, proven = master.solved(whole=whole)
        least = float(cost[best].sum())
        slow = number > 0 and proven - bound < _TAIL * (least - bound)
        bound = max(bound, proven)
        if bound >= least * (1.0 - _EXACT):
            break
        progress("Prove the least cost", max(0.0, bound / least))
        cuts = _broken(program, needs, share, whole=whole)
        if not cuts and whole:
            best = share > _HALF
            break
        master.add(cuts)
        whole = whole or slow or not cuts
        yield best, bound
    yield best, min(bound, float(cost[best].sum()))


def _broken(program: Deviations, needs: Needs, share: Floats, *, whole: bool) -> list[Floats]:
    """Return conditions that shares of hidden cells break."""
    price = np.where(share > TOLERANCE, 1.0, np.inf)
    cuts = []
    for entry in range(len(needs.cell)):
        asked = needs.asked(entry)
        if program.reach(*asked, price=price, share=None if whole else share) is not None:
            continue
        cut = program.cut(*asked)
        if cut is not None and cut @ share < 1.0 - _BROKEN:
            cuts.append(cut)
        elif whole:  # no proof that can be used: at least one more cell must be hidden
            cuts.append(np.where(share > _HALF, 0.0, 1.0))
    return cuts


class _Master:
    """The program over hidden shares of cells that knows only some of the conditions."""

    def __init__(self, cost: Floats, start: Bools) -> None:
        import highspy  # noqa: PLC0415 # an optional library

        self._cells = np.flatnonzero(np.isfinite(cost) & ~start)
        self._start, self._given = start, float(cost[start].sum())
        n = len(self._cells)
        self._solver = quiet_solver(csc_array((0, n)), np.zeros(n), np.ones(n))
        self._unit = float(cost[self._cells].max(initial=0.0)) or 1.0  # tolerances are absolute
        columns = np.arange(n, dtype=np.int32)
        self._solver.changeColsCost(n, columns, cost[self._cells] / self._unit)
        self._solver.setOptionValue("mip_rel_gap", _EXACT / 10.0)
        self._solver.setOptionValue("mip_abs_gap", 0.0)
        self._kinds: Any = highspy.HighsVarType

    def add(self, cuts: list[Floats]) -> None:
        """Demand that the weights of hidden cells sum up to 1."""
        for cut in cuts:
            weights = cut[self._cells]
            at = np.flatnonzero(weights)
            left = 1.0 - float(cut[self._start].sum())
            self._solver.addRow(left, np.inf, len(at), at.astype(np.int32), weights[at])

    def solved(self, *, whole: bool) -> tuple[Floats, float]:
        """Return the share of each cell, and the proven bound of the cost."""
        n = len(self._cells)
        kind = self._kinds.kInteger if whole else self._kinds.kContinuous
        self._solver.changeColsIntegrality(n, np.arange(n, dtype=np.int32), np.full(n, kind))
        self._solver.run()
        share = self._start.astype(np.float64)
        share[self._cells] = np.asarray(self._solver.getSolution().col_value)
        information = self._solver.getInfo()
        value = information.mip_dual_bound if whole else information.objective_function_value
        return share, self._given + value * self._unit
