"""Numbers that a caller's code gives, checked: as many as were asked for, and each of them one.

One answer that is NaN can make all of an attack's guesses wrong, and a theft look resisted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: A network in half precision is this far off.
SLACK = 1e-3


def as_numbers(values: Any) -> NDArray[np.float64]:  # noqa: ANN401 # the output of foreign code
    """Return numbers as an array; what is masked as NaN, which :func:`numbers_of` refuses.

    Examples
    --------
    >>> as_numbers(np.ma.masked_array([0.5, 0.25], mask=[False, True]))
    array([0.5, nan])
    >>> as_numbers([np.ma.masked_all(2), [0.0, 1.0]])
    array([[nan, nan],
           [ 0.,  1.]])
    """
    if isinstance(values, list | tuple) and any(np.ma.isMaskedArray(each) for each in values):
        values = np.ma.stack([np.ma.asarray(each) for each in values])
    if np.ma.isMaskedArray(values):
        return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))
    return np.asarray(values, dtype=np.float64)


def numbers_of(
    values: NDArray[np.float64], shape: tuple[int, ...], *, who: str, what: str, of: str = "rows"
) -> NDArray[np.float64]:
    """Return numbers as they are, those of one column as an array of one dimension.

    Examples
    --------
    >>> numbers_of(np.array([[0.5], [1.0]]), (2,), who="The trainer", what="predictions")
    array([0.5, 1. ])
    """
    given = values[:, 0] if values.shape == (*shape, 1) and len(shape) == 1 else values
    if given.shape != shape:
        raise DataError(f"{who} must give {what} of shape {shape}. Got {given.shape}.")
    broken = int((~np.isfinite(given)).any(axis=tuple(range(1, given.ndim))).sum())
    if broken:
        raise DataError(f"{who} gave NaN or infinite {what} for {broken:,} {of}.")
    return given


def probabilities_of(
    values: NDArray[np.float64], shape: tuple[int, ...], *, who: str
) -> NDArray[np.float64]:
    """Return probabilities unchanged: of several classes, or of one of two."""
    given = numbers_of(values, shape, who=who, what="probabilities")
    every = given if given.ndim > 1 else np.column_stack([1 - given, given])
    off = (every < -SLACK).any(axis=1) | (np.abs(every.sum(axis=1) - 1) > SLACK)
    if off.any():
        one_row = "that add up to 1, " if given.ndim > 1 else ""
        raise DataError(
            f"{who} gave what are no probabilities for {int(off.sum()):,} rows.",
            hint=f"Give probabilities in [0, 1] {one_row}not scores or logits.",
        )
    return given
