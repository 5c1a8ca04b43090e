"""The protocol of methods, and guides made of labels, predictions or columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

import numpy as np

from halfmask._errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from halfmask.anonymize._growth import GrowthPlan

#: Of more classes than this only the most frequent texts guide; integers are numbers then.
MAX_CLASSES = 32


@runtime_checkable
class Method(Protocol):
    """How classes are found.

    Guarantees expected of one: it only ranks the cuts. The engine makes a cut only where every
    guarantee holds on both sides, whatever the method prefers. One that judges the release doesn't
    cut: it can keep guarantees that aren't monotone.
    """

    name: ClassVar[str]
    judges_release: ClassVar[bool]
    """Whether it suppresses rows itself and judges all classes that are left together."""

    @property
    def needs_guide(self) -> bool:
        """Whether it looks at labels or predictions."""

    def plan_growth(self, guides: NDArray[np.float64] | None) -> GrowthPlan:
        """Return how classes are cut.

        Parameters
        ----------
        guides
            The split targets, one row each; ``None`` where the method uses none.
        """


def as_guides(y: ArrayLike) -> NDArray[np.float64]:
    """Return labels or predictions as columns in [0, 1], one row for each of theirs."""
    values = np.asarray(y)
    if values.ndim not in (1, 2) or not values.size:
        raise ParameterError(
            "A guide must be labels (rows,) or predictions (rows, outputs). "
            f"Got shape {values.shape}."
        )
    if values.ndim == 1 and not _are_numbers(values):
        return _one_column_a_class(values)
    if values.dtype.kind not in "fiub":
        raise ParameterError("A guide in columns must be numbers. Got another type.")
    columns = values.reshape(len(values), -1).astype(np.float64)
    if not np.isfinite(columns).all():
        raise ParameterError("A guide must be finite numbers. Got some that are not.")
    if columns.shape[1] == 2 and np.allclose(columns.sum(axis=1), 1.0):
        columns = columns[:, :1]  # the other column of two says the same
    low, high = np.percentile(columns, [1, 99], axis=0)
    within = (columns.min(axis=0) >= 0) & (columns.max(axis=0) <= 1)
    low, high = np.where(within, 0.0, low), np.where(within, 1.0, high)
    spread = np.where(high > low, high - low, 1.0)
    return np.clip((columns - low) / spread, 0.0, 1.0)


def _are_numbers(values: NDArray[np.generic]) -> bool:
    """Return whether one column says how much, rather than which: counts and incomes do."""
    if values.dtype.kind in "iu":
        return len(np.unique(values)) > MAX_CLASSES
    return values.dtype.kind == "f"


def _one_column_a_class(labels: NDArray[np.generic]) -> NDArray[np.float64]:
    texts = labels.astype(str) if labels.dtype.kind == "O" else labels
    _, codes, counts = np.unique(texts, return_inverse=True, return_counts=True)
    if len(counts) == 2:
        second: NDArray[np.float64] = np.equal(codes, 1).astype(np.float64)
        return second[:, None]
    frequent = np.argsort(-counts, kind="stable")[:MAX_CLASSES]
    one_hot: NDArray[np.float64] = np.equal(codes[:, None], frequent[None, :]).astype(np.float64)
    return one_hot
