"""Points: what all rows of a class are written as, in the space that the model sees.

Any point that a class shares keeps k-anonymity, so the point may be chosen for what the model
learns from it. Each function here returns one point for every class; any number of them, which the
class shares too, keeps it as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from halfmask.training._linear_view import LinearView

__all__ = [
    "ClassRows",
    "boxes",
    "centroids",
    "each_point",
    "medians",
    "nearest_predictions",
    "once",
    "records",
    "repeated",
    "typical",
    "where_cut",
]


@dataclass(frozen=True, kw_only=True)  # without slots: what was found of it is kept beside
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
    parts
        For each quasi-identifier the columns that depend on it; where these were cut, rather than
        the table's, each column by itself.
    cut
        Whether a part tells a class from others: whether it was cut on the way to it,
        (classes, parts).
    shares
        Whether a guide in [0, 1] is one of shares; numbers of a regressor aren't.
    views
        The linear view of these columns and this guide, once it is found: the same rows in other
        classes may share it.
    """

    encoded: NDArray[np.float64]
    others: NDArray[np.float64]
    classes: NDArray[np.int64]
    guide: NDArray[np.float64]
    majority: NDArray[np.bool_]
    parts: tuple[NDArray[np.int64], ...] = ()
    cut: NDArray[np.bool_] | None = None
    shares: bool = True
    views: list[LinearView] = field(default_factory=list, compare=False)

    def __repr__(self) -> str:
        return f"ClassRows({len(self.classes)} rows, {self.n_classes} classes)"

    @cached_property
    def n_classes(self) -> int:
        """How many classes there are."""
        return int(self.classes.max()) + 1

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many rows each class has."""
        return np.bincount(self.classes, minlength=self.n_classes)

    @cached_property
    def in_classes(self) -> NDArray[np.int64]:
        """The places of the rows, class after class, each in the order of the rows."""
        return np.argsort(self.classes, kind="stable")

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each class starts among these."""
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def _short(self) -> NDArray[np.unsignedinteger]:
        """The classes in as few bytes as they need: those of one or two are sorted by counting."""
        return self.classes.astype(np.min_scalar_type(self.n_classes))

    def ordered_by(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the places of the rows, class after class, each in the order of these numbers."""
        order = np.argsort(numbers, kind="stable")
        return order[np.argsort(self._short[order], kind="stable")]

    @cached_property
    def known(self) -> dict[Callable[[ClassRows], NDArray[np.float64]], NDArray[np.float64]]:
        """Points that were found before, by what found them."""
        return {}

    def means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of each column of values in each class."""
        sums: NDArray[np.float64] = np.add.reduceat(values[self.in_classes], self.starts, axis=0)
        return sums / self.sizes[:, None]

    def nearest(
        self, targets: NDArray[np.float64], values: NDArray[np.float64], among: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Return for each class the row, of those among it, whose values are nearest its target."""
        distance = ((values - targets[self.classes]) ** 2).sum(axis=1)
        distance[~among | np.isnan(distance)] = np.inf
        distance = distance[self.in_classes]
        classes = np.repeat(np.arange(self.n_classes), self.sizes)
        least = np.flatnonzero(distance == np.minimum.reduceat(distance, self.starts)[classes])
        firsts = np.searchsorted(classes[least], np.arange(self.n_classes))
        found: NDArray[np.int64] = self.in_classes[least[firsts]]
        return found


def each_point(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points of which classes may have one or several as (points, classes, columns)."""
    return points if points.ndim > 2 else points[None]


def repeated(values: NDArray[Any], points: NDArray[np.float64]) -> NDArray[Any]:
    """Return what is said of rows once for each point that classes have; a copy."""
    return np.concatenate([values] * len(each_point(points)))


def once(
    find: Callable[[ClassRows], NDArray[np.float64]],
) -> Callable[[ClassRows], NDArray[np.float64]]:
    """Let points be found once: most are made of others."""

    @wraps(find)
    def found(rows: ClassRows) -> NDArray[np.float64]:
        if found not in rows.known:
            rows.known[found] = find(rows)
        return rows.known[found].copy()

    return found


@once
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
    parts = np.split(rows.encoded[rows.in_classes], rows.starts[1:])
    middles = np.stack([np.median(part, axis=0) for part in parts])
    found: NDArray[np.float64] = rows.encoded[rows.nearest(middles, rows.encoded, rows.majority)]
    return found


def nearest_predictions(rows: ClassRows) -> NDArray[np.float64]:
    """Return the row of each class whose prediction is nearest the class's mean prediction.

    The point is somebody's row.
    """
    everyone = np.ones(len(rows.classes), dtype=np.bool_)
    nearest = rows.nearest(rows.means(rows.guide), rows.guide, everyone)
    found: NDArray[np.float64] = rows.encoded[nearest]
    return found


def boxes(rows: ClassRows) -> NDArray[np.float64]:
    """Return typical values where a class was cut from others, the table's everywhere else.

    For each quasi-identifier by itself the value of the class that is nearest its mean: a number
    near the middle, the most frequent category. A quasi-identifier that was never cut on the way
    to the class is written as for the whole table: a model of splits can then tell classes apart by
    what parted them and by nothing else. The values are somebody's one by one, their combination is
    nobody's on purpose.
    """
    points = typical(rows)
    if rows.cut is None:
        return points
    middle = rows.encoded.mean(axis=0)
    for place, columns in enumerate(rows.parts):
        values = rows.encoded[:, columns]
        usual = values[((values - middle[columns]) ** 2).sum(axis=1).argmin()]
        points[:, columns] = np.where(rows.cut[:, place : place + 1], points[:, columns], usual)
    return points


@once
def typical(rows: ClassRows) -> NDArray[np.float64]:
    """Return for each quasi-identifier by itself the class's value that is nearest its mean.

    A number near the middle, the most frequent category: values that occur, in a combination that
    is nobody's but by chance. Goldsteen et al. (2020), section 3, name it as the alternative.
    """
    points = centroids(rows)
    everyone = np.ones(len(rows.classes), dtype=np.bool_)
    for columns in rows.parts:
        values = rows.encoded[:, columns]
        points[:, columns] = values[rows.nearest(points[:, columns], values, everyone)]
    return points


@once
def medians(rows: ClassRows) -> NDArray[np.float64]:
    """Return for each quasi-identifier by itself the class's value that is nearest its median.

    Of a category the most frequent one. Unlike means, medians of columns such as gains, which are
    zero for nearly everyone, don't stand where nobody is.
    """
    several = any(len(columns) != 1 for columns in rows.parts)
    points = typical(rows) if several else centroids(rows)
    everyone = np.ones(len(rows.classes), dtype=np.bool_)
    middle, other = rows.starts + (rows.sizes - 1) // 2, rows.starts + rows.sizes // 2
    for columns in rows.parts:
        if len(columns) != 1:
            continue
        values = rows.encoded[:, columns]
        ordered = values[rows.ordered_by(values[:, 0])]
        below, above = ordered[middle], ordered[other]
        points[:, columns] = below
        if not np.array_equal(below, above):
            medians = (below + above) / 2.0
            points[:, columns] = values[rows.nearest(medians, values, everyone)]
    return points


def where_cut(
    rows: ClassRows, points: NDArray[np.float64], cut: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return points in the columns that were cut, and elsewhere the medians of the table.

    A model of splits can tell classes apart by what the guide looks at and by nothing else.
    """
    return np.where(cut, points, _usual(rows))


@once
def _usual(rows: ClassRows) -> NDArray[np.float64]:
    """Return the medians of the table."""
    return medians(replace(rows, classes=np.zeros_like(rows.classes)))
