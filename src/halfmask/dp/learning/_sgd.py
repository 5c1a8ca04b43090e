"""DP-SGD for linear models: noise on every sum of clipped gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self, TypeAlias

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from halfmask.dp.accounting import GaussianEvent, MechanismEvent, SampledGaussianEvent
from halfmask.dp.learning._clipped_gradients import (
    PoissonSampler,
    clipped_sum,
    noisy_descent,
    unit_vectors,
)
from halfmask.dp.learning._declared import with_constant
from halfmask.dp.learning._logistic_regression import LinearPredictions
from halfmask.dp.learning._private_estimator import ENOUGH, PrivateEstimator, likelihoods
from halfmask.dp.noise import GaussianMechanism

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from halfmask.dp.learning._private_estimator import BudgetLedger

    Floats: TypeAlias = NDArray[np.float64]
    Whole: TypeAlias = NDArray[np.int64]

#: The share of the privacy loss for the number of rows, by which sums are divided.
_COUNT_SHARE: Final = 0.02
#: The square of a score has to be finite.
_LARGEST_SCORE: Final = 1e150


class PrivateSteps(PrivateEstimator):
    """What DP-SGD for labels and for numbers have in common: steps within a budget."""

    clip_norm: float
    sampling_probability: float
    steps: int
    learning_rate: float
    fit_intercept: bool

    def _trained(
        self, rows: Floats, outputs: int, residuals: Callable[[Floats, Whole], Floats]
    ) -> Floats:
        """Return coefficients, a row an output, the intercept first if there is one."""
        rows = with_constant(rows) if self.fit_intercept else rows
        units, lengths = unit_vectors(rows)

        def gradient_sum(parameters: Floats, sample: Whole) -> Floats:
            with np.errstate(over="ignore", invalid="ignore"):
                scores = np.nan_to_num(rows[sample] @ parameters.T)
            # Finite whatever a row holds, so that no single row makes training fail.
            derivative = residuals(np.clip(scores, -_LARGEST_SCORE, _LARGEST_SCORE), sample)
            return clipped_sum(derivative, units[sample], lengths[sample], clip_norm=self.clip_norm)

        return self._descended(len(rows), np.zeros((outputs, rows.shape[1])), gradient_sum)

    def _descended(
        self, n: int, start: Floats, gradient_sum: Callable[[Floats, Whole], Floats]
    ) -> Floats:
        """Return parameters after all steps within the budget; ``n`` is the number of rows."""
        self.noise_multiplier_, events = self._noise(start.size)
        self._spend(events)
        scale = self.noise_multiplier_ / self._count_share
        counting = GaussianMechanism(sensitivity=1.0, scale=scale)
        counted = max(1.0, float(counting.release([n])[0]))
        self._warn_of_noise(
            noise=self._rows_like_noise(self.noise_multiplier_, start.size),
            signal=counted / ENOUGH,
            hint="Choose a larger epsilon, or take more rows or fewer columns.",
        )
        return noisy_descent(
            gradient_sum,
            PoissonSampler(n, self.sampling_probability),
            start,
            mechanism=GaussianMechanism(
                sensitivity=self.clip_norm, scale=self.noise_multiplier_ * self.clip_norm
            ),
            steps=self.steps,
            rows=counted * self.sampling_probability,
            learning_rate=self.learning_rate,
        )

    @property
    def _count_share(self) -> float:
        return math.sqrt(_COUNT_SHARE * self.steps) * self.sampling_probability

    def _noise(self, size: int) -> tuple[float, list[MechanismEvent]]:
        """Return the noise multiplier of a step over so many parameters, and what all cost."""

        def events(noise: float) -> list[MechanismEvent]:
            steps = SampledGaussianEvent(
                noise_multiplier=noise,
                sampling_probability=self.sampling_probability,
                steps=self.steps,
                coordinates=size,
            )
            counted = noise / self._count_share
            return [steps, GaussianEvent(noise_multiplier=counted, coordinates=1)]

        return self._calibrated(events)

    def _rows_like_noise(self, multiplier: float, size: int) -> float:
        """Return the rows that add as much as the noise of a step, which steps average out."""
        return multiplier * math.sqrt(size / self.steps) / self.sampling_probability

    def _planned(self, columns: int) -> tuple[Sequence[MechanismEvent], str, float]:
        size = self._size(columns)
        multiplier, events = self._noise(size)
        deviation = multiplier * self.clip_norm
        noise = f"Each sum of gradients gets noise of standard deviation {deviation:.3g} an entry."
        return events, noise, self._rows_like_noise(multiplier, size)

    def _size(self, columns: int) -> int:
        """Return the number of parameters: those of one score, unless there are more."""
        return columns + self.fit_intercept


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateSGDClassifier(PrivateSteps, LinearPredictions):
    """Logistic regression, binary or multinomial, by DP-SGD.

    Parameters
    ----------
    epsilon, delta, classes, ledger
        As of `PrivateEstimator`; delta above 0.
    clip_norm
        The most that one row adds to a sum of gradients in the L2 norm. Above 0.
    sampling_probability
        With which each row is in the sample of a step, in (0, 1]. 1 takes all rows in each step.
    steps
        How many, at least 1. More steps need more noise in each.
    learning_rate
        Of Adam, above 0.
    fit_intercept
        Whether rows get a constant.

    Attributes
    ----------
    coef_, intercept_, classes_
        As of scikit-learn's, learnt from noisy gradients.
    noise_multiplier_
        Standard deviation of the noise of a step, divided by ``clip_norm``.

    Raises
    ------
    BudgetError
        If no noise fits the budget, or the ledger refuses; nothing was trained then.

    Guarantees
    ----------
    The fitted attributes are (epsilon, delta)-differentially private if one row is added or
    removed, or with ``groups`` all rows of one person. Clipped gradients are whole steps of a grid,
    and their sums are exact.

    Notes
    -----
    Abadi et al. 2016, with Adam on the noisy sums and the average of the second half of the steps,
    which cost nothing. Samples are Poisson samples from the operating system's randomness. 2 % of
    the privacy loss pay for the number of rows.

    See Also
    --------
    PrivateLogisticRegression : Noise once, on the result.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat([[-1.0], [1.0]], 500, axis=0)
    >>> y = np.repeat([0, 1], 500)
    >>> model = PrivateSGDClassifier(
    ...     epsilon=1.0, delta=1e-6, classes=[0, 1], clip_norm=1.0,
    ...     sampling_probability=1.0, steps=20, learning_rate=0.2,
    ... ).fit(X, y)
    >>> model.predict([[-1.0], [1.0]]).tolist()
    [0, 1]
    """

    epsilon: float
    delta: float
    classes: Sequence[object]
    clip_norm: float = field(metadata={"gt": 0})
    sampling_probability: float = field(default=1.0, metadata={"gt": 0, "le": 1})
    steps: int = field(default=100, metadata={"ge": 1})
    learning_rate: float = field(default=0.1, metadata={"gt": 0})
    fit_intercept: bool = True
    ledger: BudgetLedger | None = None

    def _size(self, columns: int) -> int:
        return self._outputs * super()._size(columns)

    def _learn(self, rows: Floats, codes: Whole) -> None:
        truth = self._truth(codes)

        def residuals(scores: Floats, sample: Whole) -> Floats:
            difference: Floats = likelihoods(scores) - truth[sample]
            return difference

        found = self._trained(rows, truth.shape[1], residuals)
        self.intercept_ = found[:, 0] if self.fit_intercept else np.zeros(len(found))
        self.coef_ = found[:, 1:] if self.fit_intercept else found


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateSGDRegressor(RegressorMixin, PrivateSteps):  # type: ignore[misc] # sklearn has no types
    """Linear regression with squared loss by DP-SGD.

    Parameters
    ----------
    target_bounds
        The lowest and the highest target; targets beyond are clipped.
    clip_norm
        The most that one row adds to a sum of gradients in the L2 norm, above 0. Targets are scaled
        to [-1, 1] before.
    epsilon, delta, sampling_probability, steps, learning_rate, fit_intercept, ledger
        As of `PrivateSGDClassifier`.

    Attributes
    ----------
    coef_, intercept_
        As of scikit-learn's, learnt from noisy gradients.
    noise_multiplier_
        As of `PrivateSGDClassifier`.

    Guarantees
    ----------
    As of `PrivateSGDClassifier`.

    Notes
    -----
    Abadi et al. 2016; see `PrivateSGDClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 1000)[:, None]
    >>> model = PrivateSGDRegressor(
    ...     epsilon=2.0, delta=1e-6, target_bounds=(-10.0, 10.0), clip_norm=1.0,
    ... ).fit(X, 8 * X[:, 0])
    >>> 6 < float(model.coef_[0]) < 10
    True
    """

    epsilon: float
    delta: float
    target_bounds: tuple[float, float]
    clip_norm: float = field(metadata={"gt": 0})
    sampling_probability: float = field(default=1.0, metadata={"gt": 0, "le": 1})
    steps: int = field(default=100, metadata={"ge": 1})
    learning_rate: float = field(default=0.05, metadata={"gt": 0})
    fit_intercept: bool = True
    ledger: BudgetLedger | None = None

    def _planned(self, columns: int) -> tuple[Sequence[MechanismEvent], str, float]:
        self._bounds(1, "target_bounds")
        return super()._planned(columns)

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Train on rows and their targets.

        Parameters
        ----------
        X
            Finite numbers.
        y
            Finite numbers, one a row.
        groups
            The person of each row. One row of each person is drawn by chance, and the guarantee is
            for persons; ``None``: for rows.
        """
        self._check()
        low, high = self._bounds(1, "target_bounds")
        rows, targets = self._validated(X, y, y_numeric=True)
        kept = self._one_row_each(groups, len(rows))
        rows, targets = rows[kept], targets[kept]
        middle, half = float(low[0] + high[0]) / 2, float(high[0] - low[0]) / 2
        truth = ((np.clip(targets, low[0], high[0]) - middle) / half).reshape(-1, 1)

        def residuals(scores: Floats, sample: Whole) -> Floats:
            difference: Floats = scores - truth[sample]
            return difference

        found = self._trained(rows, 1, residuals)[0] * half
        self.intercept_ = middle + (float(found[0]) if self.fit_intercept else 0.0)
        self.coef_ = found[1:] if self.fit_intercept else found
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the expected target of each row.

        Parameters
        ----------
        X
            Rows as in ``fit``.
        """
        check_is_fitted(self)
        predicted: Floats = self._rows(X) @ self.coef_ + self.intercept_
        return predicted
