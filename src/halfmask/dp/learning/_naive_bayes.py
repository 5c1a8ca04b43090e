"""Naive Bayes from noisy counts and sums."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from halfmask._errors import DataError
from halfmask._optional import need
from halfmask._validation import number_between
from halfmask.dp.learning._declared import declared_bounds, declared_classes, scaled
from halfmask.dp.learning._private_estimator import ENOUGH, PrivateEstimator, warn_of_noise
from halfmask.dp.noise import FixedPoint, GaussianMechanism, LaplaceMechanism

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


class NoisyClassSums(ClassifierMixin, PrivateEstimator):  # type: ignore[misc] # sklearn has no types
    """What naive Bayes models have in common: sums a class, with noise on all at once."""

    classes_: NDArray[Any]

    def _norms(self, columns: int) -> tuple[int, float, float]:
        """Return the sums of a class, and bounds on the L1 and L2 norm of what a row adds."""
        raise NotImplementedError

    def _mechanism(self, columns: int) -> NoiseMechanism:
        """Return the noise on all sums at once."""
        _, l1, l2 = self._norms(columns)
        if self.delta > 0:
            return GaussianMechanism.calibrated(
                sensitivity=l2, epsilon=self.epsilon, delta=self.delta
            )
        return LaplaceMechanism.calibrated(sensitivity=l1, epsilon=self.epsilon)

    def _planned(self, columns: int) -> tuple[Sequence[MechanismEvent], str, float]:
        self._check()
        labels = len(declared_classes(self.classes, owner=type(self).__name__))
        mechanism = self._mechanism(columns)
        deviation = mechanism.deviation
        noise = (
            f"The number of rows of each class gets noise of standard deviation {deviation:.3g}, "
            "and so does each sum of a column."
        )
        return [mechanism.event(labels * self._norms(columns)[0])], noise, labels * deviation

    def _check(self) -> None:
        need("opendp", "dp_accounting")
        self._check_budget()

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
        warn_of_noise(
            type(self).__name__,
            noise=mechanism.deviation,
            signal=float(noisy[:, 0].max()) / ENOUGH,
            hint="Choose a larger epsilon, or take more rows or fewer columns.",
        )
        return noisy

    def _likelihoods(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log of prior times likelihood, a row a row, a column a class."""
        raise NotImplementedError

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the label that is likeliest for each row.

        Parameters
        ----------
        X
            Rows as in ``fit``.
        """
        check_is_fitted(self)
        labels: NDArray[Any] = self.classes_[self._likelihoods(self._rows(X)).argmax(axis=1)]
        return labels

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return a probability a row and class.

        Parameters
        ----------
        X
            Rows as in ``fit``.
        """
        check_is_fitted(self)
        probabilities: NDArray[np.float64] = softmax(self._likelihoods(self._rows(X)), axis=1)
        return probabilities


class PrivateGaussianNB(NoisyClassSums):
    """Gaussian naive Bayes from noisy counts, sums and sums of squares.

    Parameters
    ----------
    epsilon
        The budget, above 0.
    delta
        0 for Laplace noise; above 0, below 1 for Gaussian noise, which is smaller.
    bounds
        The lowest and the highest value: two numbers, or two lists with one a column. Values
        beyond are clipped.
    classes
        All labels that can occur, at least two.
    ledger
        Where the budget is booked; ``None``: nowhere.

    Attributes
    ----------
    class_prior_, theta_, var_, classes_
        Priors, means and variances, a row a class, as of scikit-learn's, with noise.
    events_, spent_epsilon_
        What the training cost.

    Guarantees
    ----------
    The fitted attributes are (epsilon, delta)-differentially private if one row is added or
    removed, or with ``groups`` all rows of one person.

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

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        bounds: tuple[ArrayLike, ArrayLike],
        classes: Sequence[object],
        ledger: BudgetLedger | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.classes = classes
        self.ledger = ledger

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Train on rows and their labels.

        Parameters
        ----------
        X
            Finite numbers.
        y
            One of ``classes`` a row.
        groups
            The person of each row. One row of each person is drawn by chance, and the guarantee is
            for persons; ``None``: for rows.
        """
        self._check()
        rows, codes = self._rows_and_codes(X, y, self.classes, groups)
        columns = rows.shape[1]
        low, high = declared_bounds(self.bounds, columns, owner=type(self).__name__, name="bounds")
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
        return self

    def _planned(self, columns: int) -> tuple[Sequence[MechanismEvent], str, float]:
        declared_bounds(self.bounds, columns, owner=type(self).__name__, name="bounds")
        return super()._planned(columns)

    def _norms(self, columns: int) -> tuple[int, float, float]:
        return 1 + 2 * columns, 1.0 + 2 * columns, math.sqrt(1 + 2 * columns)

    def _likelihoods(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        low, high = declared_bounds(
            self.bounds, rows.shape[1], owner=type(self).__name__, name="bounds"
        )
        away = np.clip(rows, low, high)[:, None, :] - self.theta_
        exponents = np.log(2 * np.pi * self.var_) + away**2 / self.var_
        found: NDArray[np.float64] = np.log(self.class_prior_) - exponents.sum(axis=2) / 2
        return found


class PrivateMultinomialNB(NoisyClassSums):
    """Multinomial naive Bayes from noisy counts, for counts and for one-hot columns.

    Parameters
    ----------
    epsilon
        The budget, above 0.
    delta
        0 for Laplace noise; above 0, below 1 for Gaussian noise, which is smaller.
    row_sum
        Rows with a larger sum are scaled down to it, above 0: with one-hot columns the number of
        categorical columns.
    classes
        All labels that can occur, at least two.
    alpha
        Added to each count, above 0 (Laplace smoothing).
    ledger
        Where the budget is booked; ``None``: nowhere.

    Attributes
    ----------
    class_log_prior_, feature_log_prob_, classes_
        As of scikit-learn's, with noise.
    events_, spent_epsilon_
        What the training cost.

    Raises
    ------
    DataError
        If a value is below 0.

    Guarantees
    ----------
    The fitted attributes are (epsilon, delta)-differentially private if one row is added or
    removed, or with ``groups`` all rows of one person.

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

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        row_sum: float,
        classes: Sequence[object],
        alpha: float = 1.0,
        ledger: BudgetLedger | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.row_sum = row_sum
        self.classes = classes
        self.alpha = alpha
        self.ledger = ledger

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 # scikit-learn ships no types
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Train on rows and their labels.

        Parameters
        ----------
        X
            Finite numbers of at least 0.
        y
            One of ``classes`` a row.
        groups
            The person of each row. One row of each person is drawn by chance, and the guarantee is
            for persons; ``None``: for rows.
        """
        self._check()
        rows, codes = self._rows_and_codes(X, y, self.classes, groups)
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
        return self

    def _check(self) -> None:
        super()._check()
        owner = type(self).__name__
        number_between(
            0, math.inf, owner=owner, low_open=True, row_sum=self.row_sum, alpha=self.alpha
        )

    def _norms(self, columns: int) -> tuple[int, float, float]:
        largest = self.row_sum * min(1.0, self.row_sum)
        return 1 + columns, 1 + self.row_sum, math.sqrt(1 + largest)

    def _likelihoods(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = rows @ self.feature_log_prob_.T + self.class_log_prior_
        return found
