"""Naive Bayes from noisy counts and sums."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError
from halfmask.dp.learning._declared import scaled
from halfmask.dp.learning._private_estimator import ENOUGH, PrivateClassifier
from halfmask.dp.noise import FixedPoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from halfmask.dp.accounting import MechanismEvent
    from halfmask.dp.learning._private_estimator import BudgetLedger
    from halfmask.dp.noise import NoiseMechanism

#: Fractional bits of what a row adds to a sum.
_GRID = FixedPoint(exponent=-30)
#: The least variance of a column that is scaled to [-1, 1].
_LEAST_VARIANCE = 1e-3


class NoisyClassSums(PrivateClassifier):
    """What naive Bayes models have in common: sums a class, with noise on all at once."""

    def _norms(self, columns: int) -> tuple[int, float, float]:
        """Return the sums of a class, and bounds on the L1 and L2 norm of what a row adds."""
        raise NotImplementedError

    def _mechanism(self, columns: int) -> NoiseMechanism:
        """Return the noise on all sums at once."""
        _, l1, l2 = self._norms(columns)
        return self._mechanism_for(l1=l1, l2=l2)

    def _planned(self, columns: int) -> tuple[Sequence[MechanismEvent], str, float]:
        mechanism, labels = self._mechanism(columns), self._n_classes
        deviation = mechanism.deviation
        noise = (
            f"The number of rows of each class gets noise of standard deviation {deviation:.3g}, "
            "and so does each sum of a column."
        )
        return [mechanism.event(labels * self._norms(columns)[0])], noise, labels * deviation

    def _noisy_sums(
        self, added: NDArray[np.float64], codes: NDArray[np.int64], columns: int
    ) -> NDArray[np.float64]:
        """Return the sum of what each row adds, a row a class, with noise."""
        outputs = len(self.classes_)
        steps = _GRID.toward_zero(added)
        sums = np.zeros((outputs, added.shape[1]), dtype=np.int64)
        np.add.at(sums, codes, steps)
        mechanism = self._mechanism(columns)
        self._spend([mechanism.event(sums.size)])
        noisy = mechanism.release(_GRID.numbers(sums))
        self._warn_of_noise(
            noise=mechanism.deviation,
            signal=float(noisy[:, 0].max()) / ENOUGH,
            hint="Choose a larger epsilon, or take more rows or fewer columns.",
        )
        return noisy


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateGaussianNB(NoisyClassSums):
    """Gaussian naive Bayes from noisy counts, sums and sums of squares.

    Parameters
    ----------
    epsilon, classes, ledger
        As of `PrivateEstimator`.
    delta
        0 for Laplace noise; above 0, below 1 for Gaussian noise, which is smaller.
    bounds
        The lowest and the highest value: two numbers, or two lists with one a column. Values
        beyond are clipped.

    Attributes
    ----------
    class_prior_, theta_, var_, classes_
        Priors, means and variances, a row a class, as of scikit-learn's, with noise.

    Notes
    -----
    Vaidya, Shafiq, Basu, Hong 2013, with one noisy vector: a row adds 1, its values scaled to
    [-1, 1], and their squares, to the sums of its class alone: with d columns at most 1 + 2 d in
    the L1 norm, sqrt(1 + 2 d) in the L2 norm.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat([[-2.0], [-1.0], [1.0], [2.0]], 200, axis=0)
    >>> y = np.repeat([0, 1], 400)
    >>> model = PrivateGaussianNB(
    ...     epsilon=1.0, delta=0.0, bounds=(-3.0, 3.0), classes=[0, 1]
    ... ).fit(X, y)
    >>> model.predict([[-1.5], [1.5]]).tolist()
    [0, 1]
    """

    epsilon: float
    delta: float
    bounds: tuple[ArrayLike, ArrayLike]
    classes: Sequence[object]
    ledger: BudgetLedger | None = None

    def _learn(self, rows: NDArray[np.float64], codes: NDArray[np.int64]) -> None:
        columns = rows.shape[1]
        low, high = self._bounds(columns)
        within = scaled(rows, low, high)
        added = np.column_stack([np.ones(len(rows)), within, within**2])
        noisy = self._noisy_sums(added, codes, columns)
        counts = np.maximum(noisy[:, :1], 1.0)
        means = np.clip(noisy[:, 1 : columns + 1] / counts, -1, 1)
        squares = np.clip(noisy[:, columns + 1 :] / counts, 0, 1)
        half = (high - low) / 2
        self.class_prior_ = (counts / counts.sum())[:, 0]
        self.theta_ = low + half * (means + 1)
        self.var_ = np.maximum(squares - means**2, _LEAST_VARIANCE) * half**2

    def _planned(self, columns: int) -> tuple[Sequence[MechanismEvent], str, float]:
        self._bounds(columns)
        return super()._planned(columns)

    def _norms(self, columns: int) -> tuple[int, float, float]:
        return 1 + 2 * columns, 1.0 + 2 * columns, math.sqrt(1 + 2 * columns)

    def _scores(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        low, high = self._bounds(rows.shape[1])
        away = np.clip(rows, low, high)[:, None, :] - self.theta_
        exponents = np.log(2 * np.pi * self.var_) + away**2 / self.var_
        found: NDArray[np.float64] = np.log(self.class_prior_) - exponents.sum(axis=2) / 2
        return found


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateMultinomialNB(NoisyClassSums):
    """Multinomial naive Bayes from noisy counts, for counts and for one-hot columns.

    Parameters
    ----------
    epsilon, classes, ledger
        As of `PrivateEstimator`.
    delta
        0 for Laplace noise; above 0, below 1 for Gaussian noise, which is smaller.
    row_sum
        Rows with a larger sum are scaled down to it, above 0: with one-hot columns the number of
        categorical columns.
    alpha
        Added to each count, above 0 (Laplace smoothing).

    Attributes
    ----------
    class_log_prior_, feature_log_prob_, classes_
        As of scikit-learn's, with noise.

    Raises
    ------
    DataError
        If a value is below 0.

    Notes
    -----
    A row adds 1 and its values to the sums of its class: at most 1 + row_sum in the L1 norm, and
    sqrt(1 + row_sum * m) in the L2 norm, where m is the least of row_sum and 1 for values of at
    most 1. Values above 1 are scaled down with their row.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat([[1, 0], [0, 1]], 300, axis=0)
    >>> model = PrivateMultinomialNB(
    ...     epsilon=1.0, delta=0.0, row_sum=1.0, classes=["a", "b"]
    ... ).fit(X, np.repeat(["a", "b"], 300))
    >>> model.predict([[1, 0], [0, 1]]).tolist()
    ['a', 'b']
    """

    epsilon: float
    delta: float
    row_sum: float = field(metadata={"gt": 0})
    classes: Sequence[object]
    alpha: float = field(default=1.0, metadata={"gt": 0})
    ledger: BudgetLedger | None = None

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 # scikit-learn ships no types
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _learn(self, rows: NDArray[np.float64], codes: NDArray[np.int64]) -> None:
        if (rows < 0).any():
            raise DataError("Negative values in data passed to PrivateMultinomialNB.")
        # Each value at most 1 and each sum at most the bound, strictly within against rounding.
        with np.errstate(over="ignore"):
            sums = np.minimum(rows.sum(axis=1), np.finfo(np.float64).max) / self.row_sum
        longest = np.maximum(np.maximum(rows.max(axis=1), sums), 1.0)
        within = rows / longest[:, None] * (1 - 1e-12)
        added = np.column_stack([np.ones(len(rows)), within])
        noisy = self._noisy_sums(added, codes, rows.shape[1])
        noisy = np.maximum(noisy, 0.0) + self.alpha
        self.class_log_prior_ = np.log(noisy[:, 0] / noisy[:, 0].sum())
        features = noisy[:, 1:]
        self.feature_log_prob_ = np.log(features / features.sum(axis=1, keepdims=True))

    def _norms(self, columns: int) -> tuple[int, float, float]:
        largest = self.row_sum * min(1.0, self.row_sum)
        return 1 + columns, 1 + self.row_sum, math.sqrt(1 + largest)

    def _scores(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = rows @ self.feature_log_prob_.T + self.class_log_prior_
        return found
