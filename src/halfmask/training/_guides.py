"""Guides: what the model that will be trained says of each row, in any form that users have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeGuard, get_args

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

from halfmask._errors import DataError, ParameterError
from halfmask._foreign import foreign
from halfmask.anonymize._method import MOST_CLASSES
from halfmask.data._arrays import unmasked
from halfmask.training._fitting import asking, fitted
from halfmask.training._rows import taken

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

__all__ = [
    "GuideKind",
    "as_wide_as",
    "comparable",
    "cross_fits",
    "cross_fitted",
    "guide_values",
    "is_several",
    "of_labels",
    "predicted",
]

#: How the guide is made where it isn't given: by models that didn't see the row, by one that did,
#: or from the labels alone.
GuideKind = Literal["cross-fitted", "fitted", "labels"]

KINDS_OF_GUIDES = (
    "guide must be 'cross-fitted', 'fitted', 'labels', a model, a callable or predictions."
)

Rows = Any


def guide_values(
    guide: object,
    estimator: Any,  # noqa: ANN401 # scikit-learn ships no types
    rows: Rows,
    y: NDArray[Any],
    *,
    folds: int,
    seed: int,
) -> NDArray[np.float64]:
    """Return what leads the classes: (rows, outputs), probabilities of classes or numbers.

    Parameters
    ----------
    guide
        A :data:`GuideKind`; a fitted model; a callable from rows to predictions; predictions, one
        for each row: probabilities, numbers or labels (texts, or beside a classifier up to 32
        different whole numbers); or a list of any of these, which then lead together.
    estimator
        The model that will be trained, not fitted.
    rows, y
        The rows as the model sees them, and their labels.
    folds
        How many parts the rows are cut into for ``"cross-fitted"``.
    seed
        What the parts are drawn from.

    Raises
    ------
    ParameterError
        If predictions have another length than the rows, or a text isn't a :data:`GuideKind`.
    DataError
        If a model fails, or predicts what is missing or infinite.
    """
    if is_several(guide, len(rows)):
        parts = [guide_values(each, estimator, rows, y, folds=folds, seed=seed) for each in guide]
        return np.hstack(parts)
    if isinstance(guide, str):
        return _of_kind(guide, estimator, rows, y, folds=folds, seed=seed)
    if hasattr(guide, "predict") or callable(guide):
        return predicted(guide, rows)
    said = np.asarray(unmasked(guide, name="The guide"))
    if said.ndim == 0:
        raise ParameterError(f"{KINDS_OF_GUIDES} Got a value of type {type(guide).__name__}.")
    values = _checked(said, len(rows))
    if is_classifier(estimator) and said.ndim == 1 and said.dtype.kind in "iub":
        codes = of_labels(estimator, said)  # which, not how much, unless they are many
        return codes if codes.shape[1] <= MOST_CLASSES else values
    return values


def is_several(guide: object, n_rows: int) -> TypeGuard[Sequence[Any]]:
    """Return whether this is a list of guides, rather than one thing, or several, of each row.

    Raises
    ------
    ParameterError
        If it is an empty list.
    """
    if not isinstance(guide, list | tuple):
        return False
    if not guide:
        raise ParameterError("guide must name at least one guide. Got an empty list.")
    return len(guide) != n_rows or not all(_is_of_a_row(each, n_rows) for each in guide)


def _is_of_a_row(each: Any, n_rows: int) -> bool:  # noqa: ANN401 # the same
    if isinstance(each, str):
        return each not in get_args(GuideKind)
    if hasattr(each, "predict") or callable(each):
        return False
    return np.ndim(each) == 0 or (np.ndim(each) == 1 and len(each) != n_rows)


def _of_kind(
    guide: str,
    estimator: Any,  # noqa: ANN401 # scikit-learn ships no types
    rows: Rows,
    y: NDArray[Any],
    *,
    folds: int,
    seed: int,
) -> NDArray[np.float64]:
    if guide == "labels":
        return of_labels(estimator, y)
    if guide == "fitted":
        return predicted(fitted(estimator, rows, y), rows)
    if guide == "cross-fitted":
        return cross_fitted(estimator, rows, y, folds=folds, seed=seed)
    raise ParameterError(f"{KINDS_OF_GUIDES} Got another text.")


def of_labels(estimator: Any, y: NDArray[Any]) -> NDArray[np.float64]:  # noqa: ANN401
    """Return labels as a guide: a column for each, or the numbers of a regressor."""
    if not is_classifier(estimator):
        return y.astype(np.float64).reshape(len(y), -1)
    classes, codes = np.unique(y, return_inverse=True)
    one_hot: NDArray[np.float64] = np.equal(codes[:, None], np.arange(len(classes))).astype(float)
    return one_hot


def cross_fitted(
    estimator: Any,  # noqa: ANN401 # scikit-learn ships no types
    rows: Rows,
    y: NDArray[Any],
    *,
    folds: int,
    seed: int,
) -> NDArray[np.float64]:
    """Return what models say of rows that they weren't trained on.

    A model's prediction of a row that it has seen tells of that row; one of a row that it hasn't
    tells of the population. Each part's rows are predicted by a model of the other parts.

    Raises
    ------
    DataError
        If a class is missing from a part, so that a model can't say anything of it, or see
        :func:`predicted`.
    """
    found: NDArray[np.float64] | None = None
    for model, held in cross_fits(estimator, rows, y, folds=folds, seed=seed):
        said = predicted(model, taken(rows, held))
        if found is None:
            found = np.empty((len(y), said.shape[1]))
        found[held] = as_wide_as(found, said)
    if found is None:
        raise DataError("There are no rows to cross-fit a guide on.")
    return found


def cross_fits(
    estimator: Any,  # noqa: ANN401 # scikit-learn ships no types
    rows: Rows,
    y: NDArray[Any],
    *,
    folds: int,
    seed: int,
) -> Iterator[tuple[Any, NDArray[np.int64]]]:
    """Yield a model of all rows but a part, and the places of the part, for each part.

    Raises
    ------
    DataError
        If a class has one row only.
    """
    splitter: Any
    if is_classifier(estimator):
        least = int(np.unique(y, return_counts=True)[1].min())
        folds = min(folds, least)
        if folds < 2:
            raise DataError(
                "A class has one row only: no model could be trained without it.",
                hint="Leave its row out, or pass guide='labels'.",
            )
        splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    else:
        splitter = KFold(min(folds, len(y)), shuffle=True, random_state=seed)
    for train, held in splitter.split(np.zeros(len(y)), y):
        yield fitted(estimator, taken(rows, train), y[train]), held


def predicted(guide: Any, rows: Rows) -> NDArray[np.float64]:  # noqa: ANN401
    """Return a model's or a callable's predictions: (rows, outputs).

    Probabilities where the model gives them, one column a class where it only gives labels, numbers
    where it is a regressor.

    Raises
    ------
    DataError
        If it raises, or what it says isn't a finite number for each row.
    """
    hint = "Call its predictions on these rows yourself to see why."
    with foreign(f"The guide failed on {len(rows)} rows", hint=hint):
        said = _said(guide, rows)
    return _checked(said, len(rows))


def as_wide_as(before: NDArray[np.float64], said: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what is said of rows, if it has as many outputs as what was said before.

    Raises
    ------
    DataError
        If it hasn't: a model that lacks a label of others, a callable of no fixed width.
    """
    if said.shape[1] != before.shape[1]:
        raise DataError(
            "A guide must say as much of some rows as of others. "
            f"Got {before.shape[1]} outputs and {said.shape[1]}.",
            hint="A model that drops rare labels does this: drop them, or have more of their rows.",
        )
    return said


