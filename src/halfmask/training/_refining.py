"""Refining: points are moved by what a model that was retrained on them lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from halfmask.training._linear_view import LinearView
    from halfmask.training._points import ClassRows

__all__ = ["Answers", "Refined", "refined"]

#: A model, its score on the rows as they were, and what it says of them, (rows, outputs), as the
#: guide says it; ``None`` if that can't be compared.
Answers: TypeAlias = "tuple[Any, float, NDArray[np.float64] | None]"

#: How much of what a class's predictions lack its point is moved by at first.
RATE = 0.7
#: What the rate is multiplied by after a step that helped, and after one that didn't.
LONGER, SHORTER = 1.2, 0.5
#: After so many moves that together raised the score by less than this, no more are tried: class
#: means that say what the guide says gain most by their first, others hardly ever gain at all.
FIRST_MOVES = 2
LEAST_RISE = 0.001
#: Points farther from the rows than so many times their width aren't tried.
FARTHEST = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined:
    """The best points on the way, and the model that was trained on them.

    Parameters
    ----------
    points
        The points, (classes, columns).
    model
        The model of all rows written by them.
    score
        Its score on the rows as they were.
    steps
        After how many moves they were reached.
    """

    points: NDArray[np.float64]
    model: Any
    score: float
    steps: int

    def __repr__(self) -> str:
        return f"Refined({self.steps} steps, score={self.score:.4f})"


def refined(
    start: NDArray[np.float64],
    rows: ClassRows,
    view: LinearView,
    *,
    first: Answers,
    trained: Callable[[NDArray[np.float64]], Answers],
    steps: int,
) -> Refined | None:
    """Move points until a model trained on them says of each class what the guide says.

    Parameters
    ----------
    start
        Where the points are at first, (classes, columns).
    rows, view
        The rows, and how their columns move the guide's score.
    first
        The model of those and its answers.
    trained
        Returns the same of other points.
    steps
        How many moves are tried at most; each costs a training. Where the first two hardly help,
        there are no more.

    Returns
    -------
    What was best; ``None`` if no move helped.

    Notes
    -----
    A model trained on points errs on the rows as they were, and not alike on all: where it says
    less of a class's rows than the guide does on average, the class's point is moved down the
    guide's slope, so that the same labels, further down, lift what the model says there; and up
    where it says more. A step that doesn't raise the score is taken back and halved. That the
    labels stay those of the rows keeps the model honest.
    """
    target = rows.means(view.score(rows.guide))[:, view.outputs]
    model, score, lacking = first
    best = Refined(points=start, model=model, score=score, steps=0)
    rate = RATE
    for step in range(1, steps + 1):
        if lacking is None or lacking.shape != rows.guide.shape:
            break
        moves = view.moved(target - rows.means(view.score(lacking))[:, view.outputs])
        points = best.points - rate * moves
        if not _near(points, rows):
            break
        model, score, said = trained(points)
        if score > best.score:
            best, lacking = Refined(points=points, model=model, score=score, steps=step), said
            rate *= LONGER
        else:
            rate *= SHORTER
        if step == FIRST_MOVES and best.score < first[1] + LEAST_RISE:
            break
    return best if best.steps else None


def _near(points: NDArray[np.float64], rows: ClassRows) -> bool:
    """Return whether no point ran away: a flat slope asks for steps without end."""
    low, high = rows.encoded.min(axis=0), rows.encoded.max(axis=0)
    reach = FARTHEST * float((high - low).max(initial=0.0)) + 1e-9
    return bool(((points >= low - reach) & (points <= high + reach)).all())
