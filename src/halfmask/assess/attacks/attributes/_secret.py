"""The column that is to be inferred: its values as numbers, and what an attacker would try."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError, ParameterError
from halfmask.assess.attacks.attributes._rows import column_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Secret", "factorised", "secret_of"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Secret:
    """A column's values as numbers.

    Parameters
    ----------
    column
        Which column.
    members, non_members
        The number of each person's value.
    candidates
        A value for each number, to put into a row.
    positive
        The number of the value whose precision and recall are wanted; -1 if none is.
    """

    column: str | int
    members: NDArray[np.int64]
    non_members: NDArray[np.int64]
    candidates: NDArray[Any]
    positive: int = -1

    def __len__(self) -> int:
        return len(self.candidates)

    def __repr__(self) -> str:
        return f"Secret({self.column!r}, {len(self)} values)"


def secret_of(
    members: Any,  # noqa: ANN401 # a frame or an array
    non_members: Any,  # noqa: ANN401 # the same
    column: str | int,
    *,
    bins: int,
    positive: Any,  # noqa: ANN401 # a value of the column
) -> Secret:
    """Give each value a number; numbers of more values than `bins` are cut at quantiles.

    Raises
    ------
    DataError
        If there is but one value, and so no secret.
    ParameterError
        If `positive` isn't a value of the column.
    """
    ours, theirs = column_of(members, column), column_of(non_members, column)
    values = np.concatenate([ours, theirs])
    codes, there = factorised(values)
    if values.dtype.kind in "iuf" and len(there) > bins:
        found = theirs[np.isfinite(theirs)].astype(float)
        cuts = np.unique(np.quantile(found, np.arange(1, bins) / bins)) if len(found) else [0.0]
        wanted = _binned(np.asarray([positive], float), cuts)[0] if positive is not None else -1
        numbered = _binned(values.astype(float), cuts)
        used, codes = np.unique(numbered, return_inverse=True)
        middles = [np.median(values[codes.ravel() == each]) for each in range(len(used))]
        there = np.asarray(middles).astype(values.dtype)
        places = np.flatnonzero(used == wanted)
    else:
        places = np.flatnonzero(there == positive)
    if len(there) < 2:
        raise DataError(f"Column {column!r} has one value only: there is nothing to infer.")
    if positive is not None and not len(places):
        raise ParameterError(f"The 'positive' parameter is no value of column {column!r}.")
    return Secret(
        column=column,
        members=codes.ravel()[: len(ours)].astype(np.int64),
        non_members=codes.ravel()[len(ours) :].astype(np.int64),
        candidates=there,
        positive=int(places[0]) if positive is not None else -1,
    )


def factorised(values: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return a number for each value, the same for equal ones, and the values by number."""
    keys = values.astype(str) if values.dtype.kind == "O" else values
    _, first, codes = np.unique(keys, return_index=True, return_inverse=True)
    return codes.ravel().astype(np.int64), values[first]


def _binned(values: NDArray[np.float64], cuts: Any) -> NDArray[np.int64]:  # noqa: ANN401 # numbers
    """Return the number of each value's bin; what is missing has a bin of its own."""
    return np.where(np.isnan(values), -1, np.searchsorted(cuts, values, side="right"))
