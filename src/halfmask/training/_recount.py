"""Counting again what a model is given: that classes keep k, and what labels it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError, GuaranteeNotMetError
from halfmask.data._arrays import is_missing
from halfmask.guarantees import Classes, value_codes
from halfmask.training._alike import alike

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from halfmask.guarantees import Guarantee

__all__ = ["count_again", "has_majority_label", "judge_again", "labels_known"]

DEFECT = "This is a defect of halfmask: please report it."


def count_again(written: NDArray[np.float64], *, guarantees: Sequence[Guarantee]) -> None:
    """Raise if rows that a model can't tell apart are fewer than any guarantee asks for.

    Raises
    ------
    GuaranteeNotMetError
        If they are.
    """
    least = max([1, *(int(g.criterion().threshold) for g in guarantees if not g.column)])
    counts = np.array([len(written)])  # without columns nobody can tell any of them apart
    if written.shape[1]:
        counts = np.bincount(alike(written))
    if counts.min() < least:
        raise GuaranteeNotMetError(
            f"In what the model would be given {int((counts < least).sum())} classes have "
            f"fewer than {least} rows.",
            hint=DEFECT,
        )


def judge_again(
    written: NDArray[np.float64],
    columns: Mapping[str, pl.Series],
    *,
    guarantees: Sequence[Guarantee],
) -> None:
    """Raise if rows that a model can't tell apart miss a guarantee on a column.

    Parameters
    ----------
    written
        What the model is given of the rows, (rows, columns that are recoded).
    columns
        What guarantees judge, by name: the labels as the model is given them, other columns as
        they are.
    guarantees
        As the fit restricted them to values that occur. Those without a column are left to
        :func:`count_again`.

    Raises
    ------
    GuaranteeNotMetError
        If they do.
    """
    classes = np.zeros(len(written), dtype=np.int64)
    if written.shape[1]:
        classes = alike(written)
    for guarantee in guarantees:
        if guarantee.column is None:
            continue
        codes, n_values = value_codes(columns[guarantee.column], order=guarantee.order)
        counted = Classes.from_codes(
            classes, int(classes.max()) + 1, {guarantee.column: (codes, n_values)}
        )
        failing = guarantee.judge(counted).failing
        if len(failing):
            raise GuaranteeNotMetError(
                f"In what the model would be given {len(failing)} classes miss {guarantee!r}.",
                hint=DEFECT,
            )


def has_majority_label(
    labels: NDArray[Any] | None, classes: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return for each row whether it has its class's most frequent label; all, of numbers."""
    if labels is None:
        return np.ones(len(classes), dtype=np.bool_)
    _, codes = np.unique(labels, return_inverse=True)
    counts = np.zeros((int(classes.max()) + 1, int(codes.max()) + 1), dtype=np.int64)
    np.add.at(counts, (classes, codes), 1)
    majority: NDArray[np.bool_] = np.equal(codes, counts.argmax(axis=1)[classes])
    return majority


def labels_known(labels: NDArray[Any]) -> None:
    """Raise if a label is missing, or labels are of types that have no order.

    Raises
    ------
    DataError
        If so.
    """
    if labels.ndim != 1:
        return  # their shape is judged beside the rows'
    if labels.dtype.kind != "O":
        missing = int(np.isnan(labels).sum()) if labels.dtype.kind == "f" else 0
    else:
        missing = sum(map(is_missing, labels.ravel()))
        if not missing and len({isinstance(each, str) for each in labels.ravel()}) > 1:
            raise DataError("y holds texts and other things.", hint="Give labels one type.")
    if missing:
        raise DataError(
            f"y is missing in {missing} of {len(labels)} rows.", hint="Leave these rows out."
        )
