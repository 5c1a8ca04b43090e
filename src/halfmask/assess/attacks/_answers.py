"""What a model answers and what labels are, checked before an attack of any family uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError
from halfmask._foreign import foreign
from halfmask.assess.attacks._numbers import as_numbers, probabilities_of
from halfmask.data.arrays import unmasked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks._targets import ModelTarget


def label_array(labels: Any, *, whose: str) -> NDArray[Any]:  # noqa: ANN401 # any column of labels
    """Return labels as an array of numbers or of strings."""
    unmasked(labels, name=f"The column of labels of the {whose}", told_as=DataError)
    try:
        found = np.asarray(labels)
    except ValueError:  # lists of different lengths
        found = np.empty((0, 0))
    if found.dtype.kind == "O":
        kinds = {type(label) for label in found.tolist()}
        if len(kinds) == 1 and kinds <= {str, int, bool, float}:
            found = np.asarray(found.tolist())
    if found.dtype.kind not in "biufU" or found.ndim != 1:
        raise DataError(f"The labels of the {whose} must be one column of one type, none missing.")
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise DataError(f"The labels of the {whose} have missing or infinite values.")
    return found


def pool_labels(target: ModelTarget) -> NDArray[Any]:
    """Return the labels of members and then non-members."""
    first = label_array(target.member_labels, whose="members")
    second = label_array(target.non_member_labels, whose="non-members")
    if (first.dtype.kind == "U") != (second.dtype.kind == "U"):
        raise DataError("The labels of members and non-members must be of one type.")
    return np.concatenate([first, second])


def classes_of_model(model: Any, labels: NDArray[Any]) -> NDArray[Any]:  # noqa: ANN401 # any model
    """Return the classes of a model's columns: those that it names, else those of the labels."""
    named = getattr(model, "classes_", None)
    if named is None:
        return np.unique(labels)
    model_classes = label_array(named, whose="model")
    if (model_classes.dtype.kind == "U") != (labels.dtype.kind == "U"):
        raise DataError("The model's classes and the labels must be of one type.")
    return model_classes


def classes_of(model: Any, labels: NDArray[Any]) -> NDArray[Any]:  # noqa: ANN401 # any model
    """Return all classes in order: those of the labels, and those that the model names."""
    return np.unique(np.concatenate([classes_of_model(model, labels), labels]))


def answers(
    model: Any,  # noqa: ANN401 # any model
    rows: Any,  # noqa: ANN401 # any frame or array
    classes: NDArray[Any],
    *,
    who: str,
) -> NDArray[np.float64]:
    """Return the model's probabilities (rows, classes), one column for each of these classes."""
    ask = getattr(model, "predict_proba", None) or model
    if not callable(ask):
        return _predicted(model, rows, classes, who=who)
    with foreign(f"{who} failed to predict"):
        given = as_numbers(ask(rows))
    model_classes = getattr(model, "classes_", None)
    model_classes = classes if model_classes is None else label_array(model_classes, whose="model")
    given = probabilities_of(given, (len(rows), len(model_classes)), who=who)
    if np.array_equal(model_classes, classes):
        return given
    whole = np.zeros((len(given), len(classes)))
    whole[:, np.searchsorted(classes, model_classes)] = given
    return whole


def _predicted(
    model: Any,  # noqa: ANN401 # any model
    rows: Any,  # noqa: ANN401 # any frame or array
    classes: NDArray[Any],
    *,
    who: str,
) -> NDArray[np.float64]:
    """Return 1 for the class that a model predicts of each row, 0 for all others."""
    if not hasattr(model, "predict"):
        raise DataError(f"{who} must have predict_proba or predict, or be callable.")
    with foreign(f"{who} failed to predict"):
        predicted = model.predict(rows)
    labels = label_array(np.ravel(np.asarray(predicted)), whose="model")
    if len(labels) != len(rows):
        raise DataError(f"{who} must predict a label for each of {len(rows):,} rows.")
    if (labels.dtype.kind == "U") != (classes.dtype.kind == "U"):
        raise DataError(f"{who} predicts labels of another type than those of the people.")
    hits: NDArray[np.bool_] = labels[:, None] == classes[None, :]
    strange = int((~hits.any(axis=1)).sum())
    if strange:
        raise DataError(
            f"{who} predicts labels that no person has, for {strange:,} rows.",
            hint="Give the regressor itself, as scikit-learn knows it, or labels with fractions.",
        )
    return hits.astype(np.float64)
