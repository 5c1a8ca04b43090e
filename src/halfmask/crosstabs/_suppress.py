"""Secondary suppression: which cells are hidden so that all requirements are met."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from halfmask._errors import GuaranteeNotMetError, ParameterError
from halfmask._progress import silent
from halfmask.crosstabs._audit import prove
from halfmask.crosstabs._grow import Conditions, clean, grow
from halfmask.crosstabs._optimal import least_cost
from halfmask.crosstabs._pattern import HiddenPattern, Requirements
from halfmask.crosstabs._program import Deviations, Programs, Slack
from halfmask.crosstabs._requirements import sensitive_sums, state_requirements
from halfmask.crosstabs._witnesses import Needs, Witnesses

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halfmask._progress import Progress
    from halfmask.crosstabs._arrays import Bools, Floats, Ints
    from halfmask.crosstabs._cells import CellSystem
    from halfmask.crosstabs._pattern import Knowledge, Sensitivity
    from halfmask.crosstabs._protections import Suppression
    from halfmask.crosstabs._rules import CellRule

#: Up to how many cells the least cost is proven where the search is chosen by size.
_PROVEN: Final = 450
#: From how many cells on counts are protected by elimination where the search is chosen by size.
_ELIMINATED: Final = 20_000
#: How often cells are published again: owners learn other things from each pattern.
_CLEANINGS: Final = 4


def suppress(
    cells: CellSystem,
    sensitivity: Sensitivity,
    knowledge: Knowledge,
    settings: Suppression,
    *,
    rules: Sequence[CellRule] = (),
    weights: str | None = None,
    progress: Progress = silent,
) -> HiddenPattern:
    """Return a pattern that meets all requirements, what owners know and hidden sums included.

    An interrupt gives the best pattern so far, if there is one.
    """
    _check(sensitivity, knowledge)
    search = _Search(cells, sensitivity, knowledge, settings, rules, weights, progress)
    best: HiddenPattern | None = None
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


def costs_of(cells: CellSystem, settings: Suppression) -> Floats:
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
    return lifted(cost) * settings.total_cost ** _levels(cells)


def lifted(size: Floats) -> Floats:
    """Return sizes with the least of the others, or 1, for those of 0."""
    positive = size[size > 0]
    return np.maximum(size, positive.min() if len(positive) else 1.0)


def _search_for(cells: CellSystem, settings: Suppression) -> str:
    """Return the search that is asked for, or one that fits the size."""
    if settings.search != "auto":
        return settings.search
    if cells.is_count and cells.n >= _ELIMINATED:
        return "elimination"
    return "optimal" if cells.n <= _PROVEN else "linear"


def _levels(cells: CellSystem) -> Ints:
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
    """A search for patterns that meet all: what lone owners learn depends on what is hidden."""

    def __init__(
        self,
        cells: CellSystem,
        sensitivity: Sensitivity,
        knowledge: Knowledge,
        settings: Suppression,
        rules: Sequence[CellRule],
        weights: str | None,
        progress: Progress,
    ) -> None:
        self._cells, self._sensitivity, self._settings = cells, sensitivity, settings
        self._knowledge = knowledge
        self._rules, self._weights, self._progress = rules, weights, progress
        self._room = Slack.of(cells, knowledge)
        self._cost = costs_of(cells, settings)
        self._start = sensitivity.is_sensitive | knowledge.must_hide
        self._stays = knowledge.must_stay & ~self._start
        self._priced = np.where(self._stays, np.inf, self._cost)
        self._asked = np.zeros(cells.n)  # how far cells must move for sums of hidden cells
        self._required: dict[tuple[int, tuple[int, ...]], tuple[float, float]] = {}
        self._searched = _search_for(cells, settings)
        self._conditions = Conditions()
        self._witnesses: Witnesses | None = None
        self._programs = Programs(cells.equations, self._room, np.flatnonzero(~self._stays))

    def patterns(self) -> Iterator[HiddenPattern]:
        """Yield patterns that meet everything."""
        search = self._searched
        if search == "elimination":
            yield self._pattern(self._grown(self._eliminated(), tried=True), search)
            return
        always = self._stated(self._start)
        filled = self._cells.value != 0
        mostly = bool(2 * (self._start & filled).sum() > filled.sum())
        hidden = self._grown(self._start, tried=mostly, together=mostly)
        yield self._pattern(hidden, search)
        for _ in range(_CLEANINGS):
            cleaned = self._cleaned(hidden)
            hidden = self._grown(cleaned, tried=True)
            yield self._pattern(hidden, search)
            if (hidden == cleaned).all():
                break
        if search == "optimal":
            yield from self._optimal(hidden, always)

    def _optimal(self, hidden: Bools, needs: Needs) -> Iterator[HiddenPattern]:
        """Yield patterns with what is proven of the least cost, whatever is hidden.

        A second search adds what its pattern brings about, and what sums of hidden cells need.
        """
        proven = 0.0
        for search in range(2):
            best, start = hidden, self._start | (search > 0) * (self._asked > 0)
            for found, bound in least_cost(
                Deviations(self._cells.equations, self._room, np.flatnonzero(~self._stays)),
                needs,
                self._priced,
                start,
                hidden,
                rounds=self._settings.rounds,
                progress=self._progress,
            ):
                best, proven = found, bound if search == 0 else proven
                yield self._pattern(hidden, "optimal", bound=proven)
            found = self._grown(best, tried=True)
            if self._cost[found].sum() < self._cost[hidden].sum():
                hidden = found
            yield self._pattern(hidden, "optimal", bound=proven)
            if (found == best).all():
                return
            needs = self._stated(found)

    def _pattern(self, hidden: Bools, search: str, bound: float | None = None) -> HiddenPattern:
        cost = float(self._cost[hidden].sum())
        return HiddenPattern(hidden=hidden, search=search, cost=cost, bound=bound)

    def _eliminated(self) -> Bools:
        from halfmask.crosstabs._eliminate import eliminate  # noqa: PLC0415 # compiled code

        found = eliminate(self._cells, self._sensitivity, self._knowledge, self._cost)
        return (found & ~self._stays) | self._start

    def _cleaned(self, hidden: Bools) -> Bools:
        """Publish cells again that the requirements as stated for a pattern don't take."""
        program = Deviations(self._cells.equations, self._room, np.flatnonzero(hidden))
        return clean(
            program,
            self._proofs(hidden),
            self._cost,
            hidden,
            self._start,
            conditions=self._conditions,
            allows=lambda pattern: not self._sums(pattern),
            progress=self._progress,
        )

    def _grown(self, hidden: Bools, *, tried: bool, together: bool = False) -> Bools:
        """Hide more cells until everything is met; ``tried`` if most is met already."""
        witnesses = self._proofs(hidden)
        while True:
            if tried:
                prove(
                    self._cells.equations,
                    self._room,
                    hidden,
                    witnesses,
                    together=together or self._searched == "elimination",
                    progress=self._progress,
                )
            hidden = grow(self._programs, witnesses, self._priced, hidden, progress=self._progress)
            self._require_all(witnesses)
            more = self._more_for_sums(hidden)
            hidden, tried = hidden | more, True
            witnesses = self._proofs(hidden)
            if not more.any() and not len(witnesses.open):
                return hidden

    def _stated(self, hidden: Bools) -> Needs:
        """State what a pattern requires, and earlier ones did: else a search goes in circles."""
        stated = state_requirements(
            self._cells, self._sensitivity, hidden, singletons=self._settings.singletons
        )
        for cell, below, above, known in zip(
            stated.cell.tolist(), stated.below, stated.above, stated.known, strict=True
        ):
            self._required[cell, known] = (float(below), float(above))
        for cell in np.flatnonzero(hidden & (self._asked > 0)).tolist():
            ends = (self._room.below[cell], self._room.above[cell])
            self._required[cell, ()] = tuple(min(self._asked[cell], end) for end in ends)
        entries = [(*key, *ends) for key, ends in self._required.items() if hidden[key[0]]]
        return Needs.of(
            Requirements(
                cell=np.array([each[0] for each in entries], dtype=np.int64),
                below=np.array([each[2] for each in entries]),
                above=np.array([each[3] for each in entries]),
                known=tuple(each[1] for each in entries),
            ),
            self._cells.n,
        )

    def _proofs(self, hidden: Bools) -> Witnesses:
        """Return what earlier deviations prove of the requirements of a pattern."""
        self._witnesses = Witnesses(self._stated(hidden), self._room, hidden, self._witnesses)
        return self._witnesses

    def _require_all(self, witnesses: Witnesses) -> None:
        """Raise if a requirement has no proof though all that may be hidden was tried."""
        left = np.unique(witnesses.needs.cell[witnesses.open])
        if len(left):
            staying = int(self._stays.sum())
            owners = bool(
                np.diff(witnesses.needs.known.indptr)[witnesses.needs.attacker][
                    witnesses.open
                ].any()
            )
            raise GuaranteeNotMetError(
                f"{len(left)} of {int(self._start.sum())} sensitive cells can't be protected: "
                f"{staying} cells must be published, and what is known of others leaves too "
                "little room.",
                hint='Write singletons = "exact": owners know too much for "full".'
                if owners and self._settings.singletons == "full"
                else "Let more cells be hidden, or choose coarser codes.",
            )

    def _sums(self, hidden: Bools) -> list[tuple[Ints, float]]:
        """Return hidden cells of equations that break the rules as one cell, and its level."""
        if not self._settings.hidden_sums:
            return []
        return sensitive_sums(self._cells, self._rules, hidden, weights=self._weights)

    def _more_for_sums(self, hidden: Bools) -> Bools:
        """Return cells to hide with others that break a rule together: they move the other way."""
        more = np.zeros(len(hidden), dtype=bool)
        found = self._sums(hidden)
        equations = self._cells.equations
        secret = equations.minimum(0) @ hidden.astype(np.float64) < 0  # the total is hidden
        filled = self._cells.value != 0
        same = equations @ (hidden & filled).astype(np.float64)
        for together, level in found:
            chosen = np.zeros(len(hidden))
            chosen[together] = 1.0
            inside = equations @ chosen
            rows = np.flatnonzero((inside == len(together)) & (same == inside) & ~secret)
            others = np.unique(equations[rows].indices)
            others = others[~hidden[others] & ~self._stays[others] & filled[others]]
            if not len(others):
                raise GuaranteeNotMetError(
                    f"Hidden cells of {len(found)} equations are sensitive together, and no "
                    "other cell of one of them may be hidden.",
                    hint="Let more cells be hidden, or turn hidden_sums off.",
                )
            if not more[others].any():
                chosen_one = others[np.argmin(self._cost[others])]
                more[chosen_one] = True
                self._asked[chosen_one] = level
        return more
