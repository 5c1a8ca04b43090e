"""TreeStructure: counts of rows and labels in the leaves of a tree model, and by its outputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np

from halfmask.assess.attacks._answers import answers, label_array, predicted_numbers
from halfmask.assess.attacks._arms import Certain
from halfmask.assess.attacks._attack import DeclaredAttack, Found
from halfmask.assess.attacks._targets import ModelTarget
from halfmask.assess.attacks._trees import trees_of

if TYPE_CHECKING:
    from halfmask.assess._arrays import Floats, Ints, Rows
    from halfmask.assess.attacks._arms import Arm
    from halfmask.assess.attacks._outcome import Outcome
    from halfmask.assess.attacks._trees import Trees


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
