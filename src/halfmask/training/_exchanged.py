"""Exchanged labels: rows of a class whose labels the guide would have the other way round."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["exchanged"]

#: How much surer of the other way round the guide must be, as a difference of probabilities.
SURE = 0.4


def exchanged(
    labels: NDArray[Any],
    classes: NDArray[np.int64],
    guide: NDArray[np.float64],
    *,
    sure: float = SURE,
) -> NDArray[Any]:
    """Exchange labels within classes where the guide is sure that they stand the wrong way round.

    Parameters
    ----------
    labels
        The label of each row, (rows,).
    classes
        The class of each row, (rows,).
    guide
        What the guide says of each row: a probability for each label in their order, (rows,
        labels). It must not have learned from the row.
    sure
        Two rows exchange their labels if the guide gives one of them so much more of the other's
        label, in [0, 1]. With 1 none do; with 0 each class's labels go to those rows of it that
        the guide thinks likeliest.

    Notes
    -----
    **Guarantees.** Each class has as many rows of each label as before: what a guarantee says of
    the label still holds. With more than two labels each pair is exchanged in turn.

    A row whose label is unlikely is what a model learns by heart first, and what tells most of the
    row when it did. Exchanged, it is learned of nobody.
    """
    known, codes = np.unique(labels, return_inverse=True)
    if guide.shape != (len(labels), len(known)) or not np.allclose(guide.sum(axis=1), 1.0):
        return labels
    for one, other in combinations(range(len(known)), 2):
        among = np.flatnonzero((codes == one) | (codes == other))
        has_other = codes[among] == other
        likelier = (guide[among, other] - guide[among, one]) / 2 + sure * has_other
        of = classes[among]
        order = np.lexsort((-likelier, of))
        starts = np.searchsorted(of[order], np.arange(int(classes.max()) + 1))
        rank = np.arange(len(order)) - starts[of[order]]
        counts = np.bincount(of, weights=has_other, minlength=int(classes.max()) + 1)
        codes[among[order]] = np.where(rank < counts[of[order]], other, one)
    found: NDArray[Any] = known[codes]
    return found
