"""Utility measures by the sizes of the classes alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import ParameterError
from halfmask._facts import Facts
from halfmask._validation import integer_at_least

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassSizeUtility(Facts):
    """How many rows look alike, and how many are gone.

    Parameters
    ----------
    classes
        How many classes the release has.
    rows
        How many rows the release has.
    suppressed
        How many rows were left out.
    discernibility
        Sum of the squared class sizes, and for each suppressed row the number of all rows.
    average_class_size
        Rows by classes; 0 without classes.
    normalized_average_class_size
        The average class size by k; 1 is the best that k-anonymity allows. 0 without classes.
    k
        The k by which it was normalized.
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

    Raises
    ------
    ParameterError
        A class has no rows, or a count is out of its range.

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


def _sum_of_squares(sizes: NDArray[np.int64]) -> int:
    """Return the sum of squares; in Python's integers, for ten billion rows overflow 64 bits."""
    values, counts = np.unique(sizes, return_counts=True)
    return sum(int(value) ** 2 * int(count) for value, count in zip(values, counts, strict=True))
