"""Hidden cells of tables: by subtraction from all that was published, or by linear programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import DataError
from halfmask.assess.attacks._arms import Expected, SuccessCount
from halfmask.assess.attacks._attack import DeclaredAttack, Found, given
from halfmask.assess.attacks._crosstab_target import CrosstabTarget
from halfmask.crosstabs import propagated

if TYPE_CHECKING:
    from halfmask.assess._arrays import Floats, Ints
    from halfmask.assess.attacks._attack import Outcome

#: A width, as a part of the value, that is no more than rounding.
_EXACT = 1e-7
_ROUNDS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class _IntervalAttack(DeclaredAttack):
    """What attacks on cells have in common: how near counts, and how intervals are judged."""

    percent: float = field(default=10.0, metadata={"gt": 0, "le": 100})
    n_cells: int = field(default=500, metadata={"ge": 1})

    def _intervals(self, target: CrosstabTarget, cells: Ints) -> tuple[Floats, Floats]:
        """Return what can be known of cells."""
        raise NotImplementedError

    def missing_inputs(self, target: CrosstabTarget) -> str:
        """Return what is missing."""
        lack = DeclaredAttack.missing_inputs(self, target)
        return lack or ("" if target.attacked.any() else "cells that are hidden or changed")

    def _measure(self, target: CrosstabTarget, random_state: int) -> Found:
        rng = np.random.default_rng(random_state)
        attacked = np.flatnonzero(target.attacked & np.isfinite(target.cells.value))
        cells = np.sort(rng.permutation(attacked)[: self.n_cells])
        low, high = self._intervals(target, cells)
        true = target.cells.value[cells]
        # Of an interval without an end the near end is the best guess.
        guess = np.where(np.isfinite(low), low, 0.0)
        closed = np.isfinite(low) & np.isfinite(high)
        guess[closed] = (low[closed] + high[closed]) / 2
        return self._exact(low, high, guess, true), self._near(guess, true, target, rng)

    def _exact(self, low: Floats, high: Floats, guess: Floats, true: Floats) -> Outcome:
        scale = _EXACT * np.maximum(1.0, np.abs(true))
        with np.errstate(invalid="ignore"):
            sure = high - low <= scale
        right = sure & (np.abs(guess - true) <= scale)
        return self._make_outcome(
            "cells computed exactly",
            SuccessCount(int(right.sum()), len(true)),
            needed=(20, "hidden cells"),
            details={"intervals of one value": float(sure.mean()) if len(sure) else 0.0},
        )

    def _near(
        self, guess: Floats, true: Floats, target: CrosstabTarget, rng: np.random.Generator
    ) -> Outcome:
        n = len(true)

        def share(guesses: Floats, truth: Floats) -> Expected:
            near = np.abs(guesses - truth) <= self.percent / 100 * np.abs(truth)
            return Expected(float(near.sum()), len(truth))

        others = true[(np.arange(n) + rng.integers(1, max(2, n))) % n] if n else true
        shown = target.value[np.isfinite(target.value)]
        usual = float(np.median(shown)) if len(shown) else 0.0
        return self._make_outcome(
            f"guesses within {self.percent:g} %",
            share(guess, true),
            share(guess, others),
            baseline=share(np.full(n, usual), true),
            needed=(100, "hidden cells"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Differencing(
    _IntervalAttack,
    name="crosstabs/differencing",
    target=CrosstabTarget,
    needs=(given("earlier", "an earlier release"),),
):
    """Compute hidden cells by subtraction from what two releases published.

    Parameters
    ----------
    percent, n_cells
        As of `HiddenCells`.

    Notes
    -----
    Bounds are passed through one equation after the other until none gets narrower: what is left of
    a total when its other parts are taken off. No linear program is solved, so this is a lower
    bound on what two releases disclose. Two measures: *cells computed exactly*, against 0; *guesses
    within p %*, the middle of the bounds. Control: the same guesses for other cells. Baseline: the
    median of published cells for all.
    """

    def _intervals(self, target: CrosstabTarget, cells: Ints) -> tuple[Floats, Floats]:
        low, high = _passed_on(target)
        return low[cells], high[cells]


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenCells(_IntervalAttack, name="crosstabs/hidden-cells", target=CrosstabTarget):
    """Guess hidden cells by the middle of what all published cells leave possible.

    Parameters
    ----------
    percent
        How near a guess must be, in percent of the true value, above 0.
    n_cells
        How many cells are drawn at most; each takes two linear programs.

    Notes
    -----
    The feasibility interval of a cell: Fischetti and Salazar, "Models and algorithms for optimizing
    cell suppression in tabular data with linear constraints" (JASA 2000). Measures, control and
    baseline are those of `Differencing`. A cell whose published value differs from the true one is
    guessed as published. A wide interval doesn't prevent that its middle is right by chance: the
    tolerance is for that.
    """

    n_cells: int = field(default=200, metadata={"ge": 1})

    def _intervals(self, target: CrosstabTarget, cells: Ints) -> tuple[Floats, Floats]:
        low, high = target.known.copy(), target.known.copy()
        unknown = np.flatnonzero(np.isnan(target.known))
        place = {cell: at for at, cell in enumerate(unknown.tolist())}
        equations = target.cells.equations.tocsc()
        sums = -(equations @ np.nan_to_num(target.known))
        inner = equations[:, unknown].tocsr()
        held = np.flatnonzero(np.diff(inner.indptr))
        inner, sums = inner[held], sums[held]
        for cell in cells.tolist():
            if cell in place:
                low[cell], high[cell] = _ends(inner, sums, place[cell], target.floor)
        return low[cells], high[cells]


def _ends(equations: object, sums: Floats, at: int, floor: float) -> tuple[float, float]:
    """Return the least and the greatest value of one unknown."""
    from scipy.optimize import linprog  # noqa: PLC0415 # scipy loads late

    ends = []
    for sign in (1.0, -1.0):
        goal = np.zeros(equations.shape[1])  # type: ignore[attr-defined] # a sparse array
        goal[at] = sign
        bounds = (None if np.isinf(floor) else floor, None)
        found = linprog(goal, A_eq=equations, b_eq=sums, bounds=bounds, method="highs")
        if found.status == 2:
            raise DataError("Published cells contradict each other, so no value is possible.")
        ends.append(sign * found.fun if found.status == 0 else -sign * np.inf)
    return ends[0], ends[1]


def _passed_on(target: CrosstabTarget) -> tuple[Floats, Floats]:
    """Return bounds of all cells, passed through each equation until few get narrower."""
    known = target.known
    unknown = np.isnan(known)
    below, above = -np.where(unknown, target.floor, known), np.where(unknown, np.inf, known)
    below, above = propagated(target.cells.equations, below, above, rounds=_ROUNDS)
    crossed = -below > above  # by rounding
    above[crossed] = (above[crossed] - below[crossed]) / 2
    below[crossed] = -above[crossed]
    return np.where(unknown, -below, known), np.where(unknown, above, known)
