"""Labels within classes: what a majority vote gets wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask._errors import ParameterError
from halfmask._validation import integer_at_least

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