def _said(guide: Any, rows: Rows) -> NDArray[Any]:  # noqa: ANN401
    if hasattr(guide, "predict_proba"):
        return _told(guide.predict_proba(rows), "guide")
    if not hasattr(guide, "predict"):
        return _told(guide(rows), "guide")
    said = _told(guide.predict(rows), "guide")
    if not is_classifier(guide):
        return said
    classes = np.asarray(guide.classes_)
    one_hot: NDArray[np.float64] = np.equal(said[:, None], classes[None, :]).astype(float)
    return one_hot


def comparable(model: Any, rows: NDArray[np.float64]) -> NDArray[np.float64] | None:  # noqa: ANN401
    """Return what a retrained model says of rows as a guide of its kind would, if it can."""
    can = hasattr(model, "predict_proba")
    if is_classifier(model) and not can:
        return None
    with asking(model, "predict", rows):
        if can:
            return _told(model.predict_proba(rows), "model").astype(np.float64)
        return _told(model.predict(rows), "model").astype(np.float64).reshape(len(rows), -1)


def _told(said: Any, who: str) -> NDArray[Any]:  # noqa: ANN401 # what a model says
    """Return what a model says as an array; what it masks is missing."""
    return np.asarray(unmasked(said, name=f"What the {who} says", told_as=DataError))


def _checked(said: NDArray[Any], n_rows: int) -> NDArray[np.float64]:
    if said.ndim not in (1, 2) or len(said) != n_rows:
        raise ParameterError(
            f"A guide must say one thing, or several in columns, of each of {n_rows} rows. "
            f"Got shape {said.shape}."
        )
    if said.dtype.kind not in "fiub":
        classes, codes = np.unique(said.astype(str), return_inverse=True)
        if said.ndim > 1:
            raise ParameterError("A guide in columns must be numbers. Got another type.")
        labels: NDArray[np.float64] = np.equal(codes[:, None], np.arange(len(classes))).astype(
            float
        )
        return labels
    values = said.astype(np.float64).reshape(n_rows, -1)
    if not np.isfinite(values).all():
        missing = int((~np.isfinite(values)).any(axis=1).sum())
        raise DataError(
            f"The guide says nothing, or something infinite, of {missing} of {n_rows} rows.",
            hint="Mend the guide, or leave these rows out.",
        )
    return values
