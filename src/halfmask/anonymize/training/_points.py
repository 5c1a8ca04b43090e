"""Points: what all rows of a class are written as, in the space that the model sees.

Any point that a class shares keeps k-anonymity, so the point may be chosen for what the model
learns from it. Each function here returns one point for every class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ClassRows", "centroids", "nearest_predictions", "records"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassRows:
    """The rows that a model would see, and the class of each.

    Parameters
    ----------
    encoded
        Those columns that depend on a quasi-identifier, (rows, columns).
    others
        All other columns, (rows, others).
    classes
        The class of each row, from 0, (rows,).
    guide
        What leads, (rows, outputs): probabilities in [0, 1] or numbers.
    majority
        For each row whether it has its class's most frequent label, (rows,).
    """

    encoded: NDArray[np.float64]
    others: NDArray[np.float64]
    classes: NDArray[np.int64]
    guide: NDArray[np.float64]
    majority: NDArray[np.bool_]

    def __repr__(self) -> str:
        return f"ClassRows({len(self.classes)} rows, {self.n_classes} classes)"

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return int(self.classes.max()) + 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many rows each class has."""
        return np.bincount(self.classes, minlength=self.n_classes)

    def means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of each column of values in each class."""
        order = np.argsort(self.classes, kind="stable")
        starts = np.searchsorted(self.classes[order], np.arange(self.n_classes))
        sums: NDArray[np.float64] = np.add.reduceat(values[order], starts, axis=0)
        return sums / self.sizes[:, None]

    def nearest(
        self, targets: NDArray[np.float64], values: NDArray[np.float64], among: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Return for each class the row, of those among it, whose values are nearest its target."""
        distance = ((values - targets[self.classes]) ** 2).sum(axis=1)
        distance[~among] = np.inf
        order = np.lexsort((distance, self.classes))
        firsts = np.searchsorted(self.classes[order], np.arange(self.n_classes))
        found: NDArray[np.int64] = order[firsts]
        return found


def centroids(rows: ClassRows) -> NDArray[np.float64]:
    """Return the mean of each class; a category becomes the share of the class that has it.

    A synthetic point: nobody's, unless all rows of the class are alike.
    """
    return rows.means(rows.encoded)


def records(rows: ClassRows) -> NDArray[np.float64]:
    """Return the row nearest each class's median, of those that have its majority label.

    Goldsteen et al., "Anonymizing machine learning models" (2020), section 3. The point is
    somebody's row.
    """
    order = np.argsort(rows.classes, kind="stable")
    parts = np.split(rows.encoded[order], np.cumsum(rows.sizes)[:-1])
    medians = np.stack([np.median(part, axis=0) for part in parts])
    found: NDArray[np.float64] = rows.encoded[rows.nearest(medians, rows.encoded, rows.majority)]
    return found


def nearest_predictions(rows: ClassRows) -> NDArray[np.float64]:
    """Return the row of each class whose prediction is nearest the class's mean prediction.

    The point is somebody's row.
    """
    everyone = np.ones(len(rows.classes), dtype=np.bool_)
    nearest = rows.nearest(rows.means(rows.guide), rows.guide, everyone)
    found: NDArray[np.float64] = rows.encoded[nearest]
    return found
