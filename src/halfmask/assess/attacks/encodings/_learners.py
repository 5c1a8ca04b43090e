"""A learner for each kind of codec, trained on encoded rows and on plain ones."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.encode import Codec

_MAX_CATEGORIES = 255


def accuracies(codec: Codec, train: pl.DataFrame, test: pl.DataFrame) -> tuple[float, float]:
    """Return how right the codec's kind of learner is from plain rows, and from encoded ones.

    Shares of right classes, or the share of a number's variance that is explained (R2, at least 0),
    both on the test rows at home: predictions from encoded rows are decoded first.
    """
    plan = codec.plan_
    name = plan.target.name if plan.target is not None else ""
    # A target of classes has their codes; one of numbers has none.
    regression = not hasattr(plan.target, "values")
    coded = {codes.token for codes in plan.codes}
    places = [place for place, token in enumerate(plan.tokens) if token in coded]
    truth = test[name]
    found = []
    for plain in (True, False):
        learner = _learner(codec.learner, regression=regression)
        if plain:
            sides = [_matrix(codec.plain(rows.drop(name))) for rows in (train, test)]
            order = plan.order(train.height, 0)
            column_rows = train[name] if order is None else train[name][order]
            target: Any = column_rows.to_numpy()
        else:
            encoded = codec.encode(train)
            target = encoded[plan.target.token].to_numpy() if plan.target is not None else None
            sides = [_matrix(encoded.select(plan.tokens)), _matrix(codec.encode(test.drop(name)))]
        inputs = _prepared(sides[0], sides[1], places, of_trees=codec.learner == "trees")
        if codec.learner == "trees":
            narrow = [p for p in places if sides[0][:, p].max() < _MAX_CATEGORIES]
            learner.set_params(categorical_features=narrow or None)
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # a network that isn't done learning is measured as it is
            learner.fit(inputs[0], target)
            predicted = learner.predict(inputs[1])
        if plain:
            back = plan.order(test.height, 0)
            predicted = predicted if back is None else predicted[np.argsort(back)]
        else:
            predicted = codec.decode_predictions(predicted)
        found.append(_right(truth, predicted, regression=regression))
    return found[0], found[1]


def _right(truth: pl.Series, predicted: Any, *, regression: bool) -> float:  # noqa: ANN401 # arrays
    if not regression:
        return float(np.mean(truth.cast(pl.String).to_numpy() == np.asarray(predicted).astype(str)))
    values = truth.cast(pl.Float64).to_numpy()
    return max(0.0, float(1 - np.mean((values - np.asarray(predicted, float)) ** 2) / values.var()))


def _matrix(frame: pl.DataFrame) -> NDArray[np.float64]:
    return np.column_stack([c.cast(pl.Float64).fill_null(np.nan).to_numpy() for c in frame])


def _prepared(
    train: NDArray[np.float64], test: NDArray[np.float64], places: list[int], *, of_trees: bool
) -> list[NDArray[np.float64]]:
    """Return rows as a learner takes them: codes one-hot but for trees, missing cells as zero."""
    if of_trees:
        return [train, test]
    from sklearn.preprocessing import OneHotEncoder  # noqa: PLC0415 # sklearn loads late

    numbers = [place for place in range(train.shape[1]) if place not in places]
    sides = [np.nan_to_num(rows[:, numbers]) for rows in (train, test)]
    if places:
        hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        hot.fit(np.nan_to_num(train[:, places], nan=-1))
        sides = [
            np.hstack([side, hot.transform(np.nan_to_num(rows[:, places], nan=-1))])
            for side, rows in zip(sides, (train, test), strict=True)
        ]
    return sides


def _learner(kind: str, *, regression: bool) -> Any:  # noqa: ANN401 # an estimator
    from sklearn.ensemble import (  # noqa: PLC0415 # sklearn loads late
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
    )
    from sklearn.linear_model import LinearRegression, LogisticRegression  # noqa: PLC0415 # late
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor  # noqa: PLC0415 # late
    from sklearn.neural_network import MLPClassifier, MLPRegressor  # noqa: PLC0415 # late

    trained: dict[str, Any] = {
        "solver": "sgd", "learning_rate_init": 0.01, "momentum": 0.9, "max_iter": 60,
        "hidden_layer_sizes": (32,), "random_state": 0,
    }  # fmt: skip
    if regression:
        return {
            "trees": lambda: HistGradientBoostingRegressor(random_state=0),
            "distances": lambda: KNeighborsRegressor(15),
            "linear": LinearRegression,
            "networks": lambda: MLPRegressor(**trained),
        }[kind]()
    return {
        "trees": lambda: HistGradientBoostingClassifier(random_state=0),
        "distances": lambda: KNeighborsClassifier(15),
        "linear": lambda: LogisticRegression(C=np.inf, max_iter=300),
        "networks": lambda: MLPClassifier(**trained),
    }[kind]()
