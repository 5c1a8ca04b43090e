"""Encoded rows in classes, and a tree that drops rare labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from halfmask.training._representatives import ClassRows

if TYPE_CHECKING:
    from collections.abc import Callable


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
            classes=classes,
            parts=(np.array([0]), np.array([1]), np.array([2, 3, 4])),
            order=rng.random(len(classes)),
            seed=seed,
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
