"""Fitting and asking models of others, whose own errors may hold cells and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from halfmask._foreign import foreign

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

__all__ = ["asking", "fitted"]

HINT = (
    "It sees rows as numbers, without names of columns: preprocessing by name belongs into "
    "encoder=. Fit it to encoded rows yourself to see why."
)


def fitted(estimator: Any, rows: Any, y: NDArray[Any]) -> Any:  # noqa: ANN401 # scikit-learn's
    """Return a copy of an estimator, fitted.

    Raises
    ------
    DataError
        If its fit raises: only the kind of its error is told.
    """
    failed = f"{type(estimator).__name__} couldn't be fitted to {len(y)} rows"
    with foreign(failed, hint=HINT):
        return clone(estimator).fit(rows, y)


def asking(model: Any, what: str, rows: Any) -> AbstractContextManager[None]:  # noqa: ANN401 # the same
    """Return a block in which a model is asked, such as to predict rows.

    Raises
    ------
    DataError
        If it raises there: only the kind of its error is told.
    """
    return foreign(
        f"{type(model).__name__} couldn't {what} {len(rows)} rows",
        hint="Call it on encoded rows, and labels of the type of the fit, to see why.",
    )
