"""Logistic regression by output perturbation: noise on the coefficients."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax
from sklearn.utils.validation import check_is_fitted

from halfmask._errors import DivergenceError
from halfmask._optional import need
from halfmask._validation import number_between
from halfmask.dp.learning._bounded_rows import with_constant, within_norm
from halfmask.dp.learning._score_classifier import ScoreClassifier
from halfmask.dp.noise import GaussianMechanism, LaplaceMechanism

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from halfmask.dp.learning._private_estimator import BudgetLedger
    from halfmask.dp.noise import NoiseMechanism

__all__ = ["LinearPredictions", "PrivateLogisticRegression"]

#: How far from 0 the gradient may end, relative to what one row adds to it.
_TOLERANCE: Final = 1e-4


class LinearPredictions(ScoreClassifier):
    """Predictions of linear classifiers from ``coef_``, ``intercept_`` and ``classes_``."""

    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return a score a row, or one a row and class for more than two classes.

        Parameters
        ----------
        X
            Rows as in ``fit``.
        """
        check_is_fitted(self)
        scores: NDArray[np.float64] = self._rows(X) @ self.coef_.T + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores


class PrivateLogisticRegression(LinearPredictions):
    """Logistic regression, binary or multinomial, by output perturbation.

    Parameters
    ----------
    epsilon
        The budget, above 0.
    delta
        0 for Laplace noise; above 0, below 1 for Gaussian noise, which is smaller.
    row_norm
        Rows with a larger L2 norm are scaled down to it. Above 0.
    classes
        All labels that can occur, at least two.
    C
        Inverse strength of the L2 penalty as in scikit-learn, above 0. Noise grows with it.
    fit_intercept
        Whether rows get a constant, which is penalised too.
    ledger
        Where the budget is booked; ``None``: nowhere.

    Attributes
    ----------
    coef_, intercept_, classes_
        As of scikit-learn's, with noise.
    mechanism_
        The noise on the coefficients.
    events_, spent_epsilon_
        What the training cost.

    Raises
    ------
    BudgetError
        If the ledger refuses; nothing was trained then.
    DivergenceError
        If the solver doesn't come near enough to the minimum: nothing is kept.

    Guarantees
    ----------
    The fitted attributes are (epsilon, delta)-differentially private if one row is added or
    removed. They stay so with any solver that ends at a gradient below the tolerance.

    Notes
    -----
    Chaudhuri, Monteleoni, Sarwate 2011, algorithm 1. The penalised loss
    sum(loss) + |w|^2 / (2 C) is 1/C-strongly convex, and one row changes its gradient by at most
    L: row_norm for two classes, sqrt(2) row_norm for more. So it moves the minimum by at most
    C L. With n fixed and one row replaced that is their 2 / (n lambda), with C = 1 / (n lambda).
    A solver that ends at a gradient of at most t is at most C t from the minimum, which adds 2 C t.

    See Also
    --------
    PrivateSGDClassifier : Less noise where more than a few passes over the rows are affordable.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat([[-1.0], [1.0]], 2000, axis=0)
    >>> y = np.repeat(["no", "yes"], 2000)
    >>> model = PrivateLogisticRegression(
    ...     epsilon=1.0, delta=0.0, row_norm=1.0, classes=["no", "yes"], C=0.1
    ... ).fit(X, y)
    >>> model.predict([[-1.0], [1.0]]).tolist()
    ['no', 'yes']
    """

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        row_norm: float,
        classes: Sequence[object],
        C: float = 1.0,
        fit_intercept: bool = True,
        ledger: BudgetLedger | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.row_norm = row_norm
        self.classes = classes
        self.C = C
        self.fit_intercept = fit_intercept
        self.ledger = ledger

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train on rows and their labels.

        Parameters
        ----------
        X
            Finite numbers.
        y
            One of ``classes`` a row.
        """
        need("opendp", "dp_accounting")
        self._check_budget()
        owner = type(self).__name__
        number_between(0, math.inf, owner=owner, low_open=True, row_norm=self.row_norm, C=self.C)
        rows, codes = self._rows_and_codes(X, y, self.classes)
        rows = within_norm(rows, self.row_norm)
        rows = with_constant(rows) if self.fit_intercept else rows
        outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
        self.mechanism_ = self._mechanism(outputs * rows.shape[1])
        self._spend([self.mechanism_.event(outputs * rows.shape[1])])
        found = _minimum(rows, codes, outputs, penalty=1 / self.C, limit=self._lipschitz)
        noisy = self.mechanism_.release(found)
        self.intercept_ = noisy[:, 0] if self.fit_intercept else np.zeros(outputs)
        self.coef_ = noisy[:, 1:] if self.fit_intercept else noisy
        return self

    @property
    def _lipschitz(self) -> float:
        """The most by which one row changes the gradient."""
        longest = math.hypot(self.row_norm, 1.0) if self.fit_intercept else self.row_norm
        return longest * (1.0 if len(self.classes_) == 2 else math.sqrt(2))

    def _mechanism(self, coordinates: int) -> NoiseMechanism:
        """Return the noise that the coefficients need: how far one row moves them."""
        moved = self.C * self._lipschitz * (1 + 2 * _TOLERANCE)
        if self.delta > 0:
            return GaussianMechanism.calibrated(
                sensitivity=moved, epsilon=self.epsilon, delta=self.delta
            )
        return LaplaceMechanism.calibrated(
            sensitivity=moved * math.sqrt(coordinates), epsilon=self.epsilon
        )


def _minimum(
    rows: NDArray[np.float64],
    codes: NDArray[np.int64],
    outputs: int,
    *,
    penalty: float,
    limit: float,
) -> NDArray[np.float64]:
    """Return coefficients at which the gradient is at most the tolerance times ``limit``.

    The gradient is computed with half of the tolerance left for rounding.
    """
    shape = (outputs, rows.shape[1])
    truth = codes[:, None] if outputs == 1 else np.eye(outputs)[codes]

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = rows @ flat.reshape(shape).T
        if outputs == 1:
            value = float((np.logaddexp(0.0, scores) - truth * scores).sum())
            residuals = expit(scores) - truth
        else:
            value = -float((truth * log_softmax(scores, axis=1)).sum())
            residuals = softmax(scores, axis=1) - truth
        gradient = (residuals.T @ rows).ravel() + penalty * flat
        return value + penalty / 2 * float(flat @ flat), gradient

    goal = _TOLERANCE / 2 * limit
    found = np.zeros(outputs * rows.shape[1])
    for _ in range(5):
        done = minimize(
            loss,
            found,
            jac=True,
            method="L-BFGS-B",
            options={
                "gtol": goal / math.sqrt(found.size) / 2,
                "ftol": 0.0,
                "maxiter": 20_000,
                "maxfun": 40_000,
                "maxcor": 30,
            },
        )
        found = done.x
        if float(np.linalg.norm(loss(found)[1])) <= goal:
            coefficients: NDArray[np.float64] = found.reshape(shape)
            return coefficients
    raise DivergenceError(
        "The solver of PrivateLogisticRegression didn't come near enough to the minimum.",
        hint="Choose a smaller C.",
    )
