"""Arrays: what can be read as a table of rows, refused without a cell where it can't."""

from __future__ import annotations

from typing import Any

import numpy as np

from halfmask._errors import ParameterError

__all__ = ["table_like"]


def table_like(X: Any) -> Any:  # noqa: ANN401 # an array, or lists of cells
    """Return rows as an array of two dimensions; a sparse matrix as it is.

    scikit-learn checks the same, and shows all cells when it fails.

    Raises
    ------
    ParameterError
        If there are other dimensions, rows of different lengths, or complex numbers.

    Examples
    --------
    >>> table_like([[31, 2], [40, 0]]).shape
    (2, 2)
    >>> table_like([31, 40])
    Traceback (most recent call last):
    ...
    halfmask._errors.ParameterError: Expected 2D array, got 1D array instead.
    <BLANKLINE>
    Hint: Reshape your data: one row is array.reshape(1, -1), one column array.reshape(-1, 1).
    """
    if hasattr(X, "tocsr"):
        return X  # scikit-learn refuses it in words that hold no cell
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths
        raise ParameterError("X must be a table: all rows of the same length.") from None
    if array.ndim != 2:
        raise ParameterError(
            f"Expected 2D array, got {array.ndim}D array instead.",
            hint="Reshape your data: one row is array.reshape(1, -1), one column "
            "array.reshape(-1, 1).",
        )
    if array.dtype.kind in "cV":
        raise ParameterError("Complex data not supported.")
    return array
