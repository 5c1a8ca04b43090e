"""What is declared and never taken from the data: labels, and bounds of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


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
