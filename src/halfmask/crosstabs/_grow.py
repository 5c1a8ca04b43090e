"""Secondary suppression by linear programs: hide what it takes, then publish what isn't needed.

Source: the linear programs are those of M. Fischetti and J.-J. Salazar-González, "Solving the cell
suppression problem on tabular data with linear constraints", Management Science 47(7), 2001.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

import numpy as np

from halfmask.crosstabs._program import TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from halfmask._progress import Progress
    from halfmask.crosstabs._arrays import Bools, Floats, Ints
    from halfmask.crosstabs._program import Deviations, Programs
    from halfmask.crosstabs._witnesses import Witnesses

#: The price of a unit of a hidden cell, as a share of the least price: proofs that move few cells.
_HIDDEN: Final = 1e-3


def grow(
    programs: Programs, witnesses: Witnesses, cost: Floats, hidden: Bools, *, progress: Progress
) -> Bools:
    """Return a pattern that hides more cells until each need has a proof or can't have one."""
    hidden = hidden.copy()
    needs = witnesses.needs
    order = np.lexsort((needs.amount < 0, needs.cell, np.abs(needs.amount)))
    for done, entry in enumerate(order.tolist()):
        if witnesses.proof[entry] >= 0:
            continue
        progress("Hide cells", done / len(order))
        price = np.where(hidden, _HIDDEN * cost.min(initial=1.0), cost)
        for program in programs.around(int(needs.cell[entry]), cost, hidden):
            found = program.reach(*needs.asked(entry), price=price)
            if found is not None:
                hidden[found[0]] = True
                witnesses.add(*found)
                break
    return hidden


class Conditions:
    """Conditions that every pattern must keep: weights of hidden cells that sum up to 1 or more."""

    def __init__(self) -> None:
        self._weights: list[tuple[Ints, Floats]] = []
        self._of: dict[int, list[int]] = defaultdict(list)

    def add(self, weights: Floats) -> None:
        """Add one."""
        cells = np.flatnonzero(weights)
        for cell in cells.tolist():
            self._of[cell].append(len(self._weights))
        self._weights.append((cells, weights[cells]))

    def need(self, cell: int, hidden: Bools) -> bool:
        """Whether a pattern breaks one of them unless it hides a cell, too."""
        for at in self._of[cell]:
            cells, weights = self._weights[at]
            if weights[hidden[cells]].sum() < 1.0 - TOLERANCE:
                return True
        return False


def clean(
    program: Deviations,
    witnesses: Witnesses,
    cost: Floats,
    hidden: Bools,
    kept: Bools,
    *,
    conditions: Conditions,
    allows: Callable[[Bools], bool],
    progress: Progress,
) -> Bools:
    """Return a pattern that publishes cells again that no need takes, the most expensive first.

    ``kept`` cells stay hidden. A failure adds one of the ``conditions``: others fail by it at once.
    """
    hidden = hidden.copy()
    price = np.where(hidden, np.where(kept, _HIDDEN * cost.min(initial=1.0), cost), np.inf)
    candidates = np.flatnonzero(hidden & ~kept)
    order = candidates[np.argsort(-cost[candidates], kind="stable")]
    for done, cell in enumerate(order.tolist()):
        progress("Publish cells again", done / len(order))
        hidden[cell] = False
        if conditions.need(cell, hidden):
            hidden[cell] = True
            continue
        before, price[cell] = witnesses.proof.copy(), np.inf
        lost = witnesses.drop(cell)
        lost = lost[witnesses.needs.cell[lost] != cell]
        if _proven_again(program, witnesses, price, lost, conditions) and allows(hidden):
            witnesses.publish(cell)
        else:
            hidden[cell], price[cell] = True, cost[cell]
            witnesses.proof = before
    return hidden


def _proven_again(
    program: Deviations, witnesses: Witnesses, price: Floats, lost: Ints, conditions: Conditions
) -> bool:
    """Look for other proofs of some entries, and say whether all have one."""
    needs = witnesses.needs
    for entry in lost[np.argsort(np.abs(needs.amount[lost]), kind="stable")].tolist():
        if witnesses.proof[entry] >= 0:
            continue
        found = program.reach(*needs.asked(entry), price=price)
        if found is None:
            if (cut := program.cut(*needs.asked(entry))) is not None:
                conditions.add(cut)
            return False
        witnesses.add(*found)
    return True
