"""The share of a sensitive value in a class over its share in the whole table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from halfmask.guarantees._exact import integers_up_to

if TYPE_CHECKING:
    from halfmask.guarantees._classes import Classes

# int64, or Python's own integers in an object array where int64 might overflow
Integers = npt.NDArray[Any]


def share_ratios(classes: Classes, column: str) -> tuple[Integers, Integers]:
    """Return, for each entry of a histogram, the two shares over a common denominator.

    Notes
    -----
    **Guarantees.** Exact: c/n over t/N is c*N over n*t.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> classes = Classes.from_codes([0, 0, 1, 1], 2, {"ill": ([0, 0, 0, 1], 2)})
    >>> in_class, in_table = share_ratios(classes, "ill")
    >>> (in_class / in_table).round(3).tolist()
    [1.333, 0.667, 2.0]
    """
    histogram, rows = classes.histogram(column), classes.rows
    counts = integers_up_to(rows * rows, histogram.counts)
    sizes = integers_up_to(rows * rows, np.asarray(classes.sizes)[histogram.class_of_entry])
    return counts * rows, sizes * histogram.totals[histogram.codes]
