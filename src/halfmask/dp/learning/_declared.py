"""What ``fit`` is given, within what was declared: persons, labels, bounds, and norms of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask._random import fresh_key, keyed_order

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def person_codes(groups: ArrayLike, n: int, *, owner: str) -> NDArray[np.int64]:
    """Return a number from 0 for the person of each row."""
    listed = np.asarray(groups)
    if listed.shape != (n,):
        raise DataError(
            f"The 'groups' parameter of {owner} must be a list with the person of each of {n} rows."
        )
    persons = listed.tolist()
    missing = sum(each is None or each != each for each in persons)  # noqa: PLR0124 # NaN
    missing += int(np.isnat(listed).sum()) if listed.dtype.kind in "mM" else 0
    if missing:
        raise DataError(
            f"The 'groups' parameter of {owner} names no person in {missing} rows.",
            hint="Leave these rows out, or give each of them a person of its own.",
        )
    seen: dict[object, int] = {}
    try:
        codes = [seen.setdefault(each, len(seen)) for each in persons]
    except TypeError:
        raise DataError(f"The 'groups' parameter of {owner} must be texts or numbers.") from None
    return np.array(codes, dtype=np.int64)


def one_row_each(persons: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of one row of each person, in the order of the rows.

    Guarantees
    ----------
    Each row of a person is chosen with the same probability, independently of all other persons,
    by the operating system's randomness.
    """
    order = keyed_order(len(persons), key=fresh_key())
    _, first = np.unique(persons[order], return_index=True)
    return np.sort(order[first]).astype(np.int64)


#: Against rounding of norms: rows end strictly within their bound.
_INSIDE = 1 - 1e-9


def within_norm(rows: NDArray[np.float64], norm: float) -> NDArray[np.float64]:
    """Return rows, those whose L2 norm is above a bound scaled down to it."""
    largest = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
    largest[largest == 0] = 1.0
    lengths = largest * np.linalg.norm(rows / largest, axis=1, keepdims=True)
    lengths[lengths == 0] = 1.0
    shorter: NDArray[np.float64] = rows * np.minimum(1.0, norm * _INSIDE / lengths)
    return shorter


def with_constant(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows with a column of ones in front, for the intercept."""
    return np.column_stack([np.ones(len(rows)), rows])


def scaled(
    rows: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return rows clipped to bounds a column, which become -1 and 1."""
    clipped = np.clip(rows, low, high)
    within: NDArray[np.float64] = np.clip((clipped - low) / (high - low) * 2 - 1, -1.0, 1.0)
    return within


def declared_bounds(
    bounds: tuple[ArrayLike, ArrayLike], columns: int, *, owner: str, name: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lowest and the highest value of each column."""
    try:
        low, high = (
            np.broadcast_to(np.asarray(each, dtype=np.float64), (columns,)) for each in bounds
        )
    except (TypeError, ValueError):
        low = high = np.zeros(columns)
    if not (np.isfinite(high - low) & (low < high)).all():
        raise ParameterError(
            f"The {name!r} parameter of {owner} must be a pair of finite numbers, or of lists of "
            f"{columns}, the first below the second.",
            hint="Declare bounds that you know without looking at the data.",
        )
    return low, high


def declared_classes(classes: Sequence[object], *, owner: str) -> NDArray[Any]:
    """Return declared labels in order, at least two."""
    listed = np.asarray(classes) if not isinstance(classes, str) else np.empty(0)
    ordered: NDArray[Any] = np.unique(listed) if listed.ndim == 1 else np.empty(0)
    if len(ordered) < 2 or len(ordered) != len(listed):
        raise ParameterError(
            f"The 'classes' parameter of {owner} must list at least two different labels.",
            hint="Labels aren't taken from the data: a rare one would reveal its row.",
        )
    return ordered


def codes_of(labels: NDArray[Any], classes: NDArray[Any], *, owner: str) -> NDArray[np.int64]:
    """Return the place of each label among the declared ones."""
    places = {each: code for code, each in enumerate(classes.tolist())}
    codes = np.array([places.get(each, -1) for each in labels.tolist()], dtype=np.int64)
    strange = int((codes < 0).sum())
    if strange:
        raise SchemaError(
            f"The labels of {strange} rows are not among the 'classes' of {owner}.",
            hint="Declare every label that can occur, or remove the rows.",
        )
    return codes
