"""What an estimator was given, checked before anything is fitted."""

from __future__ import annotations

import math
import warnings
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target

from halfmask._errors import ParameterError
from halfmask._foreign import foreign
from halfmask._validation import integer_at_least, number_between, one_of
from halfmask.anonymize.given_rows import as_array
from halfmask.anonymize.settings import guarantees_given, hierarchies_given, several_names
from halfmask.training._candidates import PREDICT_ON
from halfmask.training._encoding import as_table
from halfmask.training._recount import labels_known
from halfmask.training._representatives import representative_named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from halfmask.data import Hierarchy, HierarchyRule
    from halfmask.guarantees import Guarantee


class EstimatorSettings:
    """The settings of an `AnonymizedEstimator`, as they were given."""

    estimator: Any
    guarantees: Sequence[Guarantee]
    quasi_identifiers: Sequence[str | int] | None
    split_targets: Any
    representative: str
    predict_on: str
    encoder: Any
    hierarchies: Mapping[str, Hierarchy | HierarchyRule] | None
    cv: int
    membership_penalty: float
    random_state: int | np.random.RandomState | None
    verbose: int


def checked(
    model: EstimatorSettings,
    X: Any,  # noqa: ANN401 # any table, scikit-learn's name
    labels: NDArray[Any],
) -> pl.DataFrame:
    """Return the rows as a table, if settings, rows and labels are such as can be fitted."""
    owner = "AnonymizedEstimator"
    integer_at_least(2, owner=owner, cv=model.cv)
    integer_at_least(0, owner=owner, verbose=model.verbose)
    number_between(
        0.0, math.inf, owner=owner, high_open=True, membership_penalty=model.membership_penalty
    )
    one_of(PREDICT_ON, owner=owner, predict_on=model.predict_on)
    representative_named(model.representative)
    guarantees_given(model.guarantees, owner=owner)
    hierarchies_given(model.hierarchies, owner=owner)
    several_names(owner=owner, quasi_identifiers=model.quasi_identifiers)
    learns(model.estimator)
    table = as_table(X)
    one_a_row(labels, table.height)
    if is_classifier(model.estimator):
        are_labels(labels)
    else:
        _are_numbers(labels, type(model.estimator).__name__)
    return table


def one_a_row(labels: NDArray[Any], n_rows: int) -> None:
    """Raise unless labels are known, in one column, and as many as rows."""
    labels_known(labels)
    if labels.ndim != 1:
        raise ParameterError(
            f"y must be one column, a label or number for each row. Got shape {labels.shape}.",
            hint="Turn one-hot columns into labels, by y.argmax(axis=1); fit a model for each of "
            "several outputs.",
        )
    if len(labels) != n_rows:
        raise ParameterError(
            f"X and y must have as many rows. Got {n_rows} and shape {labels.shape}."
        )


def seed_of(random_state: Any, *, owner: str = "AnonymizedEstimator") -> int:  # noqa: ANN401 # scikit-learn's
    """Return a seed: an integer itself, else one drawn as scikit-learn does."""
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return int(check_random_state(random_state).randint(2**31 - 1))
    integer_at_least(0, owner=owner, random_state=random_state)
    return int(random_state)


def flat(y: Any, *, owner: str = "AnonymizedEstimator") -> NDArray[Any]:  # noqa: ANN401 # any column
    """Return labels as one column of their type; a table of one column is one, with a warning."""
    if y is None:
        raise ParameterError(
            f"This {owner} estimator requires y to be passed, but the target y is None.",
            hint="Pass labels or numbers as y.",
        )
    labels = as_array(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape "
            "of y to (n_samples,), for example using ravel().",
            DataConversionWarning,
            stacklevel=3,
        )
        labels = labels.ravel()
    if labels.dtype.kind == "O":  # numbers of columns that may have missing cells
        if all(isinstance(each, Decimal) for each in labels.ravel()):
            return labels.astype(np.float64)
        plain = np.asarray(labels.tolist())
        return plain if plain.ndim == 1 and plain.dtype.kind in "fiub" else labels
    return labels


def unweighted(given: Mapping[str, object]) -> None:
    """Raise if a fit was given anything besides rows and labels."""
    if "sample_weight" in given:
        raise ParameterError(
            "fit of AnonymizedEstimator takes no sample_weight: guarantees count rows, and all "
            "rows of a class weigh the same.",
            hint="Weigh labels by the estimator's class_weight, or leave rows out.",
        )
    if given:
        raise ParameterError(
            f"fit of AnonymizedEstimator takes rows and labels. Got {', '.join(given)} too.",
            hint="Set parameters of the estimator instead.",
        )


def learns(estimator: Any) -> None:  # noqa: ANN401 # scikit-learn ships no types
    """Raise unless this is a classifier or a regressor."""
    is_one = hasattr(estimator, "fit") and not isinstance(estimator, type)
    if not (is_one and (is_classifier(estimator) or is_regressor(estimator))):
        kind = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
        raise ParameterError(
            "The 'estimator' parameter must be a classifier or a regressor, not fitted. "
            f"Got {kind} instead."
        )


def are_labels(labels: NDArray[Any]) -> None:
    """Raise unless these are labels of at least two classes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of many labels it warns
        kind = type_of_target(labels)
    if kind not in ("binary", "multiclass"):
        raise ParameterError(
            f"Unknown label type: {kind}. The estimator is a classifier, and y holds no labels.",
            hint="Give texts, whole numbers or truths, or a regressor.",
        )
    if (found := len(np.unique(labels))) < 2:
        got = "one class" if found else "no label"
        raise ParameterError(f"y must hold labels of at least two classes. Got {got}.")


def _are_numbers(labels: NDArray[Any], name: str) -> None:
    failed = f"y must be numbers: {name} is a regressor"
    with foreign(failed, hint="Give numbers, or a classifier."):
        labels.astype(np.float64)
