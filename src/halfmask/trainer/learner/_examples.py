"""Rows as the kernels take them, once it is sure that a learner can learn from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.hashing import HashedRows
    from halfmask.trainer.learner._settings import LearnerSettings


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Examples:
    """Labelled rows in the flat layout, all of it checked."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.uint32]
    values: NDArray[np.float32] | None
    labels: NDArray[Any]
    weights: NDArray[np.float32]
    longest: int

    @classmethod
    def of(cls, rows: HashedRows, settings: LearnerSettings) -> Examples:
        """Return rows as examples."""
        check_rows(rows, settings)
        indptr, indices, values = rows.flat()
        weights = np.ones(len(rows), np.float32) if rows.weights is None else rows.weights
        longest = rows.width
        if longest is None:
            longest = int(np.diff(indptr).max()) if len(rows) else 0
        return cls(
            indptr=indptr,
            indices=indices,
            values=values,
            labels=_labels(rows, settings),
            weights=weights,
            longest=longest,
        )

    def __post_init__(self) -> None:
        # Loops would be compiled again for writable arrays: one kind of them is enough.
        for name in ("indptr", "indices", "values", "labels", "weights"):
            array = getattr(self, name)
            if array is not None:
                object.__setattr__(self, name, frozen(array))

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def used(self) -> NDArray[np.uint32]:
        """The indices of these rows."""
        return self.indices[self.indptr[0] : self.indptr[-1]]

    def of_ones(self) -> Examples:
        """Return the rows with the values that they stand for without any."""
        return replace(self, values=np.ones(len(self.indices), np.float32))

    def part(self, start: int, stop: int) -> Examples:
        """Return some of the rows; features aren't copied."""
        return replace(
            self,
            indptr=self.indptr[start : stop + 1],
            labels=self.labels[start:stop],
            weights=self.weights[start:stop],
        )

    def reordered(self, order: NDArray[np.intp]) -> Examples:
        """Return the rows in another order."""
        lengths = np.diff(self.indptr)[order]
        bounds = np.zeros(len(order) + 1, np.int64)
        np.cumsum(lengths, out=bounds[1:])
        places = np.arange(bounds[-1]) + np.repeat(self.indptr[:-1][order] - bounds[:-1], lengths)
        return Examples(
            indptr=bounds,
            indices=self.indices[places],
            values=None if self.values is None else self.values[places],
            labels=self.labels[order],
            weights=self.weights[order],
            longest=self.longest,
        )


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that can't be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def check_rows(rows: HashedRows, settings: LearnerSettings) -> None:
    """Raise ParameterError unless the rows have the learner's bits."""
    if rows.bits != settings.bits:
        raise ParameterError(
            f"The rows have {rows.bits} bits, and the learner {settings.bits}.",
            hint="Hash with the bits of the model.",
        )


def _labels(rows: HashedRows, settings: LearnerSettings) -> NDArray[Any]:
    labels = rows.labels
    if labels is None:
        raise DataError("The rows have no labels to learn from.")
    if settings.loss == "softmax":
        if labels.dtype != np.int32:
            raise DataError("The loss 'softmax' needs labels of int32.")
        if len(labels) and int(labels.max()) >= settings.outputs:
            raise DataError(f"A label is not below the learner's {settings.outputs} classes.")
        return labels
    if settings.loss in ("logistic", "hinge") and not ((labels == 0) | (labels == 1)).all():
        raise DataError(f"The labels of the loss {settings.loss!r} must be 0 or 1.")
    return np.ascontiguousarray(labels, dtype=np.float32)
