"""Groups of training rows with one output, and the labels in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.attacks._trees import Trees


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupCounts:
    """How many rows each group has, by label where the labels are known."""

    sizes: NDArray[np.int64]
    by_label: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, group_of_row: NDArray[np.int64], labels: NDArray[np.int64]) -> Self:
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


def groups_of(
    trees: Trees,
    rows: Any,  # noqa: ANN401 # a frame or an array
    labels: NDArray[np.int64],
) -> tuple[GroupCounts, ...]:
    """Return the leaves of each tree as groups of the rows that fall into them.

    Rows of a regressor have no label.
    """
    if trees.kind == "histogram":
        return tuple(GroupCounts(sizes=sizes) for sizes in trees.leaf_rows)
    if not trees.has_classes:
        led = trees.leaves(rows).T
        return tuple(GroupCounts(sizes=np.unique(each, return_counts=True)[1]) for each in led)
    return tuple(GroupCounts.of(leaves, labels) for leaves in trees.leaves(rows).T)
