"""Ours: `halfmask.AnonymizedEstimator` on the benchmark's models and encoding."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from halfmask._errors import SchemaError
from halfmask.training import AnonymizedEstimator, cross_fitted
from ml_models.encoding import FittedEncoding
from ml_models.models import MODELS
from ml_models.task import Anonymized

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from halfmask.guarantees import Guarantee
    from ml_models.encoding import Matrix
    from ml_models.task import Task

#: The estimator's own number.
FOLDS = 3

#: The last raw models, and the split targets that go with each.
_remembered: list[tuple[Any, NDArray[np.float64]]] = []
REMEMBERED = 2


def retrained(task: Task, guarantees: list[Guarantee], **settings: Any) -> Anonymized:  # noqa: ANN401
    """Partition, represent and retrain; `settings` are the estimator's, its defaults otherwise."""
    # the estimator encodes in double precision; networks train twice as fast in single
    model = make_pipeline(FunctionTransformer(_narrow), MODELS[task.model_name](task.seed))
    if "split_targets" not in settings:
        settings["split_targets"] = _split_targets(model, task)
    ours = AnonymizedEstimator(
        model,
        guarantees=guarantees,
        quasi_identifiers=list(task.quasi_identifiers),
        encoder=FittedEncoding(task.encoder),
        **{"random_state": task.seed} | settings,
    )
    with warnings.catch_warnings():
        # the epochs are chosen, not run until nothing changes
        warnings.simplefilter("ignore", ConvergenceWarning)
        ours.fit(task.train, task.labels)
    rows = _narrow(ours.transform(task.train))
    return Anonymized(
        rows=rows,
        transform=lambda other: _written(ours, other, task),
        model=ours.model_[-1],
        more=tuple(_written_besides(ours, rows)),
    )


def _split_targets(model: Any, task: Task) -> NDArray[np.float64]:  # noqa: ANN401 # scikit-learn's
    """Cross-fit as the estimator would; every k of a group has the same split targets."""
    for known, found in _remembered:
        if known is task.model:
            return found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = cross_fitted(
            model, task.encoded.astype(np.float64), task.labels, cv=FOLDS, random_state=task.seed
        )
    _remembered[:] = [(task.model, found), *_remembered][:REMEMBERED]
    return found


def _narrow(rows: Any) -> Matrix:  # noqa: ANN401 # a matrix of any precision
    return np.asarray(rows, dtype=np.float32)


def _written_besides(ours: AnonymizedEstimator, rows: Matrix) -> Iterator[Matrix]:
    """Yield the training rows as each further representative of their classes writes them."""
    for points in ours.representatives_[1:]:
        besides = rows.copy()
        besides[:, ours.encoder_.depends_] = points[ours.anonymizer_.cells_]
        yield besides


def _written(ours: AnonymizedEstimator, rows: pl.DataFrame, task: Task) -> Matrix:
    """Transform other rows; one with a category that the training rows lack stays as it is."""
    try:
        return _narrow(ours.transform(rows))
    except SchemaError:
        known = pl.lit(value=True)
        for name in task.quasi_identifiers:
            if name in task.encoder.categorical:
                known &= pl.col(name).is_in(task.train[name].unique().implode())
        placed = rows.select(known.alias("placed"))["placed"].to_numpy()
        written = task.encoder.encode(rows)
        written[placed] = _narrow(ours.transform(rows.filter(pl.Series(placed))))
        return written
