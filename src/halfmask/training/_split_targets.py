"""Split targets: what the partition is guided by, one row of numbers for each training row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeGuard, get_args

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

from halfmask._errors import DataError, ParameterError
from halfmask._foreign import foreign
from halfmask.anonymize.method import MAX_CLASSES
from halfmask.data.arrays import unmasked
from halfmask.training._fitting import fitted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: Out-of-fold predictions, predictions of one model of all rows, or the labels.
SplitTargets = Literal["cross-fitted", "fitted", "labels"]

#: Classes that more rows guide keep no more accuracy.
MOST_LEARNED = 10_000

KINDS = (
    "split_targets must be 'cross-fitted', 'fitted', 'labels', None, a model, a callable or "
    "predictions."
)


def split_targets_of(
    given: object,
    estimator: Any,  # noqa: ANN401 # scikit-learn ships no types
    rows: NDArray[np.float64],
    y: NDArray[Any],
    *,
    cv: int,
    random_state: int,
) -> NDArray[np.float64]:
    """Return the targets as (rows, outputs): probabilities of labels, or numbers."""
    if is_several(given, len(rows)):
        parts = [
            split_targets_of(each, estimator, rows, y, cv=cv, random_state=random_state)
            for each in given
        ]
        return np.hstack(parts)
    if isinstance(given, str):
        return _of_kind(given, estimator, rows, y, cv=cv, random_state=random_state)
    if hasattr(given, "predict") or callable(given):
        return _predicted(given, rows)
    values = np.asarray(unmasked(given, name="split_targets"))
    if values.ndim == 0:
        raise ParameterError(f"{KINDS} Got a value of type {type(given).__name__}.")
    numbers = _checked(values, len(rows))
    if is_classifier(estimator) and values.ndim == 1 and values.dtype.kind in "iub":
        codes = one_hot(estimator, values)  # labels, unless there are too many
        return codes if codes.shape[1] <= MAX_CLASSES else numbers
    return numbers


def _of_kind(
    kind: str,
    estimator: Any,  # noqa: ANN401 # scikit-learn ships no types
    rows: NDArray[np.float64],
    y: NDArray[Any],
    *,
    cv: int,
    random_state: int,
) -> NDArray[np.float64]:
    if kind == "labels":
        return one_hot(estimator, y)
    if kind == "fitted":
        return _predicted(fitted(estimator, rows, y), rows)
    if kind == "cross-fitted":
        return cross_fitted(estimator, rows, y, cv=cv, random_state=random_state)
    raise ParameterError(f"{KINDS} Got another text.")


def is_several(given: object, n_rows: int) -> TypeGuard[Sequence[Any]]:
    """Return whether this is a list of targets, rather than one target of each row."""
    if not isinstance(given, list | tuple):
        return False
    if not given:
        raise ParameterError("split_targets must name at least one target. Got an empty list.")
    return len(given) != n_rows or not all(_is_of_a_row(each, n_rows) for each in given)


def _is_of_a_row(each: Any, n_rows: int) -> bool:  # noqa: ANN401 # any value
    if isinstance(each, str):
        return each not in get_args(SplitTargets)
    if hasattr(each, "predict") or callable(each):
        return False
    return np.ndim(each) == 0 or (np.ndim(each) == 1 and len(each) != n_rows)


def one_hot(estimator: Any, y: NDArray[Any]) -> NDArray[np.float64]:  # noqa: ANN401
    """Return a column for each label, or the numbers of a regressor."""
    if not is_classifier(estimator):
        return y.astype(np.float64).reshape(len(y), -1)
    labels, codes = np.unique(y, return_inverse=True)
    columns: NDArray[np.float64] = np.equal(codes[:, None], np.arange(len(labels))).astype(float)
    return columns


def cross_fitted(
    estimator: Any,  # noqa: ANN401 # scikit-learn ships no types
    rows: NDArray[np.float64],
    y: NDArray[Any],
    *,
    cv: int = 3,
    random_state: int = 0,
) -> NDArray[np.float64]:
    """Return out-of-fold predictions, (rows, outputs).

    Parameters
    ----------
    estimator
        The model, not fitted.
    rows, y
        The encoded rows and their labels.
    cv, random_state
        The number of folds, and their seed. A model learns at most 10,000 rows, drawn.

    Raises
    ------
    DataError
        If a label has only one row, or a model fails.
    """
    found: NDArray[np.float64] | None = None
    for learned, held in folds_of(estimator, y, cv=cv, random_state=random_state):
        train = learned[drawn(estimator, y[learned], MOST_LEARNED, seed=random_state)]
        predicted = _predicted(fitted(estimator, rows[train], y[train]), rows[held])
        if found is None:
            found = np.empty((len(y), predicted.shape[1]))
        if predicted.shape[1] != found.shape[1]:
            raise DataError(
                "Models of two folds give different numbers of outputs. "
                f"Got {found.shape[1]} and {predicted.shape[1]}.",
                hint="A model that drops rare labels does this: drop them, or add rows.",
            )
        found[held] = predicted
    if found is None:
        raise DataError("There are no rows to cross-fit.")
    return found


def drawn(
    estimator: Any,  # noqa: ANN401 # scikit-learn ships no types
    y: NDArray[Any],
    most: int,
    *,
    seed: int,
) -> NDArray[np.int64]:
    """Return the places of so many rows, drawn, and of one of each label."""
    order = np.random.default_rng(seed).permutation(len(y))
    firsts = np.unique(y[order], return_index=True)[1] if is_classifier(estimator) else order[:0]
    return np.union1d(order[firsts], order[:most]) if len(y) > most else np.arange(len(y))


def folds_of(
    estimator: Any,  # noqa: ANN401 # scikit-learn ships no types
    y: NDArray[Any],
    *,
    cv: int,
    random_state: int,
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the places of training rows and of held-out rows of each fold."""
    splitter: Any = KFold(min(cv, len(y)), shuffle=True, random_state=random_state)
    if is_classifier(estimator):
        least = int(np.unique(y, return_counts=True)[1].min())
        if least < 2:
            raise DataError(
                "A label has one row only: no model could be trained without it.",
                hint="Leave its row out, or pass split_targets='labels'.",
            )
        splitter = StratifiedKFold(min(cv, least), shuffle=True, random_state=random_state)
    return list(splitter.split(np.zeros(len(y)), y))


