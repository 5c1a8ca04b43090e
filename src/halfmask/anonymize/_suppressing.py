"""How few classes must be suppressed until guarantees of the whole table hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.guarantees import Classes, Guarantee


def smallest_enough(
    classes: Classes, guarantees: Sequence[Guarantee], *, max_rows: int
) -> NDArray[np.int64]:
    """Return the smallest classes without which all guarantees hold; none if it takes too many.

    Notes
    -----
    **Guarantees.** Without the classes returned, every guarantee holds, and a class is left. The
    fewest classes, if a guarantee that holds without the n smallest holds without n + 1, as those
    of risks in the table do: the search halves. Where that is not so, none may be found.

    A table is never suppressed in vain: either the guarantees hold afterwards, or nothing goes.

    Examples
    --------
    >>> from halfmask.guarantees import AverageRisk, Classes
    >>> classes = Classes(np.array([9, 1, 8, 1, 1]))
    >>> smallest_enough(classes, [AverageRisk(risk=0.2)], max_rows=3).tolist()
    [1, 3]
    >>> smallest_enough(classes, [AverageRisk(risk=0.2)], max_rows=1).tolist()
    []
    """
    order = np.argsort(classes.sizes, kind="stable").astype(np.int64)
    affordable = int(np.count_nonzero(np.cumsum(classes.sizes[order]) <= max_rows))

    def hold(n: int) -> bool:
        left = classes.without(order[:n])
        return all(guarantee.judge(left).holds for guarantee in guarantees)

    too_few, enough = 0, min(affordable, classes.n_classes - 1)
    if not enough or not hold(enough):
        return order[:0]
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if hold(middle) else (middle, enough)
    return order[:enough]
