"""Measures of classes: their sizes, the values in each column, and the labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ParameterError
from halfmask._facts import Facts
from halfmask._validation import integer_at_least

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from halfmask.assess._arrays import Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassSizeUtility(Facts):
    """How many rows look alike, and how many are gone.

    Parameters
    ----------
    classes, rows, suppressed
        How many classes and rows the release has, and how many rows were left out.
    discernibility
        Sum of the squared class sizes, and for each suppressed row the number of all rows.
    average_class_size
        Rows by classes; 0 without classes.
    normalized_average_class_size, k
        The average class size by this k; 1 is the best that k-anonymity allows. 0 without classes.
    """

    facts = (
        "classes", "rows", "suppressed", "suppressed_fraction", "discernibility",
        "average_class_size", "normalized_average_class_size", "k",
    )  # fmt: skip

    classes: int
    rows: int
    suppressed: int
    discernibility: int
    average_class_size: float
    normalized_average_class_size: float
    k: int

    @property
    def rows_in(self) -> int:
        """How many rows there were before."""
        return self.rows + self.suppressed

    @property
    def suppressed_fraction(self) -> float:
        """Which share of the rows was left out, in [0, 1]."""
        return self.suppressed / self.rows_in if self.rows_in else 0.0

    @property
    def discernibility_sentence(self) -> str:
        """The discernibility in one sentence."""
        alike = self.discernibility / self.rows_in if self.rows_in else 0.0
        return (
            f"On average a row looks like {alike:,.0f} rows, itself included; a suppressed "
            f"row counts as like all {self.rows_in:,}."
        )

    @property
    def average_class_size_sentence(self) -> str:
        """The average class size in one sentence."""
        return (
            f"A class has {self.average_class_size:,.1f} rows on average, "
            f"{self.normalized_average_class_size:,.2f} times the k = {self.k} that was asked for; "
            "1 is the least that is possible."
        )

    @property
    def suppressed_sentence(self) -> str:
        """The suppressed fraction in one sentence."""
        return (
            f"{self.suppressed:,} of {self.rows_in:,} rows ({self.suppressed_fraction:.2%}) are "
            "not in the release."
        )


def class_size_utility(sizes: NDArray[np.int64], *, suppressed: int, k: int) -> ClassSizeUtility:
    """Measure the utility of a release by the sizes of its classes.

    Parameters
    ----------
    sizes
        How many rows each class has. At least 1 each.
    suppressed
        How many rows were left out. At least 0.
    k
        The requested k, at least 1. Use 1 if no k was requested.

    Notes
    -----
    Source of discernibility: Bayardo and Agrawal, ICDE 2005, section 2.2. Source of the average
    class size: LeFevre et al., ICDE 2006, section 5. Divided by k, it is ``C_avg`` in this paper
    and AECS in ARX.

    Examples
    --------
    >>> import numpy as np
    >>> utility = class_size_utility(np.array([2, 3]), suppressed=1, k=2)
    >>> utility.discernibility, utility.normalized_average_class_size
    (19, 1.25)
    """
    integer_at_least(0, owner="class_size_utility", suppressed=suppressed)
    integer_at_least(1, owner="class_size_utility", k=k)
    if len(sizes) and int(sizes.min()) < 1:
        raise ParameterError("The 'sizes' parameter of class_size_utility has an empty class.")
    rows = int(sizes.sum())
    average = rows / len(sizes) if len(sizes) else 0.0
    return ClassSizeUtility(
        classes=len(sizes),
        rows=rows,
        suppressed=suppressed,
        discernibility=_sum_of_squares(sizes) + suppressed * (rows + suppressed),
        average_class_size=average,
        normalized_average_class_size=average / k,
        k=k,
    )


def _sum_of_squares(sizes: Ints) -> int:
    """Return the sum of squares; in Python's integers, for ten billion rows overflow 64 bits."""
    values, counts = np.unique(sizes, return_counts=True)
    return sum(int(value) ** 2 * int(count) for value, count in zip(values, counts, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnEntries:
    """How often each value of one column occurs in each class.

    Parameters
    ----------
    classes, codes, rows
        The class, the code of the value and the number of rows of each pair that occurs; missing
        cells are left out, (entries,).
    low, high
        The least and the greatest code that is written for each class, (classes,).
    numbers
        The number of each code, of a column of numbers or dates.
    """

    classes: NDArray[np.int64]
    codes: NDArray[np.int64]
    rows: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    numbers: NDArray[np.float64] | None = None


def non_uniform_entropy(columns: Mapping[str, ColumnEntries], *, suppressed: int) -> float:
    """Return the share of the columns' information that is lost, in [0, 1].

    Parameters
    ----------
    columns
        The released rows of each quasi-identifier.
    suppressed
        How many rows were left out whole; they lose all.

    Notes
    -----
    A value that n(x) rows have and that is written as a set of values with n(B) rows loses
    ``log2(n(B) / n(x))`` bits; the rows lose at most ``log2(n / n(x))``. The share is the mean over
    columns. Sources: A. De Waal and L. Willenborg, "Information loss through global recoding and
    local suppression", Netherlands Official Statistics 14, 1999; A. Gionis and T. Tassa,
    "k-anonymization with minimal loss of information", IEEE TKDE 21(2), 2009; ARX's normalized
    "Non-uniform entropy".

    **Guarantees.** 0 if every cell is one value, 1 if no row or no detail is left. Merging classes
    never lowers it.

    **Edge cases.** Missing cells aren't counted. A column of one value loses nothing in the rows
    that were kept.

    Examples
    --------
    >>> import numpy as np
    >>> halves = ColumnEntries(
    ...     classes=np.array([0, 0, 1]), codes=np.array([0, 1, 2]), rows=np.array([1, 1, 2]),
    ...     low=np.array([0, 2]), high=np.array([1, 2]),
    ... )
    >>> round(non_uniform_entropy({"age": halves}, suppressed=0), 3)
    0.333
    """
    integer_at_least(0, owner="non_uniform_entropy", suppressed=suppressed)
    shares = []
    for column in columns.values():
        held = int(column.rows.sum())
        lost, most = _bits(column)
        kept = lost / most if most > 0 else 0.0
        shares.append(
            (kept * held + suppressed) / (held + suppressed) if held + suppressed else 0.0
        )
    return float(np.mean(shares)) if shares else 0.0


def _bits(column: ColumnEntries) -> tuple[float, float]:
    """Return the bits that the rows lose, and the most that they could."""
    n_values = int(max(column.codes.max(initial=-1), column.high.max(initial=-1))) + 1
    of_code = np.bincount(column.codes, weights=column.rows, minlength=n_values)
    below = np.concatenate([[0.0], np.cumsum(of_code)])
    first, last = column.low[column.classes], column.high[column.classes]
    written = below[last + 1] - below[first]
    own = of_code[column.codes]
    lost = float(column.rows @ np.log2(written / own)) if len(own) else 0.0
    most = float(column.rows @ np.log2(below[-1] / own)) if len(own) else 0.0
    return lost, most


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnRise:
    """How far up its hierarchy one column is written.

    Parameters
    ----------
    levels
        The level of each class, 0 for raw values, (classes,).
    height
        The level of the root, at least 0.
    """

    levels: NDArray[np.int64]
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralizationHeight:
    """How far up their hierarchies the columns are written.

    Parameters
    ----------
    precision
        Sweeney's Prec in [0, 1]: 1 for raw values, 0 for roots and suppressed rows.
    height
        The sum over columns of the mean level of the released rows.
    """

    precision: float
    height: float


def generalization_height(
    columns: Mapping[str, ColumnRise], sizes: NDArray[np.int64], *, suppressed: int
) -> GeneralizationHeight:
    """Measure the levels of the columns that have a hierarchy.

    Parameters
    ----------
    columns
        The levels of each of them; at least one column.
    sizes
        How many rows each class has.
    suppressed
        How many rows were left out whole.

    Notes
    -----
    Source of the precision: L. Sweeney, "Achieving k-anonymity privacy protection using
    generalization and suppression", IJUFKS 10(5), 2002, section 2.2. The height is that of the node
    of the lattice (P. Samarati, IEEE TKDE 13(6), 2001) where every row has the same levels.

    Examples
    --------
    >>> import numpy as np
    >>> age = ColumnRise(levels=np.array([1, 2]), height=4)
    >>> generalization_height({"age": age}, np.array([3, 1]), suppressed=0)
    GeneralizationHeight(precision=0.6875, height=1.25)
    """
    integer_at_least(0, owner="generalization_height", suppressed=suppressed)
    if not columns:
        raise ParameterError("The 'columns' parameter of generalization_height is empty.")
    released = int(sizes.sum())
    n_rows = released + suppressed
    raised = height = 0.0
    for column in columns.values():
        total = float(column.levels @ sizes)
        height += total / released if released else 0.0
        raised += (total / max(column.height, 1) + suppressed) / n_rows if n_rows else 0.0
    return GeneralizationHeight(precision=1.0 - raised / len(columns), height=height)


def squared_error(columns: Mapping[str, ColumnEntries]) -> float | None:
    """Return SSE / SST: the share of the numbers' variation that lies within classes.

    Parameters
    ----------
    columns
        The released rows of each quasi-identifier; those without numbers are left out.

    Returns
    -------
    The mean over the columns of numbers and dates, in [0, 1]; ``None`` where there is none.

    Notes
    -----
    SSE is the sum over rows of the squared difference from the mean of their class, SST that from
    the mean of all released rows. The mean over columns is that of standardized columns. Source: J.
    Domingo-Ferrer and J. M. Mateo-Sanz, "Practical data-oriented microaggregation for statistical
    disclosure control", IEEE TKDE 14(1), 2002, section 2.

    **Edge cases.** Missing cells are left out. A column of one number has no variation to lose: 0.

    Examples
    --------
    >>> import numpy as np
    >>> ages = ColumnEntries(
    ...     classes=np.array([0, 0, 1]), codes=np.array([0, 1, 2]), rows=np.array([1, 1, 2]),
    ...     low=np.array([0, 2]), high=np.array([1, 2]), numbers=np.array([20.0, 30, 40]),
    ... )
    >>> round(squared_error({"age": ages}), 3)
    0.182
    """
    shares = [_within(each) for each in columns.values() if each.numbers is not None]
    return float(np.mean(shares)) if shares else None


def _within(column: ColumnEntries) -> float:
    if column.numbers is None or not len(column.rows):
        return 0.0
    numbers = column.numbers / (float(np.abs(column.numbers).max(initial=0.0)) or 1.0)
    values, rows = numbers[column.codes], column.rows.astype(np.float64)
    centred = values - float(rows @ values) / float(rows.sum())
    total = float(rows @ centred**2)
    sums = np.bincount(column.classes, weights=rows * centred)
    counts = np.bincount(column.classes, weights=rows)
    within = float(rows @ (centred - (sums / np.maximum(counts, 1))[column.classes]) ** 2)
    return min(within / total, 1.0) if total > 0 else 0.0


def classification_metric(labels: NDArray[np.int64], *, suppressed: int) -> float:
    """Return the share of rows without the most frequent label of their class.

    Parameters
    ----------
    labels
        How many rows of each class have each label, (classes, labels).
    suppressed
        How many rows were left out whole; they count as wrong.

    Notes
    -----
    Source: CM of V. S. Iyengar, "Transforming data to satisfy privacy constraints", KDD 2002,
    section 4.

    **Edge cases.** Where two labels are equally frequent, the rows of one of them are right. No
    rows: 0.

    Examples
    --------
    >>> import numpy as np
    >>> classification_metric(np.array([[3, 1], [2, 2]]), suppressed=2)
    0.5
    """
    integer_at_least(0, owner="classification_metric", suppressed=suppressed)
    if labels.ndim != 2:
        raise ParameterError(
            "The 'labels' parameter of classification_metric must be (classes, labels). "
            f"Got shape {labels.shape}."
        )
    rows = int(labels.sum())
    wrong = rows - int(labels.max(axis=1, initial=0).sum()) + suppressed
    return wrong / (rows + suppressed) if rows + suppressed else 0.0
