"""Rows in classes, and a choice of the partitions that are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from halfmask.guarantees import KAnonymity
from halfmask.training import AnonymizedEstimator, _estimator
from halfmask.training._in_steps import retrain_in_steps
from halfmask.training._partitions import Led, partitions
from halfmask.training._points import ClassRows

if TYPE_CHECKING:
    from collections.abc import Callable

    from halfmask.training._classes import Classes


@pytest.fixture(scope="session")
def rows_of() -> Callable[..., ClassRows]:
    """Two numbers, and a category of three in columns 2 to 4; classes tell nothing of them."""

    def rows_of(seed: int, n: int = 40, n_classes: int = 4) -> ClassRows:
        rng = np.random.default_rng(seed)
        classes = rng.permutation(np.r_[np.arange(n_classes), rng.integers(0, n_classes, n)])
        category = rng.integers(0, 3, len(classes))
        encoded = np.column_stack(
            [rng.normal(size=(len(classes), 2)), np.equal(category[:, None], np.arange(3))]
        ).astype(float)
        return ClassRows(
            encoded=encoded,
            others=np.empty((len(classes), 0)),
            classes=classes,
            guide=rng.random((len(classes), 2)),
            majority=np.ones(len(classes), dtype=bool),
            parts=(np.array([0]), np.array([1]), np.array([2, 3, 4])),
            cut=rng.random((n_classes, 3)) < 0.5,
        )

    return rows_of


@pytest.fixture(scope="session")
def drops_rare_labels() -> Callable[[int], type[Any]]:
    """A tree that doesn't learn labels of fewer rows than so many."""

    def drops_rare_labels(least: int) -> type[Any]:
        class DropsRareLabels(DecisionTreeClassifier):  # type: ignore[misc] # scikit-learn ships no types
            def fit(self, X: Any, y: Any) -> Any:
                known, counts = np.unique(y, return_counts=True)
                keep = np.isin(y, known[counts >= least])
                return super().fit(X[keep], y[keep])

        return DropsRareLabels

    return drops_rare_labels


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Classes]]:
    """Fit, and return the partitions that were tried, for a model that answers in steps."""

    def tried(estimator: object, rows: Any, y: Any, *, k: int, **settings: Any) -> Any:
        found: list[Classes] = []
        every = retrain_in_steps

        def remembered(classes: list[Classes], **named: Any) -> Any:
            found[:] = classes
            return every(classes, **named)

        with monkeypatch.context() as patch:
            patch.setattr(_estimator, "retrain_in_steps", remembered)
            guarantees = settings.pop("guarantees", [KAnonymity(k=k)])
            AnonymizedEstimator(estimator, guarantees=guarantees, **settings).fit(rows, y)
        return found

    return tried


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Led], bool]], None]:
    """Let an estimator try those partitions only that are asked for."""

    def only(which: Callable[[Led], bool]) -> None:
        monkeypatch.setattr(
            _estimator,
            "partitions",
            lambda *given, **named: [led for led in partitions(*given, **named) if which(led)],
        )

    return only
