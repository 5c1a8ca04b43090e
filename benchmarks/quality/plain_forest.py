"""A fitted forest as plain arrays, so that two venvs with two scikit-learns ask the same model.

A part of `minimizing.py` and `peer_minimizer.py`; not run by itself.

Needs numpy and pandas of any age only.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TC002 # two venvs read this; one import is simpler


class PlainForest:
    """Trees of arrays, and the order in which each category's code is its place."""

    def __init__(self, said: dict[str, Any]) -> None:
        self.columns = said["columns"]
        self.categories = said["categories"]
        self.trees = [
            {name: np.array(values) for name, values in tree.items()} for tree in said["trees"]
        ]

    @classmethod
    def read(cls, file: Path) -> PlainForest:
        """Read what `write` wrote."""
        return cls(json.loads(Path(file).read_text(encoding="utf-8")))

    def transform(self, frame: pd.DataFrame) -> np.ndarray:
        """Encode rows as the trees take them."""
        coded = [
            frame[name].map({c: i for i, c in enumerate(self.categories[name])})
            if name in self.categories
            else frame[name]
            for name in self.columns
        ]
        return np.column_stack([np.asarray(column, dtype=np.float32) for column in coded])

    def classify(self, coded: np.ndarray) -> np.ndarray:
        """Return 0 or 1 for encoded rows."""
        coded = np.asarray(coded, dtype=np.float32)
        total = np.zeros(len(coded))
        rows = np.arange(len(coded))
        for tree in self.trees:
            node = np.zeros(len(coded), dtype=np.int64)
            for _ in range(int(tree["depth"])):
                feature = tree["feature"][node]
                inner = feature >= 0
                left = coded[rows, np.maximum(feature, 0)] <= tree["threshold"][node]
                below = np.where(left, tree["left"][node], tree["right"][node])
                node = np.where(inner, below, node)
            total += tree["share"][node]
        return (total > len(self.trees) / 2).astype(int)

    def predict(self, frame: pd.DataFrame) -> np.ndarray:
        """Return 0 or 1 for rows."""
        return self.classify(self.transform(frame))


def write(forest: Any, columns: list[str], categories: dict[str, list[str]], file: Path) -> None:  # noqa: ANN401 # a RandomForestClassifier
    """Write scikit-learn's forest of two classes as JSON."""
    trees = []
    for estimator in forest.estimators_:
        tree = estimator.tree_
        values = tree.value[:, 0, :]
        trees.append(
            {
                "feature": tree.feature.tolist(),
                "threshold": tree.threshold.tolist(),
                "left": tree.children_left.tolist(),
                "right": tree.children_right.tolist(),
                "share": (values[:, 1] / values.sum(axis=1)).tolist(),
                "depth": int(tree.max_depth),
            }
        )
    said = {"columns": columns, "categories": categories, "trees": trees}
    Path(file).write_text(json.dumps(said), encoding="utf-8")