def _predicted(model: Any, rows: NDArray[np.float64]) -> NDArray[np.float64]:  # noqa: ANN401
    """Return what a model or a callable predicts, (rows, outputs)."""
    hint = "Call its predictions on these rows yourself to see why."
    with foreign(f"The model of split_targets failed on {len(rows)} rows", hint=hint):
        if hasattr(model, "predict_proba"):
            predicted = model.predict_proba(rows)
        elif hasattr(model, "predict"):
            predicted = model.predict(rows)
        else:
            predicted = model(rows)
        name = "What the model of split_targets predicts"
        values = np.asarray(unmasked(predicted, name=name, told_as=DataError))
        if hasattr(model, "predict") and is_classifier(model) and values.ndim == 1:
            labels = np.asarray(model.classes_)
            values = np.equal(values[:, None], labels[None, :]).astype(float)
    return _checked(values, len(rows))


def _checked(values: NDArray[Any], n_rows: int) -> NDArray[np.float64]:
    if values.ndim not in (1, 2) or len(values) != n_rows:
        raise ParameterError(
            f"split_targets must have one value, or several in columns, for each of {n_rows} rows. "
            f"Got shape {values.shape}."
        )
    if values.dtype.kind not in "fiub":
        if values.ndim > 1:
            raise ParameterError("split_targets in columns must be numbers. Got another type.")
        labels, codes = np.unique(values.astype(str), return_inverse=True)
        return np.equal(codes[:, None], np.arange(len(labels))).astype(np.float64)
    numbers = values.astype(np.float64).reshape(n_rows, -1)
    if not np.isfinite(numbers).all():
        missing = int((~np.isfinite(numbers)).any(axis=1).sum())
        raise DataError(
            f"split_targets are missing or infinite in {missing} of {n_rows} rows.",
            hint="Mend the predictions, or leave these rows out.",
        )
    return numbers
