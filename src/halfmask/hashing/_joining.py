"""Joining hashed rows that came in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import ParameterError
from halfmask.hashing._rows import HashedRows

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["joined"]


def joined(parts: Sequence[HashedRows]) -> HashedRows:
    """Return the rows of all parts, in order; see `HashedRows.concat`."""
    if not parts:
        raise ParameterError("HashedRows.concat needs at least one part.")
    first = parts[0]
    if any(part.form() != first.form() for part in parts):
        raise ParameterError(
            "Hashed rows of different bits, labels, values or weights can't be joined."
        )
    if first.width is not None and all(part.width == first.width for part in parts):
        found = _stacked(parts, "indices", "values")
    else:
        found = _chained(parts)
    return HashedRows(
        bits=first.bits, classes=first.classes, **found, **_stacked(parts, "labels", "weights")
    )


def _stacked(parts: Sequence[HashedRows], *names: str) -> dict[str, Any]:
    return {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in names
        if getattr(parts[0], name) is not None
    }


def _chained(parts: Sequence[HashedRows]) -> dict[str, Any]:
    """Return the features in the flat layout: each part's offsets go on where the last ended."""
    bounds, indices, values = zip(*(part.flat() for part in parts), strict=True)
    ends = np.cumsum([len(each) for each in indices])
    found: dict[str, Any] = {
        "indptr": np.concatenate(
            [bounds[0], *(b[1:] + end for b, end in zip(bounds[1:], ends[:-1], strict=True))]
        ),
        "indices": np.concatenate(indices),
    }
    if values[0] is not None:
        found["values"] = np.concatenate(values)
    return found
