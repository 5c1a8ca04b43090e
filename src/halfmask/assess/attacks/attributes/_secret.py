"""The column that is to be inferred: its values as numbers, and what an attacker would try."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError, ParameterError
from halfmask.assess.attacks.attributes._rows import column_of
from halfmask.data.arrays import is_missing

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SecretColumn:
    """A column's values as numbers."""

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
) -> SecretColumn:
    """Give each value a number; numbers of more values than `bins` are cut at quantiles.

    What is missing has a number of its own, whatever stands for it.
    """
    ours, theirs = column_of(members, column), column_of(non_members, column)
    values = np.concatenate([ours, theirs])
    codes, there = factorised(values)
    if values.dtype.kind in "iuf" and len(there) > bins:
        origin = origin_of(values)
        numbers = numbers_apart(values, origin)
        found = numbers[len(ours) :][np.isfinite(theirs)]
        cuts = np.unique(np.quantile(found, np.arange(1, bins) / bins)) if len(found) else [0.0]
        used, codes = np.unique(_binned(numbers, cuts), return_inverse=True)
        middles = [np.median(numbers[codes.ravel() == each]) for each in range(len(used))]
        there = np.array([int(it) + origin if origin else it for it in middles], values.dtype)
        places = np.flatnonzero(used == _bin_of(positive, cuts, origin))
    else:
        places = np.flatnonzero(_same(there, positive))
    if len(there) < 2:
        raise DataError(f"Column {column!r} has one value only: there is nothing to infer.")
    if positive is not None and not len(places):
        raise ParameterError(f"The 'positive' parameter is no value of column {column!r}.")
    return SecretColumn(
        column=column,
        members=codes.ravel()[: len(ours)].astype(np.int64),
        non_members=codes.ravel()[len(ours) :].astype(np.int64),
        candidates=there,
        positive=int(places[0]) if positive is not None else -1,
    )


def factorised(values: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return a number for each value, the same for equal ones, and the values by number.

    What is missing among objects comes last; a text that reads like it is another value.
    """
    if values.dtype.kind != "O":
        _, first, codes = np.unique(values, return_index=True, return_inverse=True)
        return codes.ravel().astype(np.int64), values[first]
    gone = np.fromiter(map(is_missing, values), dtype=np.bool_, count=len(values))
    present = values[~gone]
    _, first, numbered = np.unique(present.astype(str), return_index=True, return_inverse=True)
    codes = np.full(len(values), len(first), dtype=np.int64)
    codes[~gone] = numbered.ravel()
    return codes, np.concatenate([present[first], values[gone][:1]])


def _same(values: NDArray[np.generic], wanted: Any) -> NDArray[np.bool_]:  # noqa: ANN401 # a value
    """Return which values are the one that is wanted; what is missing is none."""
    nothing = np.zeros(len(values), dtype=np.bool_)
    if not _is_value(wanted):
        return nothing
    if values.dtype.kind != "O":
        found = np.asarray(values == wanted)
        return found if found.shape == nothing.shape else nothing
    return np.array([not is_missing(each) and bool(each == wanted) for each in values])


def origin_of(values: NDArray[Any]) -> int:
    """Return where integers that floats don't hold are measured from, the least; else 0."""
    if values.dtype.kind not in "iu":
        return 0
    least, most = int(values.min()), int(values.max())
    return least if max(-least, most) > 2**53 else 0


def numbers_apart(values: NDArray[Any], origin: int) -> NDArray[np.float64]:
    """Return how far numbers are from an origin, which keeps their differences; 0: as they are."""
    if not origin:
        return values.astype(np.float64)
    # Differences of signed integers may be larger than these.
    return (values.astype(np.uint64) - np.uint64(origin % 2**64)).astype(np.float64)


def _bin_of(wanted: Any, cuts: Any, origin: int) -> int:  # noqa: ANN401 # a value, and numbers
    """Return the number of a value's bin; one that no bin has, if it is no number."""
    try:
        if origin:
            wanted = (int(wanted) if isinstance(wanted, Integral) else float(wanted)) - origin
        number = np.array([wanted if _is_value(wanted) else "none"], dtype=np.float64)
    except (TypeError, ValueError):
        return -2
    return int(_binned(number, cuts)[0])


def _is_value(wanted: object) -> bool:
    return not is_missing(wanted) and not isinstance(wanted, list | tuple | np.ndarray)


def _binned(values: NDArray[np.float64], cuts: Any) -> NDArray[np.int64]:  # noqa: ANN401 # numbers
    """Return the number of each value's bin; what is missing has a bin of its own."""
    return np.where(np.isnan(values), -1, np.searchsorted(cuts, values, side="right"))
