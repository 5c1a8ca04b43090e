"""Which point represents a class: a named one, or that of which a model learns most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask._errors import ParameterError
from halfmask.training._linear_view import LinearView, unconfounded
from halfmask.training._points import (
    boxes,
    centroids,
    medians,
    nearest_predictions,
    records,
    typical,
)
from halfmask.training._spread import spread

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from halfmask.training._points import ClassRows

__all__ = ["CHOSEN", "REPRESENTATIVES", "representative_named"]

#: The name under which points are refined and the best are chosen.
CHOSEN = "chosen"
#: How much of what goes along with the prediction is taken from a mean.
STRENGTH = 0.5

#: What may represent a class, by name.
REPRESENTATIVES: dict[str, Callable[[ClassRows], NDArray[np.float64]]] = {
    "centroid": centroids,
    "typical": typical,
    "box": boxes,
    "median": medians,
    "spread": spread,
    "record": records,
    "nearest-prediction": nearest_predictions,
    "unconfounded": lambda rows: unconfounded(rows, LinearView.known(rows), strength=STRENGTH),
}


def representative_named(name: str) -> str:
    """Return the name of a representative, if it is one, or ``CHOSEN``.

    Raises
    ------
    ParameterError
        If it isn't.
    """
    if name != CHOSEN and name not in REPRESENTATIVES:
        raise ParameterError(
            "The 'representative' parameter must be one of "
            f"{sorted([*REPRESENTATIVES, CHOSEN])}. Got {name!r} instead."
        )
    return name
