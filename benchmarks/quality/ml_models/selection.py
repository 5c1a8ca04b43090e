"""Feature selection before anonymization, for figure 3.

"Except for neural networks, in all other cases we performed feature selection prior to
anonymization", says the paper, and not how. Here: the attributes that carry at least `LEAST` of the
importance of a tree with 50 rows a leaf, fitted to the raw training rows and their labels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sklearn.tree import DecisionTreeClassifier

from ml_models.encoding import Encoder

if TYPE_CHECKING:
    from ml_models.datasets import Dataset, Split

LEAST = 0.01
LEAF_ROWS = 50


def selected(dataset: Dataset, split: Split, seed: int) -> tuple[Dataset, Split]:
    """Leave out the attributes that the label can do without."""
    encoder = Encoder.fitted(split.train, dataset.numeric, dataset.categorical)
    tree = DecisionTreeClassifier(min_samples_leaf=LEAF_ROWS, random_state=seed)
    tree.fit(encoder.encode(split.train), split.y_train)
    found = tree.feature_importances_
    kept = [
        name
        for name in (*dataset.numeric, *dataset.categorical)
        if found[list(encoder.columns_of(name))].sum() >= LEAST
    ]
    return (
        replace(
            dataset,
            frame=dataset.frame.select(kept),
            numeric=tuple(name for name in dataset.numeric if name in kept),
            categorical=tuple(name for name in dataset.categorical if name in kept),
            qi_sets={
                number: tuple(name for name in names if name in kept)
                for number, names in dataset.qi_sets.items()
            },
        ),
        replace(
            split,
            train=split.train.select(kept),
            held_back=split.held_back.select(kept),
            test=split.test.select(kept),
        ),
    )
