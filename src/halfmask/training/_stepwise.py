"""Whether a kind of model answers in steps, as trees and forests do."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from halfmask.training._fitting import asking, fitted

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["all_or_nothing", "answers_in_steps"]

#: Of how many rows a model learns for this.
ROWS = 1000
#: How far rows are moved, in deviations of a column: less than most gaps between rows, more than
#: single precision rounds away.
STEP = 1e-5
#: Of what share of rows a lone tree is sure: all but equal rows of several labels. The benchmark's
#: forests are of a fifth at most.
SURE_OF = 0.9


def answers_in_steps(
    estimator: Any,  # noqa: ANN401 # scikit-learn ships no types
    rows: NDArray[np.float64],
    labels: NDArray[Any],
    *,
    seed: int,
) -> bool:
    """Return whether a model's answers stay the same if rows are moved by very little.

    Parameters
    ----------
    estimator
        The model, not fitted; a copy learns from some of the rows.
    rows, labels
        The rows as the model sees them, and their labels.
    seed
        What the rows are drawn from.

    Notes
    -----
    Models of splits (trees, forests, boosting) and of neighbours answer in steps, networks and
    linear models don't. Of a classifier that gives labels only nothing can be told; it counts as
    one that doesn't.
    """
    model, places = _of_some(estimator, rows, labels, seed)
    some = rows[places]
    said = _numbers(model, some)
    if said is None:
        return False
    away = np.random.default_rng(seed).choice([-1, 1], size=some.shape)
    moved = np.asarray(_numbers(model, some + STEP * some.std(axis=0) * away))
    return bool(np.equal(said, moved).all(axis=1).mean() > 0.5)


def all_or_nothing(
    estimator: Any,  # noqa: ANN401 # scikit-learn ships no types
    rows: NDArray[np.float64],
    labels: NDArray[Any],
    *,
    seed: int,
) -> bool:
    """Return whether a model is sure of nearly every row, as a lone tree grown to the end is.

    Parameters
    ----------
    estimator, rows, labels, seed
        As for :func:`answers_in_steps`.
    """
    if not is_classifier(estimator) or not hasattr(estimator, "predict_proba"):
        return False
    model, _ = _of_some(estimator, rows, labels, seed)
    some = rows[-ROWS:]
    with asking(model, "predict", some):
        said = model.predict_proba(some)
    return bool(np.isin(said, (0.0, 1.0)).all(axis=1).mean() > SURE_OF)


def _of_some(
    estimator: Any,  # noqa: ANN401 # scikit-learn ships no types
    rows: NDArray[np.float64],
    labels: NDArray[Any],
    seed: int,
) -> tuple[Any, NDArray[np.int64]]:
    """Return a model of some rows, and their places; every label is among them."""
    places = np.random.default_rng(seed).permutation(len(rows))[:ROWS]
    if is_classifier(estimator):
        places = np.union1d(places, np.unique(labels, return_index=True)[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the few rows make it say
        return fitted(estimator, rows[places], labels[places]), places


def _numbers(model: Any, rows: NDArray[np.float64]) -> NDArray[np.float64] | None:  # noqa: ANN401
    ways = ("decision_function", "predict_proba") if is_classifier(model) else ("predict",)
    way = next((way for way in ways if hasattr(model, way)), None)
    if way is None:
        return None
    with asking(model, "predict", rows):
        return np.asarray(getattr(model, way)(rows), dtype=np.float64).reshape(len(rows), -1)
