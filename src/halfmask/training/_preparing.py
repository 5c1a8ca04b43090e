"""Preparing: rows checked, encoded, and with what their partition is guided by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from sklearn.utils.metaestimators import available_if

from halfmask._errors import ColumnNotFoundError, ParameterError
from halfmask.anonymize.given_rows import named
from halfmask.training._candidates import TrainingData
from halfmask.training._checked import checked, flat, seed_of
from halfmask.training._encoding import Encoding
from halfmask.training._fitting import asking
from halfmask.training._split_targets import split_targets_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from halfmask.training._estimator import AnonymizedEstimator


#: The name under which guarantees judge y.
LABEL = "label"


def prepared(
    model: AnonymizedEstimator,
    X: Any,  # noqa: ANN401 # any table
    labels: NDArray[Any],
) -> TrainingData:
    """Return the rows in all forms that candidates need."""
    table, seed = checked(model, X, labels), seed_of(model.random_state)
    names = names_of(model.quasi_identifiers, table.columns)
    _generalize(names, model, table.columns)
    encoding = Encoding(model.encoder, names).fit(X)
    encoded = encoding.encode(X)
    targets = None
    if model.split_targets is not None:
        targets = split_targets_of(
            model.split_targets,
            model.estimator,
            encoded,
            labels,
            cv=model.cv,
            random_state=seed,
        )
    return TrainingData(
        estimator=model.estimator,
        table=_with_labels(table, labels, model),
        quasi_identifiers=names,
        encoding=encoding,
        encoded=encoded,
        labels=labels,
        targets=targets,
        guarantees=model.guarantees,
        seed=seed,
        hierarchies=model.hierarchies,
    )


def names_of(quasi_identifiers: Sequence[str | int] | None, columns: list[str]) -> list[str]:
    """Return the names of the quasi-identifiers, in the order of the columns."""
    if quasi_identifiers is None:
        return columns
    if not len(quasi_identifiers):
        raise ParameterError(
            "The 'quasi_identifiers' parameter of AnonymizedEstimator names no column: there is "
            "nothing to make classes of.",
            hint="Name the columns that an attacker may know, or None for all.",
        )
    names = [named(each, columns) for each in quasi_identifiers]
    unknown = [name for name in names if name not in columns]
    if unknown:
        raise ColumnNotFoundError.of(unknown, columns, where="the rows")
    return [name for name in columns if name in names]


def _generalize(names: list[str], model: AnonymizedEstimator, columns: list[str]) -> None:
    """Raise if a hierarchy is of a column that no class recodes: it would be without effect."""
    others = [name for name in model.hierarchies or {} if name in columns and name not in names]
    if others:
        raise ParameterError(
            f"Column {others[0]!r} has a hierarchy and isn't a quasi-identifier.",
            hint="Name it in quasi_identifiers, or leave its hierarchy out.",
        )


def _with_labels(
    table: pl.DataFrame, labels: NDArray[Any], model: AnonymizedEstimator
) -> pl.DataFrame:
    """Return the table with labels, if a guarantee is about them: numbers by size, else text."""
    if LABEL not in {guarantee.column for guarantee in model.guarantees}:
        return table
    if LABEL in table.columns:
        raise ParameterError(
            f"A guarantee is about y as {LABEL!r}, and a column has that name too.",
            hint="Rename the column.",
        )
    values = np.asarray(labels.tolist()) if labels.dtype == object else labels
    return table.with_columns(
        pl.Series(LABEL, values if values.dtype.kind in "iuf" else values.astype(str))
    )


def _has(method: str) -> Any:  # noqa: ANN401 # scikit-learn ships no types
    def check(self: PredictMixin) -> bool:
        return hasattr(getattr(self, "model_", self.estimator), method)

    return available_if(check)


class PredictMixin:
    """Predicts by the trained model, in the ways that it can; its errors are shown by kind only."""

    estimator: Any
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
