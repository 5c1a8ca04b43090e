"""Spread points: classes that stand together like the rows that they were made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.anonymize.training._alike import alike
from halfmask.anonymize.training._points import centroids

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.anonymize.training._points import ClassRows

__all__ = ["spread"]

#: The golden section: of all steps around a circle it leaves the least gaps, however many they are.
SECTION = (np.sqrt(5.0) - 1.0) / 2.0
#: How far apart quasi-identifiers start.
APART = np.sqrt(2.0) - 1.0


def spread(rows: ClassRows) -> NDArray[np.float64]:
    """Return for each quasi-identifier by itself a value of the class, not the same place in each.

    Notes
    -----
    Medians of many classes crowd in the middle, and a model of splits that learns of them has seen
    no one far from it. Here a class's value is its quantile at a step of the golden section further
    than that of the class before it, in the order of what the guide says on average: a sequence of
    low discrepancy (Niederreiter, "Random number generation and quasi-Monte Carlo methods", 1992,
    section 3.1). So the points together have the columns' distributions, and so have those of any
    few classes that are predicted alike. Categories are ordered by what the guide says of them. All
    step alike, from places of their own, so that within classes two columns may go along with each
    other as they don't in the rows; steps of their own for each taught no better. Values are
    somebody's one by one, their combination is nobody's but by chance; of a single
    quasi-identifier, or one that moves all columns, they are a row's.
    """
    said = rows.guide[:, -1]
    rank = np.empty(rows.n_classes)
    rank[np.argsort(rows.means(said[:, None])[:, 0], kind="stable")] = np.arange(rows.n_classes)
    points = centroids(rows)
    for place, columns in enumerate(rows.parts):
        values = rows.encoded[:, columns]
        order = np.lexsort((_in_order(values, said), rows.classes))
        share = (rank * SECTION + place * APART) % 1.0
        points[:, columns] = values[order[rows.starts + (share * rows.sizes).astype(np.int64)]]
    return points


def _in_order(values: NDArray[np.float64], said: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers by which rows are in order of one quasi-identifier."""
    if values.shape[1] < 2:
        numbers: NDArray[np.float64] = values.sum(axis=1)
        return numbers
    codes = alike(values)
    means = np.bincount(codes, weights=said) / np.bincount(codes)
    places = np.argsort(np.argsort(means, kind="stable"))  # equal means stay apart
    return places[codes].astype(np.float64)
