"""The scoreboard: released rows in the order in which the compiled loop wants them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks.events._facts import KnownFacts
    from halfmask.assess.attacks.events._linking_setup import LinkingSetup

#: An agreement in time falls off within a second at least: what is exact is written in fractions.
_MIN_DECAY = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TargetScores:
    """Scores of the scoreboard for each target."""

    top: NDArray[np.int64]
    lead: NDArray[np.float64]
    n_fit: NDArray[np.int64]
    sole: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Board:
    """Released rows by item and time."""

    setup: LinkingSetup
    trace: NDArray[np.int32]
    time: NDArray[np.float64]
    numbers: NDArray[np.float64]
    item_of: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, setup: LinkingSetup) -> Self:
        """Sort the released rows."""
        left = setup.released
        time = np.where(np.isnan(left.time), np.inf, left.time)
        order = np.lexsort((*left.numbers.T, left.owned.trace, time, left.item))
        order = order[_first_of_its_kind(left.owned.trace, time, left.item, left.numbers, order)]
        items, starts = np.unique(left.item[order], return_index=True)
        return cls(
            setup=setup,
            trace=left.owned.trace[order].astype(np.int32),
            time=time[order],
            numbers=np.ascontiguousarray(left.numbers[order]),
            item_of=items,
            starts=np.append(starts, len(order)).astype(np.int64),
        )

    def scores(self, facts: KnownFacts, *, time_noise: float) -> TargetScores:
        """Score all traces by the facts about each target."""
        from halfmask.kernels.attacks.scoreboard import scoreboard  # noqa: PLC0415 # numba loads late

        setup, n, m = self.setup, self.setup.released.owned.n, len(facts.entity)
        at = np.minimum(np.searchsorted(self.item_of, facts.item), max(len(self.item_of) - 1, 0))
        item = np.where(self.item_of[at] == facts.item, at, -1) if len(self.item_of) else at - 1
        found = TargetScores(
            top=np.full(m, -1), lead=np.zeros(m), n_fit=np.zeros(m, np.int64), sole=np.full(m, -1)
        )
        scoreboard(
            self.trace, self.time, self.numbers, self.starts,
            facts.offsets, item.astype(np.int64), facts.time, facts.numbers, facts.weight,
            facts.needed, setup.timed, setup.low - time_noise, setup.high + time_noise,
            max(time_noise, _MIN_DECAY), setup.scales, setup.reaches,
            np.full(n, -1.0), np.zeros(n, np.bool_), np.zeros(n, np.int32),
            np.zeros(n), np.zeros(n, np.int64), np.zeros(n, np.int32),
            found.top, found.lead, found.n_fit, found.sole,
        )  # fmt: skip
        return found


def _first_of_its_kind(
    trace: NDArray[np.int64],
    time: NDArray[np.float64],
    item: NDArray[np.int64],
    numbers: NDArray[np.float64],
    order: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return which sorted rows differ from the one before: coarse rows repeat."""
    cells = (trace, time, item, *numbers.T)
    differs = np.ones(len(order), dtype=np.bool_)
    if len(order):
        differs[1:] = np.any([it[order][1:] != it[order][:-1] for it in cells], axis=0)
    return differs
