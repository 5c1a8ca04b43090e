"""PredictMixin: predictions of raw rows by the model that was trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from halfmask.training._checked import EstimatorSettings, flat
from halfmask.training._fitting import asking

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def _has(method: str) -> Any:  # noqa: ANN401 # scikit-learn ships no types
    def check(self: PredictMixin) -> bool:
        return hasattr(getattr(self, "model_", self.estimator), method)

    return available_if(check)


class PredictMixin(EstimatorSettings):
    """Predicts by the trained model, in the ways that it can; its errors are shown by kind only."""

    model_: Any

    def rows_for_model(self, X: Any) -> NDArray[np.float64]:  # noqa: ANN401 # any table
        """Return encoded rows, transformed if the estimator was asked to.

        Parameters
        ----------
        X
            The rows: a frame or an array, with the columns of the fit.
        """
        raise NotImplementedError

    def _predicted(self, way: str, X: Any) -> NDArray[Any]:  # noqa: ANN401 # the same
        rows = self.rows_for_model(X)
        with asking(self.model_, "predict", rows):
            predicted: NDArray[Any] = getattr(self.model_, way)(rows)
        return predicted

    @_has("predict")  # type: ignore[untyped-decorator] # scikit-learn ships no types
    def predict(self, X: Any) -> NDArray[Any]:  # noqa: ANN401 # any table
        """Return the model's predictions."""
        return self._predicted("predict", X)

    @_has("predict_proba")  # type: ignore[untyped-decorator] # the same
    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: ANN401 # any table
        """Return the probabilities of ``classes_``."""
        return self._predicted("predict_proba", X)

    @_has("predict_log_proba")  # type: ignore[untyped-decorator] # the same
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: ANN401 # any table
        """Return the logarithms of :meth:`predict_proba`."""
        return self._predicted("predict_log_proba", X)

    @_has("decision_function")  # type: ignore[untyped-decorator] # the same
    def decision_function(self, X: Any) -> NDArray[np.float64]:  # noqa: ANN401 # any table
        """Return the model's scores."""
        return self._predicted("decision_function", X)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:  # noqa: ANN401 # any table
        """Return the model's own score (accuracy, or R²).

        Parameters
        ----------
        X
            The rows: a frame or an array, with the columns of the fit.
        y
            Their labels or numbers.
        sample_weight
            A weight for each row; ``None``: all alike.

        Raises
        ------
        DataError
            If the model can't be scored on them.
        """
        rows, labels = self.rows_for_model(X), flat(y)
        weighted = {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight)}
        with asking(self.model_, "score", rows):
            return float(self.model_.score(rows, labels, **weighted))
