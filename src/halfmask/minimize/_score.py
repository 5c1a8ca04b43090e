"""How well a model does on coarser rows, by row where that is possible, with a lower bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from halfmask._errors import DataError
from halfmask._foreign import foreign

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from halfmask.minimize._model import LabelledModel

RESAMPLES = 500  # of the rows, for a score of the user's own; its 5 % point then rests on 25


class PredictionScore(Protocol):
    """A score of predictions against the truth."""

    def of(self, truth: NDArray[np.float64], predicted: NDArray[np.float64]) -> float:
        """Return the score of all rows."""

    def change(
        self,
        truth: NDArray[np.float64],
        before: NDArray[np.float64],
        at: NDArray[np.int64],
        after: NDArray[np.float64],
    ) -> float:
        """Return by how much the score grows when the predictions of some rows change."""

    def bound(
        self, truth: NDArray[np.float64], predicted: NDArray[np.float64], *, error: float
    ) -> float:
        """Return a lower bound of the score of all rows to come, wrong this often at most."""


@dataclass(frozen=True, slots=True)
class Right:
    """The share of rows with the right prediction.

    Bounds are those of Clopper and Pearson, "The use of confidence or fiducial limits illustrated
    in the case of the binomial" (Biometrika 1934).
    """

    def of(self, truth: NDArray[np.float64], predicted: NDArray[np.float64]) -> float:
        """Return the share."""
        return float((truth == predicted).mean())

    def change(
        self,
        truth: NDArray[np.float64],
        before: NDArray[np.float64],
        at: NDArray[np.int64],
        after: NDArray[np.float64],
    ) -> float:
        """Return by how much the share grows."""
        there = truth[at]
        right = np.count_nonzero(after == there) - np.count_nonzero(before[at] == there)
        return float(right) / len(truth)

    def bound(
        self, truth: NDArray[np.float64], predicted: NDArray[np.float64], *, error: float
    ) -> float:
        """Return the lower Clopper-Pearson bound."""
        from scipy.special import betaincinv  # noqa: PLC0415 # scipy loads late

        right = int((truth == predicted).sum())
        return float(betaincinv(right, len(truth) - right + 1, error)) if right else 0.0


@dataclass(frozen=True, slots=True)
class Explained:
    """R2: the share of the truth's variance that the predictions explain.

    The bound takes R2 for a ratio of means and its error for normal (the delta method), with
    Student's quantile; it is no exact one.
    """

    spread: float
    """The truth's variance over the rows of the search and the validation, above 0."""

    def of(self, truth: NDArray[np.float64], predicted: NDArray[np.float64]) -> float:
        """Return R2."""
        return 1 - float(_squares(truth, predicted).mean()) / self._variance(truth)

    def change(
        self,
        truth: NDArray[np.float64],
        before: NDArray[np.float64],
        at: NDArray[np.int64],
        after: NDArray[np.float64],
    ) -> float:
        """Return by how much R2 grows."""
        there = truth[at]
        less = _squares(there, before[at]).sum() - _squares(there, after).sum()
        return float(less) / len(truth) / self._variance(truth)

    def bound(
        self, truth: NDArray[np.float64], predicted: NDArray[np.float64], *, error: float
    ) -> float:
        """Return a lower bound of R2."""
        from scipy.stats import t  # noqa: PLC0415 # scipy loads late

        n = len(truth)
        if n < 2:  # one row has no variance
            return float("-inf")
        wrong, around = _squares(truth, predicted), _squares(truth, np.float64(truth.mean()))
        spread = self._variance(truth)
        lost = wrong.mean() / spread
        deviation = float(((wrong - lost * around) / spread).std(ddof=1)) / n**0.5
        return float(1 - lost + t.ppf(error, n - 1) * deviation)

    def _variance(self, truth: NDArray[np.float64]) -> float:
        """Return the variance of these rows, or of all where these have none."""
        return float(np.var(truth)) or self.spread


@dataclass(frozen=True, slots=True)
class Called:
    """A score of the user's own, ``score(truth, predictions)``, larger is better.

    The bound is a percentile of bootstrap resamples: Efron, "Bootstrap methods: another look at
    the jackknife" (1979).
    """

    score: Callable[[NDArray[Any], NDArray[Any]], float]
    classes: NDArray[Any] | None
    random_state: int

    def of(self, truth: NDArray[np.float64], predicted: NDArray[np.float64]) -> float:
        """Return the score."""
        hint = "Call it on labels and predictions of these rows yourself to see why."
        failed = f"The 'scoring' function of Minimizer failed on {len(truth)} rows"
        with foreign(failed, hint=hint):
            value = float(self.score(self._meant(truth), self._meant(predicted)))
        if np.isnan(value):
            raise DataError("The 'scoring' function of Minimizer gave NaN.")
        return value

    def change(
        self,
        truth: NDArray[np.float64],
        before: NDArray[np.float64],
        at: NDArray[np.int64],
        after: NDArray[np.float64],
    ) -> float:
        """Return by how much the score grows."""
        new = before.copy()
        new[at] = after
        return self.of(truth, new) - self.of(truth, before)

    def bound(
        self, truth: NDArray[np.float64], predicted: NDArray[np.float64], *, error: float
    ) -> float:
        """Return a percentile of the score of resamples."""
        rng = np.random.default_rng(self.random_state)
        drawn = [rng.integers(0, len(truth), len(truth)) for _ in range(RESAMPLES)]
        return float(np.quantile([self.of(truth[i], predicted[i]) for i in drawn], error))

    def _meant(self, codes: NDArray[np.float64]) -> NDArray[Any]:
        return codes if self.classes is None else self.classes[codes.astype(np.int64)]


def _squares(
    truth: NDArray[np.float64], predicted: NDArray[np.float64] | np.float64
) -> NDArray[np.float64]:
    return np.square(truth - predicted)


def score_of(
    scoring: str | Callable[..., float],
    truth: NDArray[np.float64],
    model: LabelledModel,
    random_state: int,
) -> PredictionScore:
    """Return the score that a minimizer was asked for."""
    if callable(scoring):
        return Called(scoring, None if model.regression else model.classes, random_state)
    if not model.regression:
        return Right()
    spread = float(np.var(truth))
    if not spread:
        raise DataError("All rows have the same true value; R2 isn't defined.")
    return Explained(spread)
