"""Which point represents a class: a named one, or that of which a model learns most."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from halfmask._errors import ParameterError
from halfmask.anonymize.training._points import (
    ClassRows,
    centroids,
    nearest_predictions,
    records,
    unconfounded,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["CANDIDATES", "CHOSEN", "REPRESENTATIVES", "points_of"]

#: The name under which the best of several is chosen.
CHOSEN = "chosen"

#: What may represent a class, by name.
REPRESENTATIVES: dict[str, Callable[[ClassRows], NDArray[np.float64]]] = {
    "centroid": centroids,
    "record": records,
    "nearest-prediction": nearest_predictions,
    "unconfounded-0.25": partial(unconfounded, strength=0.25),
    "unconfounded-0.5": partial(unconfounded, strength=0.5),
    "unconfounded-0.75": partial(unconfounded, strength=0.75),
}

#: Those that are tried where the best is chosen: no somebody's row among them.
CANDIDATES = ("centroid", "unconfounded-0.25", "unconfounded-0.5", "unconfounded-0.75")


def points_of(name: str, rows: ClassRows) -> NDArray[np.float64]:
    """Return the point of each class.

    Raises
    ------
    ParameterError
        If nothing has the name.
    """
    if name not in REPRESENTATIVES:
        raise ParameterError(
            "The 'representative' parameter must be one of "
            f"{sorted([*REPRESENTATIVES, CHOSEN])}. Got {name!r} instead."
        )
    return REPRESENTATIVES[name](rows)
