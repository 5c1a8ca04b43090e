"""Secondary suppression: which cells are hidden so that all requirements are met."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from halfmask._errors import GuaranteeNotMetError, ParameterError
from halfmask._progress import silent
from halfmask.crosstabs._audit import prove
from halfmask.crosstabs._grow import clean, grow
from halfmask.crosstabs._pattern import Pattern
from halfmask.crosstabs._program import Deviations, Room
from halfmask.crosstabs._requirements import sensitive_sums, state_requirements
from halfmask.crosstabs._witnesses import Needs, Witnesses

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from halfmask._progress import Progress
    from halfmask.crosstabs._cells import Cells
    from halfmask.crosstabs._pattern import Knowledge, Sensitivity
    from halfmask.crosstabs._protections import Suppression
    from halfmask.crosstabs._rules import Rule

#: Up to how many cells the least cost is proven where the search is chosen by size.
_PROVEN: Final = 450
#: From how many cells on counts are protected by elimination where the search is chosen by size.
_ELIMINATED: Final = 20_000


def suppress(
    cells: Cells,
    sensitivity: Sensitivity,
    knowledge: Knowledge,
    settings: Suppression,
    *,
    rules: Sequence[Rule] = (),
    weights: str | None = None,
    progress: Progress = silent,
) -> Pattern:
    """Return a pattern that meets all requirements, what owners know and hidden sums included.

    The same input gives the same pattern. An interrupt gives the best pattern so far if there is
    one that meets everything.
    """
    _check(sensitivity, knowledge)
    search = _Search(cells, sensitivity, knowledge, settings, rules, weights, progress)
    best: Pattern | None = None
    try:
        for pattern in search.patterns():
            if best is None or pattern.cost <= best.cost:
                best = pattern
    except KeyboardInterrupt:
        if best is None:
            raise
        return replace(best, stopped=True)
    assert best is not None  # noqa: S101 # the search yields a pattern or raises
    return best


def _check(sensitivity: Sensitivity, knowledge: Knowledge) -> None:
    """Refuse what no pattern can meet."""
    sensitive = sensitivity.is_sensitive
    if len(sensitive) and sensitive.all():
        raise GuaranteeNotMetError(
            f"All {len(sensitive)} cells are sensitive: nothing could be published.",
            hint="Choose coarser codes, or rules that call fewer cells sensitive.",
        )
    staying = int((sensitive & knowledge.must_stay).sum())
    if staying:
        raise GuaranteeNotMetError(
            f"{staying} sensitive cells must be published, by the policy or an earlier release.",
            hint="Take them out of [cells] publish, or protect what was published otherwise.",
        )


def costs_of(cells: Cells, settings: Suppression) -> NDArray[np.float64]:
    """Return what hiding each cell costs: more than nothing."""
    if settings.cost == "cells":
        cost = np.ones(cells.n)
    elif settings.cost == "value":
        cost = np.abs(cells.value)
    elif cells.contributors is not None:
        cost = cells.contributors.count.astype(np.float64)
    else:
        raise ParameterError(
            "cost is contributors, and the tables don't say how many contribute to each cell.",
            hint="Name the column of counts, or choose the cost value or cells.",
        )
    positive = cost[cost > 0]
    cost = np.maximum(cost, positive.min() if len(positive) else 1.0)
    return cost * settings.total_cost ** _levels(cells)


def _search_for(cells: Cells, settings: Suppression) -> str:
    """Return the search that is asked for, or one that fits the size."""
    if settings.search != "auto":
        return settings.search
    if cells.is_count and cells.n >= _ELIMINATED:
        return "elimination"
    return "optimal" if cells.n <= _PROVEN else "linear"


def _levels(cells: Cells) -> NDArray[np.int64]:
    """Return how many sums lie under each cell, along all its dimensions."""
    levels = np.zeros(cells.n, dtype=np.int64)
    for at, dimension in enumerate(cells.dimensions):
        heights = dict.fromkeys(dimension.codes, 0)
        for _ in range(dimension.depth):  # as many rounds as levels: each settles one more
            for each in dimension.sums:
                heights[each.total] = 1 + max(heights[part] for part in each.parts)
        levels += np.array([heights[code] for code in dimension.codes])[cells.codes[:, at]]
    return levels


class _Search:
    """A search for patterns that meet everything: the requirements, and the rules for hidden sums.

    Requirements depend on what is hidden: whoever is alone in a cell knows it.
    """

    def __init__(
        self,
        cells: Cells,
        sensitivity: Sensitivity,
        knowledge: Knowledge,
        settings: Suppression,
        rules: Sequence[Rule],
        weights: str | None,
        progress: Progress,
    ) -> None:
        self._cells, self._sensitivity, self._settings = cells, sensitivity, settings
        self._knowledge = knowledge
        self._rules, self._weights, self._progress = rules, weights, progress
        self._room = Room.of(cells, knowledge)
        self._cost = costs_of(cells, settings)
        self._start = sensitivity.is_sensitive | knowledge.must_hide
        self._stays = knowledge.must_stay & ~self._start
        self._priced = np.where(self._stays, np.inf, self._cost)
        self._forced = np.zeros(cells.n, dtype=bool)  # for sums of hidden cells
        self._witnesses: Witnesses | None = None
        self._program = Deviations(cells.equations, self._room, np.flatnonzero(~self._stays))

    def patterns(self) -> Iterator[Pattern]:
        """Yield patterns that meet everything."""
        search = _search_for(self._cells, self._settings)
        if search == "elimination":
            hidden = self._grown(self._eliminated(), tried=True)
            yield self._pattern(hidden, search)
            return
        hidden = self._grown(self._start, tried=False)
        yield self._pattern(hidden, search)
        hidden = self._grown(self._cleaned(hidden), tried=True)
        yield self._pattern(hidden, search)

    def _pattern(self, hidden: NDArray[np.bool_], search: str) -> Pattern:
        return Pattern(hidden=hidden, search=search, cost=float(self._cost[hidden].sum()))

    def _eliminated(self) -> NDArray[np.bool_]:
        from halfmask.crosstabs._eliminate import eliminate  # noqa: PLC0415 # compiled code

        found = eliminate(self._cells, self._sensitivity, self._knowledge, self._priced)
        return (found & ~self._stays) | self._start

    def _cleaned(self, hidden: NDArray[np.bool_]) -> NDArray[np.bool_]:
        program = Deviations(self._cells.equations, self._room, np.flatnonzero(hidden))
        kept = self._start | self._forced
        return clean(program, self._witnesses, self._cost, hidden, kept, progress=self._progress)

    def _grown(self, hidden: NDArray[np.bool_], *, tried: bool) -> NDArray[np.bool_]:
        """Hide more cells until everything is met; ``tried`` if most is met already."""
        while True:
            self._state(hidden)
            witnesses = self._witnesses
            if tried:
                prove(self._cells.equations, self._room, hidden, witnesses, progress=self._progress)
            hidden = grow(self._program, witnesses, self._priced, hidden, progress=self._progress)
            self._require_all(witnesses)
            more = self._more_for_sums(hidden)
            if not more.any() and not self._state(hidden):
                return hidden
            self._forced |= more
            hidden = hidden | more

    def _require_all(self, witnesses: Witnesses) -> None:
        """Raise if a requirement has no proof though all that may be hidden was tried."""
        left = np.unique(witnesses.needs.cell[witnesses.open])
        if len(left):
            staying = int(self._stays.sum())
            raise GuaranteeNotMetError(
                f"{len(left)} of {int(self._start.sum())} sensitive cells can't be protected: "
                f"{staying} cells must be published, and the bounds that are known of others are "
                "too narrow.",
                hint="Let more cells be hidden, or choose coarser codes.",
            )

    def _more_for_sums(self, hidden: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return further cells to hide where hidden cells of an equation break rules together."""
        more = np.zeros(len(hidden), dtype=bool)
        if not self._settings.hidden_sums:
            return more
        found = sensitive_sums(self._cells, self._rules, hidden, weights=self._weights)
        equations = self._cells.equations
        secret = equations.minimum(0) @ hidden.astype(np.float64) < 0  # the total is hidden
        filled = self._cells.value != 0
        for together in found:
            chosen = np.zeros(len(hidden))
            chosen[together] = 1.0
            inside = equations @ chosen == len(together)
            same = equations @ (hidden & filled).astype(np.float64) == len(together)
            others = np.unique(equations[np.flatnonzero(inside & same & ~secret)].indices)
            others = others[~hidden[others] & ~self._stays[others] & filled[others]]
            if not len(others):
                raise GuaranteeNotMetError(
                    f"Hidden cells of {len(found)} equations are sensitive together, and no "
                    "other cell of one of them may be hidden.",
                    hint="Let more cells be hidden, or turn hidden_sums off.",
                )
            if not more[others].any():
                more[others[np.argmin(self._cost[others])]] = True
        return more

    def _state(self, hidden: NDArray[np.bool_]) -> bool:
        """State the requirements of a pattern; say whether any of them has no proof yet."""
        stated = state_requirements(
            self._cells, self._sensitivity, hidden, singletons=self._settings.singletons
        )
        needs = Needs.of(stated, self._cells.n)
        self._witnesses = Witnesses(needs, self._room, earlier=self._witnesses)
        return len(self._witnesses.open) > 0
