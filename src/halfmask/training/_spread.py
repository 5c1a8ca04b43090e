"""Spread points: classes that stand together like the rows that they were made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.training._alike import alike
from halfmask.training._points import centroids, once

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.training._points import ClassRows

__all__ = ["spread", "spread_over"]

#: The golden section: of all steps around a circle it leaves the least gaps, however many they are.
SECTION = (np.sqrt(5.0) - 1.0) / 2.0
#: How far apart quasi-identifiers start.
APART = np.sqrt(2.0) - 1.0


@once
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
    one: NDArray[np.float64] = _at_shares(rows, np.zeros((1, len(rows.parts))))[0]
    return one


def spread_over(rows: ClassRows, points: int, *, seed: int) -> NDArray[np.float64]:
    """Return several such points for each class, (points, classes, columns); the first are those.

    Parameters
    ----------
    rows
        The rows and their classes.
    points
        How many each class gets, 1 or more.
    seed
        What is drawn from.

    Notes
    -----
    A class of one point says nothing of how far it reaches, and a tree cuts half-way between two of
    them wherever that is. Several points fill the box: in each column they stand at equal steps of
    the class's quantiles, in an order that is drawn for each column and is the same in all classes:
    a Latin hypercube of each class (McKay, Beckman and Conover, "A comparison of three methods for
    selecting values of input variables", 1979). Four points have six orders: of seven columns two
    at least go along with each other within classes.

    **Guarantees.** All rows of a class have all of its points: whoever sees them all, and knows
    which belong together, can't tell one row from another.

    **Edge cases.** Values are somebody's one by one, and of few columns and small classes all of a
    point's may be one person's.
    """
    rng = np.random.default_rng([seed, points])
    drawn = np.stack([rng.permutation(points) for _ in rows.parts], axis=1)
    found = _at_shares(rows, (drawn - drawn[:1]) % points / points)
    rows.known[spread] = found[0].copy()
    return found


def _at_shares(rows: ClassRows, further: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values at quantiles that step from class to class.

    Parameters
    ----------
    rows
        The rows and their classes.
    further
        How much further the quantiles of each point and quasi-identifier are, (points, parts).
    """
    said = rows.guide[:, -1]
    rank = np.empty(rows.n_classes)
    rank[np.argsort(rows.means(said[:, None])[:, 0], kind="stable")] = np.arange(rows.n_classes)
    points = np.repeat(centroids(rows)[None], len(further), axis=0)
    for place, columns in enumerate(rows.parts):
        values = rows.encoded[:, columns]
        order = rows.ordered_by(_in_order(values, said))
        share = (rank * SECTION + place * APART + further[:, place, None]) % 1.0
        places = order[rows.starts + (share * rows.sizes).astype(np.int64)]
        points[:, :, columns] = values[places]
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
