"""Tree models as what they store, and TreeStructure: counts of rows in leaves and by outputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from halfmask._foreign import foreign
from halfmask.assess.attacks._answers import answers, label_array, predicted_numbers
from halfmask.assess.attacks._arms import Certain
from halfmask.assess.attacks._attack import DeclaredAttack, Found
from halfmask.assess.attacks._targets import ModelTarget

if TYPE_CHECKING:
    from halfmask.assess._arrays import Floats, Ints, Model, Rows
    from halfmask.assess.attacks._arms import Arm
    from halfmask.assess.attacks._attack import Outcome


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
        "tree": (tree, ("DecisionTree",)),
        "forest": (ensemble, ("RandomForest", "ExtraTrees")),
        "boosted": (ensemble, ("GradientBoosting",)),
        "histogram": (ensemble, ("HistGradientBoosting",)),
    }
    for kind, (module, names) in kinds.items():
        for of in ("Classifier", "Regressor"):
            if isinstance(model, tuple(getattr(module, name + of) for name in names)):
                return Trees(model=model, before=before, kind=kind, has_classes=of == "Classifier")
    return None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupCounts:
    """How many rows each group has, by label where the labels are known."""

    sizes: Ints
    by_label: Ints | None = None

    @classmethod
    def of(cls, group_of_row: Ints, labels: Ints) -> Self:
        """Count the rows of each group and label; numbers without rows are no group."""
        there, group = np.unique(group_of_row, return_inverse=True)
        n_labels = int(labels.max()) + 1
        both = np.bincount(group.ravel() * n_labels + labels, minlength=len(there) * n_labels)
        by_label = both.reshape(len(there), n_labels).astype(np.int64)
        return cls(sizes=by_label.sum(axis=1), by_label=by_label)

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def labelled(self) -> bool:
        """Whether the labels are known."""
        return self.by_label is not None

    @property
    def smallest(self) -> int:
        """The rows of the smallest group."""
        return int(self.sizes.min())

    @property
    def lowest_frequency(self) -> int:
        """The rows of the rarest label that a group has, in the group where it is rarest."""
        counts = self.sizes if self.by_label is None else self.by_label
        return int(counts[counts > 0].min())

    def rows_below(self, k: int) -> int:
        """Return how many rows are in groups of fewer than `k`."""
        return int(self.sizes[self.sizes < k].sum())

    def one_label_rows_below(self, k: int) -> int:
        """Return how many rows are in groups of fewer than `k` that all have the same label."""
        if self.by_label is None:
            return 0
        chosen = (self.sizes < k) & (self.by_label.max(axis=1) == self.sizes)
        return int(self.sizes[chosen].sum())


def groups_of(trees: Trees, rows: Rows, labels: Ints) -> tuple[GroupCounts, ...]:
    """Return the leaves of each tree as groups of the rows that fall into them.

    Rows of a regressor have no label.
    """
    if trees.kind == "histogram":
        return tuple(GroupCounts(sizes=sizes) for sizes in trees.leaf_rows)
    if not trees.has_classes:
        led = trees.leaves(rows).T
        return tuple(GroupCounts(sizes=np.unique(each, return_counts=True)[1]) for each in led)
    return tuple(GroupCounts.of(leaves, labels) for leaves in trees.leaves(rows).T)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeStructure(DeclaredAttack, name="structure/trees", target=ModelTarget):
    """Check a tree model: what can be read off its structure.

    Parameters
    ----------
    k
        The least number of training rows that a leaf, and a model's output, should stand for.
        At least 2.
    min_degrees_of_freedom
        The least residual degrees of freedom, rows minus learned numbers, of a single tree.

    Notes
    -----
    After Preen and Smith, "A hierarchical approach for assessing the vulnerability of tree-based
    classification models to membership inference attack" (TDP 2025), and the structural attack of
    their SACRO-ML. Counted are, over the rows that trained the model *as it saw them*:

    - ``rows in leaves below k``: of all rows in all trees, those in a leaf of fewer than k rows;
    - ``a leaf below k``: 1 if there is one such leaf;
    - ``rows in one-label leaves below k``: those in such a leaf where all have one label, so that
      the leaf discloses the label of a few people (class disclosure);
    - ``rows of an output below k``: those whose prediction (probabilities, or a number) fewer than
      k rows share;
    - ``too few degrees of freedom``: 1 if so, of a single tree. An ensemble has far more leaves
      than rows at any k, so the number is only among the details.

    Among the details are the smallest leaf and output, the lowest frequency of a label in a leaf,
    and the share of rows in leaves of one label of any size: k-anonymity doesn't cover the last
    two, l-diversity does.

    **Guarantees.** These are counts, with no guess in them: no interval, no positive control.

    **Edge cases.** A forest draws rows, and a leaf may have been grown of fewer than the rows that
    fall into it; the attack counts all rows that fall into it, since they share its output. The
    leaves of ``HistGradientBoosting`` can't be looked up by rows: its counts are read, without
    labels.
    Leaves of a regressor have no labels to count.
    Of a model that learned each member several times, with several points, rows in a leaf aren't
    people: where the rows that it was grown of are just so many times the members it isn't counted.
    """

    k: int = field(default=10, metadata={"ge": 2})
    min_degrees_of_freedom: int = field(default=10, metadata={"ge": 0})

    def missing_inputs(self, target: ModelTarget) -> str:
        """Return what the target lacks: a model of trees, and rows that trained it."""
        trees = trees_of(target.model)
        if trees is None:
            return "a model of scikit-learn's trees"
        if not target.n_members:
            return "members"
        times, besides = divmod(trees.rows_learned, target.n_members)
        several = times > 1 and not besides
        return f"a model that learned each member once, not {times} times" if several else ""

    def _measure(self, target: ModelTarget, random_state: int) -> Found:  # noqa: ARG002 # counts
        trees = trees_of(target.model)
        if trees is None:
            return ()
        rows = target.members if target.trained_rows is None else target.trained_rows
        given = label_array(target.member_labels, whose="members")
        labels = np.unique(given, return_inverse=True)[1].ravel()
        n_classes = int(labels.max()) + 1
        if trees.has_classes:
            classes = label_array(
                getattr(target.model, "classes_", np.unique(given)), whose="model"
            )
            output = answers(target.model, rows, classes, who="The model")
        else:
            output = predicted_numbers(target.model, rows, who="The model")[:, None]
        outputs = GroupCounts.of(_alike(output), labels)
        outcomes = [*self._leaves(groups_of(trees, rows, labels)), self._outputs(outputs)]
        freedom = len(labels) - trees.parameters(n_classes)
        if trees.kind == "tree":
            outcomes.append(self._freedom(freedom))
        else:
            details = {**outcomes[0].details, "residual_degrees_of_freedom": float(freedom)}
            outcomes[0] = self._counted("rows in leaves below k", outcomes[0].success, details)
        return tuple(outcomes)

    def _leaves(self, leaves: tuple[GroupCounts, ...]) -> list[Outcome]:
        total = sum(int(each.sizes.sum()) for each in leaves)
        small = sum(each.rows_below(self.k) for each in leaves)
        smallest = min(each.smallest for each in leaves)
        details = {"smallest_leaf": float(smallest), "leaves": float(sum(map(len, leaves)))}
        found = [
            self._counted("rows in leaves below k", Certain(small / total, total), details),
            self._counted("a leaf below k", Certain(float(smallest < self.k), total), details),
        ]
        if all(each.labelled for each in leaves):
            disclosed = sum(each.one_label_rows_below(self.k) for each in leaves)
            pure = sum(each.one_label_rows_below(total + 1) for each in leaves)
            details = {
                "rows_in_one_label_leaves": pure / total,
                "lowest_label_frequency": float(min(each.lowest_frequency for each in leaves)),
            }
            found.append(
                self._counted(
                    "rows in one-label leaves below k", Certain(disclosed / total, total), details
                )
            )
        return found

    def _outputs(self, outputs: GroupCounts) -> Outcome:
        total = int(outputs.sizes.sum())
        return self._counted(
            "rows of an output below k",
            Certain(outputs.rows_below(self.k) / total, total),
            {"smallest_output": float(outputs.smallest), "outputs": float(len(outputs))},
        )

    def _freedom(self, freedom: int) -> Outcome:
        return self._counted(
            "too few degrees of freedom",
            Certain(float(freedom < self.min_degrees_of_freedom), 1),
            {"residual_degrees_of_freedom": float(freedom)},
        )

    def _counted(self, measure: str, share: Arm, details: dict[str, float]) -> Outcome:
        return self._make_outcome(
            measure, share, needed=(0, "rows"), census=True, details={"k": float(self.k), **details}
        )


def _alike(chances: Floats) -> Ints:
    """Return the same number for rows of the same output, to the twelfth digit."""
    rounded = np.ascontiguousarray(np.round(np.asarray(chances, dtype=np.float64), 12) + 0.0)
    whole = rounded.view(np.dtype((np.void, rounded.dtype.itemsize * rounded.shape[1])))
    return np.unique(whole.ravel(), return_inverse=True)[1].astype(np.int64)
