"""A draw of rows, the model, and what is measured of a model that learned from encoded rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.base import clone, is_classifier
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPClassifier, MLPRegressor

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from ablation.tables import Table

LEAST_PROBABILITY = 1e-3


def model_named(name: str, seed: int, *, regression: bool, regularized: bool = False) -> Any:  # noqa: ANN401 # scikit-learn's
    """Return a model; regularized: leaves of ten people, slow steps, a large weight penalty."""
    if name == "forest":
        kind = RandomForestRegressor if regression else RandomForestClassifier
        return kind(60, min_samples_leaf=10 if regularized else 1, n_jobs=1, random_state=seed)
    if name == "boosting":
        kind = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
        steps = {"max_iter": 50, "learning_rate": 0.05 if regularized else 0.2}
        return kind(**steps, early_stopping=False, random_state=seed)
    if name == "lightgbm":
        booster = LGBMRegressor if regression else LGBMClassifier
        return booster(n_jobs=1, verbose=-1, random_state=seed)
    kind = MLPRegressor if regression else MLPClassifier
    penalty = 1.0 if regularized else 1e-4
    settings = {"alpha": penalty, "max_iter": 25, "learning_rate_init": 0.003}
    return kind(hidden_layer_sizes=(50,), **settings, random_state=seed)


@dataclass(frozen=True, slots=True)
class Scene:
    """Training rows and test rows of one table and seed, and the model."""

    table: Table
    model_name: str
    seed: int
    k: int
    train: pl.DataFrame = field(repr=False)
    y: NDArray[Any] = field(repr=False)
    test: pl.DataFrame = field(repr=False)
    y_test: NDArray[Any] = field(repr=False)

    @classmethod
    def of(cls, table: Table, model_name: str, *, seed: int, k: int, rows: int) -> Scene:
        """Draw so many rows: two thirds to learn from, a third to test."""
        order = np.random.default_rng([seed, 31]).permutation(table.frame.height)[:rows]
        train, test = np.split(order, [2 * len(order) // 3])
        return cls(
            table=table,
            model_name=model_name,
            seed=seed,
            k=k,
            train=table.frame[train],
            y=table.target[train],
            test=table.frame[test],
            y_test=table.target[test],
        )

    def model(self, *, regularized: bool = False) -> Any:  # noqa: ANN401 # scikit-learn's
        regression = self.table.regression
        return model_named(
            self.model_name, self.seed, regression=regression, regularized=regularized
        )


def fitted(model: Any, rows: NDArray[np.float64], y: NDArray[Any]) -> Any:  # noqa: ANN401 # scikit-learn's
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # epochs are chosen
        return clone(model).fit(rows, y)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What a model says of training rows and test rows, unchanged ones unless noted."""

    train: NDArray[np.float64]
    test: NDArray[np.float64]


def answers(model: Any, train: NDArray[np.float64], test: NDArray[np.float64]) -> Answers:  # noqa: ANN401 # scikit-learn's
    said = model.predict_proba if is_classifier(model) else model.predict
    return Answers(train=said(train), test=said(test))


def losses(said: NDArray[np.float64], y: NDArray[Any]) -> NDArray[np.float64]:
    """Return the loss of each row: log loss of clipped probabilities, or the squared error."""
    if said.ndim == 1:
        return (said - y) ** 2
    of_label = said[np.arange(len(y)), y.astype(np.int64)]
    return -np.log(np.clip(of_label, LEAST_PROBABILITY, 1.0))


def measured(
    said: Answers, y: NDArray[Any], y_test: NDArray[Any], *, seed: int
) -> dict[str, float]:
    """Return score (accuracy or R²), loss, AUC and the attack's advantage, in fractions."""
    lost = losses(said.test, y_test)
    if said.test.ndim == 1:
        found = {"score": 1.0 - lost.mean() / y_test.var()}
    else:
        found = {"score": float((said.test.argmax(axis=1) == y_test).mean())}
        if said.test.shape[1] == 2:
            found["auc"] = float(roc_auc_score(y_test, said.test[:, 1]))
    found["loss"] = float(lost.mean())
    found["advantage"] = advantage(losses(said.train, y), lost, seed=seed)
    return {name: float(value) for name, value in found.items()}


def advantage(members: NDArray[np.float64], others: NDArray[np.float64], *, seed: int) -> float:
    """Return what one threshold of the loss tells: chosen on one half, judged on the other."""
    rng = np.random.default_rng([seed, 7])
    halves = [np.array_split(rng.permutation(each), 2) for each in (members, others)]
    found = []
    for chosen, judged in ((0, 1), (1, 0)):
        grid = np.unique(np.quantile(np.concatenate([each[chosen] for each in halves]), _SHARES))
        gains = [_told(halves[0][chosen], halves[1][chosen], at) for at in grid]
        found.append(_told(halves[0][judged], halves[1][judged], grid[int(np.argmax(gains))]))
    return float(np.mean(found))


_SHARES = np.linspace(0.02, 0.98, 49)


def _told(members: NDArray[np.float64], others: NDArray[np.float64], at: float) -> float:
    return float((members <= at).mean() - (others <= at).mean())
