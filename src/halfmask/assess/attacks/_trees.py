"""Tree models as what they store: which leaf a row falls in, and how many rows of each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._foreign import foreign

if TYPE_CHECKING:
    from halfmask.assess._arrays import Floats, Ints, Model, Rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trees:
    """The trees of a model of scikit-learn, and how rows become what they split."""

    model: Any
    before: Any
    kind: str
    has_classes: bool = True

    def __repr__(self) -> str:
        return f"Trees({self.kind})"

    @property
    def _own_counts(self) -> bool:
        return self.kind == "histogram"

    def leaves(self, rows: Rows) -> Ints:
        """Return the number of the leaf of each row in each tree: (rows, trees)."""
        with foreign("The model failed to find the leaves of rows"):
            ready = rows if self.before is None else self.before.transform(rows)
            found = np.asarray(self.model.apply(ready), dtype=np.int64)
        return found.reshape(len(found), -1)

    @property
    def class_counts(self) -> tuple[Floats, ...]:
        """For each tree how many training rows of each class were at each node: (nodes, classes).

        Of trees and forests of classifiers; rows count as often as the forest drew them.
        """
        singles = [self.model] if self.kind == "tree" else list(self.model.estimators_)
        return tuple(
            each.tree_.value[:, 0, :] * each.tree_.weighted_n_node_samples[:, None]
            for each in singles
        )

    @property
    def leaf_rows(self) -> tuple[Ints, ...]:
        """For each tree of a histogram ensemble how many rows it was grown of in each leaf."""
        return tuple(
            tree.nodes["count"][tree.nodes["is_leaf"].astype(bool)].astype(np.int64)
            for together in self.model._predictors  # noqa: SLF001 # the only place of the counts
            for tree in together
        )

    @property
    def rows_learned(self) -> int:
        """How many rows it learned, of boosting how many its first tree was grown of; 0 if none."""
        if not any(hasattr(self.model, each) for each in ("tree_", "estimators_", "_predictors")):
            return 0
        if self._own_counts:
            return int(self.model._predictors[0][0].nodes["count"][0])  # noqa: SLF001 # the same
        if self.kind == "forest":  # whose trees draw some, and weigh them
            return int(self.model._n_samples)  # noqa: SLF001 # nowhere else
        first = self.model if self.kind == "tree" else np.ravel(self.model.estimators_)[0]
        return int(first.tree_.n_node_samples[0])

    def parameters(self, n_classes: int) -> int:
        """Return how many numbers the model learned.

        Two for each split (column and threshold), one less than the classes for each leaf that
        holds shares, one for each leaf that holds a number or a correction: Preen and Smith (2025).
        """
        leaves, splits = self._sizes
        holds_shares = self.has_classes and self.kind in {"tree", "forest"}
        per_leaf = n_classes - 1 if holds_shares else 1
        return 2 * splits + per_leaf * leaves

    @property
    def _sizes(self) -> tuple[int, int]:
        """Return how many leaves and how many splits there are in all trees."""
        if self._own_counts:
            leaves = sum(len(counts) for counts in self.leaf_rows)
            return leaves, leaves - len(self.leaf_rows)
        made = [self.model] if self.kind == "tree" else np.ravel(self.model.estimators_)
        leaves = sum(int(each.get_n_leaves()) for each in made)
        return leaves, leaves - len(made)


def trees_of(model: Model) -> Trees | None:
    """Return the trees of a model, or the last step of a pipeline; ``None`` if it has none.

    What is read are fitted models of scikit-learn, classifiers and regressors: decision trees,
    random forests, extra trees, gradient boosting with and without histograms, and what inherits
    from them.
    """
    from sklearn import ensemble, tree  # noqa: PLC0415 # sklearn loads late
    from sklearn.pipeline import Pipeline  # noqa: PLC0415 # the same

    before = None
    if isinstance(model, Pipeline):
        before = model[:-1] if len(model) > 1 else None
        model = model[-1]
    kinds = {
        ("tree", True): (tree.DecisionTreeClassifier,),
        ("tree", False): (tree.DecisionTreeRegressor,),
        ("forest", True): (ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier),
        ("forest", False): (ensemble.RandomForestRegressor, ensemble.ExtraTreesRegressor),
        ("boosted", True): (ensemble.GradientBoostingClassifier,),
        ("boosted", False): (ensemble.GradientBoostingRegressor,),
        ("histogram", True): (ensemble.HistGradientBoostingClassifier,),
        ("histogram", False): (ensemble.HistGradientBoostingRegressor,),
    }
    for (kind, has_classes), types in kinds.items():
        if isinstance(model, types):
            return Trees(model=model, before=before, kind=kind, has_classes=has_classes)
    return None
