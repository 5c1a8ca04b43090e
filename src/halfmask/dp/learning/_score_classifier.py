"""Classifiers that learn scores: one for two classes, or one a class for more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin

from halfmask.dp.learning._private_estimator import PrivateEstimator

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class ScoreClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc] # sklearn has no types
    """Labels and probabilities from the scores that a kind of classifier learns."""

    classes_: NDArray[Any]

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return a score a row, or one a row and class for more than two classes.

        Parameters
        ----------
        X
            Rows as in ``fit``.
        """
        raise NotImplementedError

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the label that is likeliest for each row.

        Parameters
        ----------
        X
            Rows as in ``fit``.
        """
        scores = self.decision_function(X)
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return a probability a row and class.

        Parameters
        ----------
        X
            Rows as in ``fit``.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            ones = expit(scores)
            return np.column_stack([1 - ones, ones])
        probabilities: NDArray[np.float64] = softmax(scores, axis=1)
        return probabilities

    def _truth(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return what the probability of each score is for rows whose classes are known."""
        if len(self.classes_) == 2:
            return codes[:, None].astype(float)
        return np.eye(len(self.classes_))[codes]
