"""Answering: what an estimator says of rows as they are, by the model that it trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from halfmask.training._checked import flat
from halfmask.training._fitting import asking

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Answering"]


def _has(method: str) -> Any:  # noqa: ANN401 # scikit-learn ships no types
    def check(self: Answering) -> bool:
        return hasattr(getattr(self, "model_", self.estimator), method)

    return available_if(check)


class Answering:
    """Answers as the trained model does, where it can; of an error of its only the kind is told."""

    estimator: Any
    model_: Any

    def encode(self, X: Any) -> NDArray[np.float64]:  # noqa: ANN401 # any table
        """Return rows as the model sees them, as they are."""
        raise NotImplementedError

    def _said(self, way: str, X: Any) -> NDArray[Any]:  # noqa: ANN401 # the same
        encoded = self.encode(X)
        with asking(self.model_, "predict", encoded):
            said: NDArray[Any] = getattr(self.model_, way)(encoded)
        return said

    @_has("predict")  # type: ignore[untyped-decorator] # scikit-learn ships no types
    def predict(self, X: Any) -> NDArray[Any]:  # noqa: ANN401 # any table
        """Return what the model says of rows as they are."""
        return self._said("predict", X)

    @_has("predict_proba")  # type: ignore[untyped-decorator] # the same
    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: ANN401 # any table
        """Return the probabilities of :attr:`classes_` for rows as they are."""
        return self._said("predict_proba", X)

    @_has("predict_log_proba")  # type: ignore[untyped-decorator] # the same
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: ANN401 # any table
        """Return the logarithms of :meth:`predict_proba`."""
        return self._said("predict_log_proba", X)

    @_has("decision_function")  # type: ignore[untyped-decorator] # the same
    def decision_function(self, X: Any) -> NDArray[np.float64]:  # noqa: ANN401 # any table
        """Return the model's scores of rows as they are."""
        return self._said("decision_function", X)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:  # noqa: ANN401 # any table
        """Return the model's own score (accuracy, or R²) on rows as they are.

        Raises
        ------
        DataError
            If the model can't be scored on them.
        """
        encoded, labels = self.encode(X), flat(y)
        weighted = {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight)}
        with asking(self.model_, "score", encoded):
            return float(self.model_.score(encoded, labels, **weighted))
