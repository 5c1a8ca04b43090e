"""Retraining: which partition and which points a model learns most from, and the model itself."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from halfmask.training._linear_view import LinearView
from halfmask.training._refining import refined
from halfmask.training._representatives import CHOSEN, REPRESENTATIVES
from halfmask.training._trials import Trial, best_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from halfmask.training._classes import Classes


__all__ = ["Retrained", "retrain"]

#: What is tried of the first partition; of the others, where the moving starts, and what did best.
TRIED = ("unconfounded", "centroid", "box", "typical")
#: Where the moving starts.
MOVED = ("unconfounded", "centroid")
#: Points that score so much less than the best so far aren't refined.
HOPELESS = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrained:
    """The model of the points that won.

    Parameters
    ----------
    classes
        The partition.
    model
        Trained on all rows, written by their classes' points.
    points
        Those points, (classes, columns), or several of each class, (points, classes, columns).
    labels
        The labels that it was given, (rows,).
    name
        What the points are called.
    trials
        The score of each that was tried.
    """

    classes: Classes
    model: Any
    points: NDArray[np.float64] = field(repr=False)
    labels: NDArray[Any] = field(repr=False)
    name: str
    trials: dict[str, float]


def retrain(tried: Sequence[Classes], representative: str, *, steps: int) -> Retrained:
    """Train on the partition and the points that are named, or on those that win.

    Parameters
    ----------
    tried
        The partitions; only the first is used with a representative that is named.
    representative
        One of the representatives, or ``CHOSEN``.
    steps
        How often points are moved.
    """
    if representative != CHOSEN:
        return _named(tried[0], representative)
    tried = _sharing_views(tried)
    first = [tried[0].represented(name) for name in TRIED]
    kinds = {MOVED[0], min(first[1:], key=lambda trial: trial.loss).name}
    screened = {tried[0].name: first} | {
        classes.name: [classes.represented(name) for name in TRIED if name in kinds]
        for classes in tried[1:]
    }
    # Other rows may be suppressed in each partition: mean losses are compared, not rows.
    best = min(tried, key=lambda classes: min(trial.loss for trial in screened[classes.name]))
    trials = screened.pop(best.name)
    there = {trial.name for trial in trials}
    trials += [best.represented(name) for name in TRIED if name not in there]
    trials += _moved(best, trials, steps=steps)
    trials = best.judge.with_gaps(trials, best.rows.classes)
    won = best_of(trials)
    return Retrained(
        classes=best,
        model=won.model,
        points=won.points,
        labels=best.judge.labels,
        name=won.name,
        trials=_scores(trials, screened),
    )


def _sharing_views(tried: Sequence[Classes]) -> list[Classes]:
    """Return partitions that find the linear view of the same rows once."""
    views: dict[bytes, list[LinearView]] = {}
    return [
        replace(each, rows=replace(each.rows, views=views.setdefault(each.kept.tobytes(), [])))
        for each in tried
    ]


def _scores(trials: list[Trial], beside: dict[str, list[Trial]]) -> dict[str, float]:
    scores = {trial.name: trial.score for trial in trials}
    for led_by, others in beside.items():
        scores |= {f"{trial.name}, {led_by}": trial.score for trial in others}
    return scores


def _named(classes: Classes, representative: str) -> Retrained:
    points = REPRESENTATIVES[representative](classes.rows)
    model, score, _ = classes.trained(points)
    return Retrained(
        classes=classes,
        model=model,
        points=points,
        labels=classes.judge.labels,
        name=representative,
        trials={representative: score},
    )


def _moved(classes: Classes, trials: Sequence[Trial], *, steps: int) -> list[Trial]:
    """Refine, unless this kind of model doesn't learn from such points."""
    best = max(trial.score for trial in trials)
    starts = [trial for trial in trials if trial.name in MOVED and trial.score >= best - HOPELESS]
    found = []
    for number, start in enumerate(starts):
        moved = refined(
            start.points,
            classes.rows,
            LinearView.known(classes.rows),
            first=classes.answers(start.model),
            trained=classes.trained,
            steps=(steps + number) // len(starts),
        )
        if moved is not None:
            name = f"{start.name} refined {moved.steps} times"
            found.append(classes.trial(name, moved.points, moved.model))
    return found
