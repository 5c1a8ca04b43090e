"""Arrays: what can be read as a table of rows, and which of their cells are missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from halfmask._errors import HalfmaskError, ParameterError


def is_missing(cell: Any) -> bool:  # noqa: ANN401 # a cell of any type
    """Tell whether a cell holds nothing: None, NaN, NaT, or the NA of pandas.

    Examples
    --------
    >>> [is_missing(cell) for cell in (None, float("nan"), 0, "")]
    [True, True, False, False]
    """
    try:
        return cell is None or bool(cell != cell)  # noqa: PLR0124 # NaN
    except (TypeError, ArithmeticError):  # NA is neither, and a signalling NaN raises
        return True
    except ValueError:  # an array, whose cells may differ
        return False


def unmasked(
    values: Any,  # noqa: ANN401 # anything
    *,
    name: str,
    told_as: type[HalfmaskError] = ParameterError,
) -> Any:  # noqa: ANN401 # the same
    """Return values unchanged, unless masked ones would show."""
    parts = values if isinstance(values, list | tuple) else (values,)
    n_masked = sum(int(np.ma.getmaskarray(each).sum()) for each in parts if np.ma.is_masked(each))
    if n_masked:
        raise told_as(
            f"{name} is a masked array with {n_masked} masked cells.",
            hint="Fill them, with NaN or None where they are missing: array.filled(...).",
        )
    return values


def table_like(X: Any) -> Any:  # noqa: ANN401 # an array, or lists of cells
    """Return rows as an array of two dimensions; a sparse matrix unchanged.

    scikit-learn checks the same, and shows all cells when it fails.

    Notes
    -----
    **Edge cases.** In lists that hold texts as well numbers stay numbers.

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
        array = np.asarray(unmasked(X, name="X"))
    except ParameterError:
        raise
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
    if array.dtype.kind in "US" and not isinstance(X, np.ndarray):
        return np.asarray(X, dtype=object)
    return array
