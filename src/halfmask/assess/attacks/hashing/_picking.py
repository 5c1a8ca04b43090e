"""Pick hashed rows, and change their labels and weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.hashing import HashedRows

if TYPE_CHECKING:
    from numpy.typing import NDArray


def labels_of(rows: HashedRows) -> NDArray[np.int64]:
    """Return labels of 0 and 1."""
    return np.asarray(rows.labels, dtype=np.int64)


def picked(
    rows: HashedRows,
    places: NDArray[np.int64],
    *,
    labels: NDArray[np.int64],
    weight: float | None = None,
) -> HashedRows:
    """Return some rows under other labels, each with one weight if one is given."""
    bounds, indices, values = rows.flat()
    lengths = np.diff(bounds)[places]
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    within = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths)
    taken = np.repeat(bounds[places], lengths) + within
    width = rows.width
    shape = (-1,) if width is None else (len(places), width)
    numbers = rows.labels is not None and rows.labels.dtype == np.float32
    return HashedRows(
        indices=indices[taken].reshape(shape),
        bits=rows.bits,
        indptr=ends if width is None else None,
        values=None if values is None else values[taken].reshape(shape),
        labels=labels.astype(np.float32) if numbers else labels.astype(np.int32),
        weights=None if weight is None else np.full(len(places), weight, dtype=np.float32),
        classes=rows.classes,
    )


def matrix_of(rows: HashedRows, buckets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the values of some buckets as a dense matrix with a column of ones behind."""
    dense = rows.to_csr()[:, buckets].toarray().astype(np.float64)
    return np.column_stack([dense, np.ones(len(dense))])
