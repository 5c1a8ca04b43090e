"""Which point represents a class: a named one, or that of which a model learns most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halfmask._errors import ParameterError
from halfmask.anonymize.training._linear_view import LinearView, unconfounded
from halfmask.anonymize.training._points import (
    boxes,
    centroids,
    nearest_predictions,
    records,
    typical,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from halfmask.anonymize.training._points import ClassRows

__all__ = ["CHOSEN", "MOVED", "REPRESENTATIVES", "candidates"]

#: The name under which points are refined and the best are chosen.
CHOSEN = "chosen"
#: Where the moving starts.
MOVED = ("unconfounded",)
#: How much of what goes along with the prediction is taken from a mean.
STRENGTH = 0.5
#: How much of what a class's predictions lack its point is moved by.
RATE = 0.7
#: Points farther from the rows than so many times their width aren't tried.
FARTHEST = 100.0

#: What may represent a class, by name.
REPRESENTATIVES: dict[str, Callable[[ClassRows], NDArray[np.float64]]] = {
    "centroid": centroids,
    "typical": typical,
    "box": boxes,
    "record": records,
    "nearest-prediction": nearest_predictions,
    "unconfounded": lambda rows: unconfounded(rows, LinearView.of(rows), strength=STRENGTH),
}


def candidates(
    name: str,
    rows: ClassRows,
    retrained: Callable[[NDArray[np.float64]], NDArray[np.float64] | None],
    *,
    refinements: int,
) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield named points of each class; those that are asked for, or several to choose from.

    Parameters
    ----------
    name
        A representative, or ``CHOSEN``.
    rows
        The rows and their classes.
    retrained
        Trains a model on points and returns what it says of the rows *as they were*, (rows,
        outputs) as the guide says it; ``None`` if it can't be compared with the guide.
    refinements
        How often points are moved by what their classes lack.

    Notes
    -----
    A model trained on points errs on the rows as they were, and not alike on all: where it says
    less of a class's rows than the guide does on average, the class's point is moved down the
    guide's slope, so that the same labels, further down, lift what the model says there; and up
    where it says more. That the labels stay those of the rows keeps the model honest.
    """
    if name != CHOSEN:
        yield name, _named(name)(rows)
        return
    yield "centroid", centroids(rows)
    for each in ("typical", "box", "record"):
        yield each, REPRESENTATIVES[each](rows)
    view = LinearView.of(rows)
    points = unconfounded(rows, view, strength=STRENGTH)
    if not _near(points, rows):
        return
    yield "unconfounded", points
    target = rows.means(view.score(rows.guide))[:, view.outputs]
    for number in range(1, refinements + 1):
        said = retrained(points)
        if said is None or said.shape != rows.guide.shape:
            return
        lacking = target - rows.means(view.score(said))[:, view.outputs]
        points = points - view.moved(RATE * lacking)
        if not _near(points, rows):
            return
        yield f"refined {number} times", points


def _near(points: NDArray[np.float64], rows: ClassRows) -> bool:
    """Return whether no point ran away: a flat slope asks for steps without end."""
    low, high = rows.encoded.min(axis=0), rows.encoded.max(axis=0)
    reach = FARTHEST * float((high - low).max(initial=0.0)) + 1e-9
    return bool(((points >= low - reach) & (points <= high + reach)).all())


def _named(name: str) -> Any:  # noqa: ANN401 # one of the functions above
    if name not in REPRESENTATIVES:
        raise ParameterError(
            "The 'representative' parameter must be one of "
            f"{sorted([*REPRESENTATIVES, CHOSEN])}. Got {name!r} instead."
        )
    return REPRESENTATIVES[name]
