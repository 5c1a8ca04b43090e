"""ModelQueries: probabilities, labels or numbers that a model predicts for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError
from halfmask._foreign import foreign
from halfmask.assess.attacks._answers import answers, classes_of, label_array, pool_labels
from halfmask.assess.attacks._numbers import as_numbers, numbers_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks._targets import ModelTarget

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

    labels: NDArray[Any]
    truth: NDArray[np.int64]
    classes: NDArray[Any] | None
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

    def answers(
        self,
        model: Any,  # noqa: ANN401 # any model
        rows: Any,  # noqa: ANN401 # any frame or array
        first: int,
        *,
        who: str,
    ) -> NDArray[np.float64]:
        """Return a model's answers for rows, which begin at the number `first` of all people."""
        if self.classes is not None:
            return answers(model, rows, self.classes, who=who)
        over = predicted_numbers(model, rows, who=who) - self.labels[first : first + len(rows)]
        right = self._likelihood(over)
        wrong, is_high = 1 - right, over > 0
        return np.column_stack([right, wrong * is_high, wrong * ~is_high])

    def nearness(
        self,
        model: Any,  # noqa: ANN401 # any model
        rows: Any,  # noqa: ANN401 # any frame or array
        labels: NDArray[Any],
        *,
        who: str,
    ) -> NDArray[np.float64]:
        """Return the likelihood that a regressor gives the true numbers of rows."""
        return self._likelihood(predicted_numbers(model, rows, who=who) - labels)

    def _likelihood(self, over: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = np.exp(-((over / self.spread) ** 2) / 2)
        return found


def is_regressor(model: Any, labels: Any) -> bool:  # noqa: ANN401 # any model and labels
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


def predicted_numbers(
    model: Any,  # noqa: ANN401 # any model
    rows: Any,  # noqa: ANN401 # any frame or array
    *,
    who: str,
) -> NDArray[np.float64]:
    """Return what a regressor predicts of rows."""
    with foreign(f"{who} failed to predict"):
        predicted = as_numbers(model.predict(rows))
    return numbers_of(predicted, (len(rows),), who=who, what="predictions")
