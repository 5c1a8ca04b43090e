"""Representatives: what all rows of a class are written as, in the columns that a model sees.

Rows that share their representatives can't be told apart by them, however many there are. So
they may be chosen for what a model learns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray


CENTROID, QUANTILE_SPREAD = "centroid", "quantile-spread"
#: The name under which a cross-validated score chooses.
CHOSEN = "chosen"
#: How many representatives a class gets by quantiles.
SPREAD = 4
#: The golden section: multiples of it, modulo 1, leave the smallest gaps, however many there are.
SECTION = (np.sqrt(5.0) - 1.0) / 2.0
#: How far apart the quantiles of two quasi-identifiers start.
APART = np.sqrt(2.0) - 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassRows:
    """Encoded quasi-identifiers of rows, and the class of each row."""

    encoded: NDArray[np.float64]
    classes: NDArray[np.int64]
    parts: Sequence[NDArray[np.int64]]
    order: NDArray[np.float64]
    seed: int

    def __repr__(self) -> str:
        return f"ClassRows({len(self.classes)} rows, {len(self.sizes)} classes)"

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many rows each class has."""
        return np.bincount(self.classes)

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where each class starts among rows that are sorted by class."""
        return np.cumsum(self.sizes) - self.sizes

    def means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of each column in each class."""
        by_class = np.argsort(self.classes, kind="stable")
        sums = np.add.reduceat(values[by_class].astype(np.float64), self.starts, axis=0)
        means: NDArray[np.float64] = sums / self.sizes[:, None]
        return means


def centroids(rows: ClassRows) -> NDArray[np.float64]:
    """Return the mean of each class, (1, classes, columns).

    A category becomes the share of the class that has it. The point is nobody's, unless all rows
    of the class are equal.
    """
    return rows.means(rows.encoded)[None]


def quantile_spread(rows: ClassRows) -> NDArray[np.float64]:
    """Return four representatives of each class, (4, classes, columns).

    Notes
    -----
    In each quasi-identifier the four are values at equal steps of the class's quantiles, so that
    they span it as the rows do. The order of the steps is drawn for each quasi-identifier: a Latin
    hypercube (McKay, Beckman and Conover, "A comparison of three methods for selecting values of
    input variables", 1979). From class to class, in the order of the mean prediction, quantiles
    move on by the golden section, a sequence of low discrepancy (Niederreiter, "Random number
    generation and quasi-Monte Carlo methods", 1992, section 3.1), so that all representatives
    together are distributed as the rows. Categories are ordered by their mean prediction.

    **Guarantees.** All rows of a class share all four, in the same order.

    **Edge cases.** Each value is somebody's. Their combination is nobody's but by chance; of a
    single quasi-identifier it is a row's.
    """
    rng = np.random.default_rng([rows.seed, SPREAD])
    steps = np.stack([rng.permutation(SPREAD) for _ in rows.parts], axis=1) / SPREAD
    rank = np.argsort(np.argsort(rows.means(rows.order[:, None])[:, 0], kind="stable"))
    found = np.repeat(centroids(rows), SPREAD, axis=0)
    for place, columns in enumerate(rows.parts):
        values = rows.encoded[:, columns]
        by_value = np.argsort(_in_order(values, rows.order), kind="stable")
        by_class = by_value[np.argsort(rows.classes[by_value], kind="stable")]
        shares = (rank * SECTION + place * APART + steps[:, place, None]) % 1.0
        found[:, :, columns] = values[by_class[rows.starts + (shares * rows.sizes).astype(int)]]
    return found


def _in_order(values: NDArray[np.float64], order: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers that sort one quasi-identifier: itself, or categories by mean prediction."""
    if values.shape[1] < 2:
        numbers: NDArray[np.float64] = values.sum(axis=1)
        return numbers
    codes = alike(values)
    means = np.bincount(codes, weights=order) / np.bincount(codes)
    places = np.argsort(np.argsort(means, kind="stable"))  # equal means stay apart
    return places[codes].astype(np.float64)


#: What may represent a class, by name.
REPRESENTATIVES: dict[str, Callable[[ClassRows], NDArray[np.float64]]] = {
    CENTROID: centroids,
    QUANTILE_SPREAD: quantile_spread,
}


def representative_named(name: object) -> str:
    """Return the name of a representative, if it is one, or ``CHOSEN``."""
    if not isinstance(name, str) or name not in {*REPRESENTATIVES, CHOSEN}:
        raise ParameterError(
            "The 'representative' parameter must be one of "
            f"{sorted([*REPRESENTATIVES, CHOSEN])}. Got {name!r} instead."
        )
    return name


def alike(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return a number for each row, the same for rows that are equal in every column.

    Notes
    -----
    Rows are told apart by a random weighted sum, and one row of each sum is sorted whole. Equal
    rows may get sums that differ in the last bit, and others the same one: the first are brought
    together again where whole rows are sorted, the second are looked for at the end, and then all
    rows are sorted.

    **Edge cases.** Minus zero is zero. What isn't a number is like nothing, not even itself.
    """
    weights = np.random.default_rng(0).standard_normal(values.shape[1])  # any find the same
    with np.errstate(over="ignore", invalid="ignore"):  # such sums tell nothing apart
        sums = values @ weights
    _, firsts, numbers = np.unique(sums, return_index=True, return_inverse=True)
    different, again = np.unique(values[firsts], axis=0, return_inverse=True)
    found: NDArray[np.int64] = again.reshape(-1)[numbers.reshape(-1)]
    if not np.array_equal(different[found], values):
        found = np.unique(values, axis=0, return_inverse=True)[1].reshape(-1)
    return found.astype(np.int64)
