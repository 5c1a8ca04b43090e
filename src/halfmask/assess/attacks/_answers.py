"""What a model, a trainer or other code of a caller answers, checked before any attack uses it.

One answer that is NaN can make all of an attack's guesses wrong, and a theft look resisted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import DataError
from halfmask._foreign import foreign
from halfmask.data.arrays import unmasked

if TYPE_CHECKING:
    from halfmask.assess._arrays import Bools, Floats, Ints, Model, Rows, Values
    from halfmask.assess.attacks._targets import ModelTarget


#: A network in half precision is this far off.
SLACK = 1e-3


def as_numbers(values: Rows) -> Floats:
    """Return numbers as an array; what is masked as NaN, which :func:`numbers_of` refuses.

    Examples
    --------
    >>> as_numbers(np.ma.masked_array([0.5, 0.25], mask=[False, True]))
    array([0.5, nan])
    >>> as_numbers([np.ma.masked_all(2), [0.0, 1.0]])
    array([[nan, nan],
           [ 0.,  1.]])
    """
    if isinstance(values, list | tuple) and any(np.ma.isMaskedArray(each) for each in values):
        values = np.ma.stack([np.ma.asarray(each) for each in values])
    if np.ma.isMaskedArray(values):
        return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))
    return np.asarray(values, dtype=np.float64)


def numbers_of(
    values: Floats, shape: tuple[int, ...], *, who: str, what: str, of: str = "rows"
) -> Floats:
    """Return numbers as they are, those of one column as an array of one dimension.

    Examples
    --------
    >>> numbers_of(np.array([[0.5], [1.0]]), (2,), who="The trainer", what="predictions")
    array([0.5, 1. ])
    """
    given = values[:, 0] if values.shape == (*shape, 1) and len(shape) == 1 else values
    if given.shape != shape:
        raise DataError(f"{who} must give {what} of shape {shape}. Got {given.shape}.")
    broken = int((~np.isfinite(given)).any(axis=tuple(range(1, given.ndim))).sum())
    if broken:
        raise DataError(f"{who} gave NaN or infinite {what} for {broken:,} {of}.")
    return given


def probabilities_of(values: Floats, shape: tuple[int, ...], *, who: str) -> Floats:
    """Return probabilities unchanged: of several classes, or of one of two."""
    given = numbers_of(values, shape, who=who, what="probabilities")
    every = given if given.ndim > 1 else np.column_stack([1 - given, given])
    off = (every < -SLACK).any(axis=1) | (np.abs(every.sum(axis=1) - 1) > SLACK)
    if off.any():
        one_row = "that add up to 1, " if given.ndim > 1 else ""
        raise DataError(
            f"{who} gave what are no probabilities for {int(off.sum()):,} rows.",
            hint=f"Give probabilities in [0, 1] {one_row}not scores or logits.",
        )
    return given


def label_array(labels: Rows, *, whose: str) -> Values:
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


def pool_labels(target: ModelTarget) -> Values:
    """Return the labels of members and then non-members."""
    first = label_array(target.member_labels, whose="members")
    second = label_array(target.non_member_labels, whose="non-members")
    if (first.dtype.kind == "U") != (second.dtype.kind == "U"):
        raise DataError("The labels of members and non-members must be of one type.")
    return np.concatenate([first, second])


def classes_of_model(model: Model, labels: Values) -> Values:
    """Return the classes of a model's columns: those that it names, else those of the labels."""
    named = getattr(model, "classes_", None)
    if named is None:
        return np.unique(labels)
    model_classes = label_array(named, whose="model")
    if (model_classes.dtype.kind == "U") != (labels.dtype.kind == "U"):
        raise DataError("The model's classes and the labels must be of one type.")
    return model_classes


def classes_of(model: Model, labels: Values) -> Values:
    """Return all classes in order: those of the labels, and those that the model names."""
    return np.unique(np.concatenate([classes_of_model(model, labels), labels]))


def answers(model: Model, rows: Rows, classes: Values, *, who: str) -> Floats:
    """Return the model's probabilities (rows, classes), one column for each of these classes."""
    ask = getattr(model, "predict_proba", None) or model
    if not callable(ask):
        return predicted_classes(model, rows, classes, who=who)
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


