"""What an estimator was given, checked before anything is fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from halfmask._errors import ParameterError
from halfmask._validation import fraction, integer_at_least
from halfmask.anonymize.training._encoding import as_table
from halfmask.anonymize.training._recount import labels_known

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from halfmask.anonymize.training._estimator import AnonymizedEstimator

__all__ = ["checked"]


def checked(
    model: AnonymizedEstimator,
    X: Any,  # noqa: ANN401 # any table, scikit-learn's name
    labels: NDArray[Any],
) -> pl.DataFrame:
    """Return the rows as a table, if settings, rows and labels are such as can be fitted.

    Raises
    ------
    ParameterError, DataError
        If they aren't.
    """
    owner = "AnonymizedEstimator"
    integer_at_least(2, owner=owner, folds=model.folds)
    integer_at_least(0, owner=owner, seed=model.seed, refinements=model.refinements)
    fraction(
        owner=owner,
        max_suppression_fraction=model.max_suppression_fraction,
        by_heart=model.by_heart,
    )
    if not (is_classifier(model.estimator) or is_regressor(model.estimator)):
        raise ParameterError("estimator must be a classifier or a regressor.")
    table = as_table(X)
    labels_known(labels)
    if labels.ndim != 1 or len(labels) != table.height:
        raise ParameterError(
            f"X and y must have as many rows. Got {table.height} and shape {labels.shape}."
        )
    if is_classifier(model.estimator) and len(np.unique(labels)) < 2:
        raise ParameterError("y has one class only: there is nothing to learn.")
    return table
