"""The coarsest step of a search that held-out validation rows confirm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import GuaranteeNotMetError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from halfmask.minimize._score import PredictionScore
    from halfmask.minimize._search import SearchStep

BY_LEVEL, BY_STEP = 40, 40  # how many steps of a search are tested: by their score, by their number


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatedStep:
    """The step that was taken, its score on the validation rows and the lower bound."""

    step: SearchStep
    value: float
    bound: float
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ValidationRows:
    """Held-out rows: they took no part in the search."""

    ask: Callable[[NDArray[np.int64]], NDArray[np.float64]]
    codes: NDArray[np.int64]
    truth: NDArray[np.float64]
    own: NDArray[np.float64]
    score: PredictionScore

    def evaluate(self, step: SearchStep, *, error: float) -> ValidatedStep:
        """Return the score with the maps of a step, and its lower bound."""
        changed = self.codes.copy()
        for column, target in step.targets.items():
            changed[column] = target[changed[column]]
        return self._scored(step, self.ask(changed), error)

    def unchanged(self, step: SearchStep, *, error: float) -> ValidatedStep:
        """Return the same for the raw rows."""
        return self._scored(step, self.own, error)

    def _scored(
        self, step: SearchStep, answers: NDArray[np.float64], error: float
    ) -> ValidatedStep:
        return ValidatedStep(
            step=step,
            value=self.score.of(self.truth, answers),
            bound=self.score.bound(self.truth, answers, error=error),
            rows=len(self.truth),
        )


def last_valid_step(
    path: Sequence[SearchStep], rows: ValidationRows, *, target: float, error: float, certain: bool
) -> ValidatedStep:
    """Return the last step whose lower bound reaches the target, tested one after the other."""
    kept = rows.unchanged(path[0], error=error)
    if certain:
        kept = ValidatedStep(step=path[0], value=1.0, bound=1.0, rows=kept.rows)
    elif kept.bound < target:
        raise GuaranteeNotMetError(
            f"The model misses the target_accuracy of {target:g} on unchanged rows: it reaches "
            f"{kept.value:.4f}, at least {kept.bound:.4f} by {kept.rows} rows.",
            hint="Lower target_accuracy, or give more rows if only the bound misses it.",
        )
    for number in stations([step.score for step in path]):
        found = rows.evaluate(path[number], error=error)
        if found.bound < target:
            break
        kept = found
    return kept


def stations(scores: Sequence[float]) -> list[int]:
    """Return the steps to test, in order, by what the search knows: more where it loses.

    Examples
    --------
    >>> stations([1.0, 1.0, 1.0, 0.99])
    [1, 2, 3]
    """
    last = len(scores) - 1
    lowest = np.minimum.accumulate(scores)
    levels = np.linspace(lowest[0], lowest[-1], BY_LEVEL + 1)
    by_level = np.searchsorted(-lowest, -levels + 1e-12, side="right") - 1
    by_step = np.linspace(0, last, BY_STEP + 1).round().astype(int)
    chosen: list[int] = np.unique(np.concatenate([by_level, by_step])).tolist()
    return [number for number in chosen if 0 < number <= last]


def min_rows(target: float, error: float) -> int | None:
    """Return how many rows must all agree to confirm a share of ``target``; None for 1.

    Examples
    --------
    >>> min_rows(0.98, 0.05)
    149
    """
    if target >= 1:
        return None
    return max(1, math.ceil(math.log(error) / math.log(target))) if target > 0 else 1
