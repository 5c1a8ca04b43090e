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

__all__ = ["ClassRows", "centroids", "nearest_predictions", "records", "unconfounded"]

#: Probabilities nearer to 0 or 1 than this count as this: their logarithm knows no end.
LEAST_PROBABILITY = 0.01
RIDGE = 1e-3


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


def unconfounded(rows: ClassRows, *, strength: float, stretch: float = 1.0) -> NDArray[np.float64]:
    """Return centroids moved so that what goes along with the prediction counts for less.

    Parameters
    ----------
    rows
        The rows and their classes.
    strength
        How much of the confounding is taken away, in [0, 1]; 0 gives the centroids.
    stretch
        How far the centroids' own part along the prediction's direction is stretched; 1 not at all.

    Notes
    -----
    A class mean changes with the prediction in *every* column that is correlated with it, and a
    model that sees few means can't tell causes from companions: it spreads its weights over all of
    them, and errs on rows whose columns don't go together. So the direction in which the guide's
    score rises, other columns held, is found among all rows by a ridge regression; what the class
    means do besides, and in step with their mean score, is taken away by `strength`. All classes
    keep their rows, their labels and their spread in every other direction.
    """
    means = rows.means(rows.encoded)
    score = _scores(rows.guide)
    sizes = rows.sizes[:, None]
    middle = rows.encoded.mean(axis=0)
    direction = _directions(rows, score)
    away = means - middle
    basis, lengths, _ = np.linalg.svd(direction, full_matrices=False)
    basis = basis[:, lengths > 1e-9 * max(1e-300, lengths.max(initial=0.0))]
    along = away @ basis @ basis.T
    across = away - along
    of_class = rows.means(score)
    centred = of_class - (sizes * of_class).sum(axis=0) / sizes.sum()
    weighted = centred * sizes
    gram = weighted.T @ centred + 1e-9 * np.eye(score.shape[1])
    companions: NDArray[np.float64] = centred @ np.linalg.solve(gram, weighted.T @ across)
    return middle + stretch * along + across - strength * companions


def _scores(guide: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers that rise without end: log-odds of probabilities, numbers as they are."""
    is_share = guide.min() >= 0 and guide.max() <= 1
    if not is_share:
        return guide - guide.mean(axis=0)
    shares = np.clip(guide, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    odds: NDArray[np.float64] = np.log(shares) - np.log1p(-shares)
    return odds[:, :1] if odds.shape[1] == 2 else odds


def _directions(rows: ClassRows, score: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how each column moves each score, the other columns held, (columns, scores)."""
    columns = np.hstack([rows.encoded, rows.others])
    columns = columns - columns.mean(axis=0)
    gram = columns.T @ columns / len(columns)
    ridge = RIDGE * max(1e-12, float(np.trace(gram)) / len(gram)) * np.eye(len(gram))
    weights = np.linalg.solve(gram + ridge, columns.T @ (score - score.mean(axis=0)) / len(columns))
    found: NDArray[np.float64] = weights[: rows.encoded.shape[1]]
    return found
