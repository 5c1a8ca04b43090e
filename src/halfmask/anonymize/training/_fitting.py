"""Fitting models of others, whose own errors may hold cells and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from halfmask._errors import DataError, HalfmaskError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["fitted", "scored"]


def fitted(estimator: Any, rows: Any, y: NDArray[Any]) -> Any:  # noqa: ANN401 # scikit-learn's
    """Return a copy of an estimator, fitted.

    Raises
    ------
    DataError
        If its fit raises: only the kind of its error is told.
    """
    try:
        return clone(estimator).fit(rows, y)
    except HalfmaskError:
        raise
    except Exception as error:  # noqa: BLE001 # a model of others; its message may hold cells
        raise DataError(
            f"{type(estimator).__name__} couldn't be fitted to {len(y)} rows "
            f"({type(error).__name__}).",
            hint="It sees rows as numbers, without names of columns: preprocessing by name belongs "
            "into encoder=. Fit it to encoded rows yourself to see why.",
        ) from None


def scored(score: Callable[[], float], n_rows: int) -> float:
    """Return a score.

    Raises
    ------
    DataError
        If it can't be found: only the kind of the error is told.
    """
    try:
        return float(score())
    except HalfmaskError:
        raise
    except Exception as error:  # noqa: BLE001 # the same
        raise DataError(
            f"The model couldn't be scored on {n_rows} rows ({type(error).__name__}).",
            hint="Give y of the type of the fit, one for each row.",
        ) from None