def predicted_classes(model: Model, rows: Rows, classes: Values, *, who: str) -> Floats:
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
    hits: Bools = labels[:, None] == classes[None, :]
    strange = int((~hits.any(axis=1)).sum())
    if strange:
        raise DataError(
            f"{who} predicts labels that no person has, for {strange:,} rows.",
            hint="Give the regressor itself, as scikit-learn knows it, or labels with fractions.",
        )
    return hits.astype(np.float64)


def predicted_codes(model: Model, rows: Rows, classes: Values, *, who: str) -> Ints:
    """Return the number of the class that a model predicts of each row: the likeliest without."""
    ask = predicted_classes if hasattr(model, "predict") else answers
    return np.asarray(ask(model, rows, classes, who=who).argmax(axis=1))


#: The missing input of a target whose model predicts numbers.
LACKS_CLASSES = (
    "a classifier: predicted numbers are never exactly right. Use membership/yeom, which measures "
    "the error"
)
#: How much wider a normal distribution is than its median distance from the mean.
OF_MEDIAN = 1.4826


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelQueries:
    """Queries to models of a target, members first and then non-members.

    A regressor has three answers, as if they were classes: right, too high and too low. Right has
    the likelihood of the true number around the predicted one, by a normal distribution whose
    spread is that of the attacked model's errors on non-members; it is 1 at no error.
    """

    labels: Values
    truth: Ints
    classes: Values | None
    spread: float = 1.0

    @classmethod
    def of(cls, target: ModelTarget) -> ModelQueries:
        """Return the queries that fit the target's model."""
        labels = pool_labels(target)
        if is_regressor(target.model, labels):
            predicted = predicted_numbers(target.model, target.non_members, who="The model")
            errors = np.abs(predicted - labels[target.n_members :].astype(np.float64))
            spread = OF_MEDIAN * float(np.median(errors)) if len(errors) else 0.0
            truth = np.zeros(len(labels), dtype=np.int64)
            return cls(
                labels=labels.astype(np.float64),
                truth=truth,
                classes=None,
                spread=spread or float(np.std(labels)) or 1.0,
            )
        classes = classes_of(target.model, labels)
        truth = np.searchsorted(classes, labels).astype(np.int64)
        return cls(labels=labels, truth=truth, classes=classes)

    def answers(self, model: Model, rows: Rows, first: int, *, who: str) -> Floats:
        """Return a model's answers for rows, which begin at the number `first` of all people."""
        if self.classes is not None:
            return answers(model, rows, self.classes, who=who)
        over = predicted_numbers(model, rows, who=who) - self.labels[first : first + len(rows)]
        right = self._likelihood(over)
        wrong, is_high = 1 - right, over > 0
        return np.column_stack([right, wrong * is_high, wrong * ~is_high])

    def nearness(self, model: Model, rows: Rows, labels: Values, *, who: str) -> Floats:
        """Return the likelihood that a regressor gives the true numbers of rows."""
        return self._likelihood(predicted_numbers(model, rows, who=who) - labels)

    def _likelihood(self, over: Floats) -> Floats:
        return np.asarray(np.exp(-((over / self.spread) ** 2) / 2))


def is_regressor(model: Model, labels: Rows) -> bool:
    """Return whether a model predicts numbers, and no classes.

    One that gives probabilities, names its classes, or is a mere function does not. What
    scikit-learn doesn't know is a regressor if the labels have fractions.
    """
    from sklearn.base import is_regressor as has_regressor_tag  # noqa: PLC0415 # sklearn loads late

    if hasattr(model, "predict_proba") or not hasattr(model, "predict"):
        return False
    if hasattr(model, "__sklearn_tags__"):
        return bool(has_regressor_tag(model))
    if hasattr(model, "classes_") or callable(model):
        return False
    try:
        found = label_array(labels, whose="people")
    except DataError:  # the caller that needs them raises it
        return False
    return found.dtype.kind == "f" and bool((found != np.rint(found)).any())


def predicted_numbers(model: Model, rows: Rows, *, who: str) -> Floats:
    """Return what a regressor predicts of rows."""
    with foreign(f"{who} failed to predict"):
        predicted = as_numbers(model.predict(rows))
    return numbers_of(predicted, (len(rows),), who=who, what="predictions")
