"""Retraining: which partition and which points a model learns most from, and the model itself."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from halfmask.anonymize.training._guides import comparable
from halfmask.anonymize.training._linear_view import LinearView
from halfmask.anonymize.training._points import ClassRows
from halfmask.anonymize.training._recount import has_majority_label
from halfmask.anonymize.training._refining import Answers, refined
from halfmask.anonymize.training._representatives import CHOSEN, REPRESENTATIVES
from halfmask.anonymize.training._trials import Judge, Trial, best_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize import Anonymizer
    from halfmask.anonymize.training._encoding import Encoding
    from halfmask.anonymize.training._guidance import Guidance
    from halfmask.anonymize.training._partitions import Led

__all__ = ["Classes", "Retrained", "retrain"]

#: What is tried of the first partition; of the others, where the moving starts, and what did best.
TRIED = ("unconfounded", "centroid", "box", "typical")
#: Where the moving starts.
MOVED = ("unconfounded", "centroid")
#: Points that score so much less than the best so far aren't refined.
HOPELESS = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """A partition of the rows, as the model would see them.

    Parameters
    ----------
    name
        What the partition is called.
    anonymizer
        Its fitted anonymizer.
    rows
        The rows that aren't suppressed and their classes.
    judge
        Judges points of them.
    led
        What led the classes.
    kept
        Which rows of all aren't suppressed.
    """

    name: str
    anonymizer: Anonymizer
    rows: ClassRows
    judge: Judge
    led: Led
    kept: NDArray[np.bool_] = field(repr=False)

    @classmethod
    def of(  # what a partition is made of
        cls,
        anonymizer: Anonymizer,
        *,
        led: Led,
        estimator: Any,  # noqa: ANN401 # scikit-learn ships no types
        encoding: Encoding,
        encoded: NDArray[np.float64],
        labels: NDArray[Any],
        guidance: Guidance,
        seed: int,
    ) -> Classes:
        """Take the rows that a fitted anonymizer keeps."""
        cells = anonymizer.cells_.astype(np.int64)
        kept = cells >= 0
        encoded, labels, cells = encoded[kept], labels[kept], cells[kept]
        depends, shares = encoding.depends_, bool(is_classifier(estimator))
        parts, cut = tuple(encoding.parts_), anonymizer.plan_.partition.features_cut()
        if led.by_encoding:
            parts = tuple(np.arange(cut.shape[1])[:, None])
        else:
            parted = list(anonymizer.plan_.quasi_identifiers)
            cut = cut[:, [parted.index(name) for name in encoding.quasi_identifiers]]
        rows = ClassRows(
            encoded=encoded[:, depends],
            others=encoded[:, ~depends],
            classes=cells,
            guide=guidance.said[kept],
            majority=has_majority_label(labels if shares else None, cells),
            shares=shares,
            parts=parts,
            cut=cut,
        )
        judge = Judge(
            estimator=estimator,
            encoded=encoded,
            labels=labels,
            depends=depends,
            guarantees=anonymizer.guarantees,
            seed=seed,
            as_they_are=guidance.as_they_are,
        )
        return cls(name=led.name, anonymizer=anonymizer, rows=rows, judge=judge, led=led, kept=kept)

    @property
    def guide(self) -> NDArray[np.float64]:
        """What led the classes, (rows, outputs)."""
        return self.led.guide[self.kept]

    def trial(self, name: str, points: NDArray[np.float64], model: Any = None) -> Trial:  # noqa: ANN401
        """Judge points."""
        return self.judge.trial(name, points, self.rows.classes, model)

    def represented(self, name: str) -> Trial:
        """Judge a representative."""
        return self.trial(name, REPRESENTATIVES[name](self.rows))

    def trained(self, points: NDArray[np.float64]) -> Answers:
        """Return a model of points and its answers."""
        return self.answers(self.judge.trained(points, self.rows.classes))

    def answers(self, model: Any) -> Answers:  # noqa: ANN401 # the same
        """Return a model, its score on rows as they were, and what it says of them."""
        losses = self.judge.losses(model, np.arange(len(self.rows.classes)))
        said = comparable(model, self.judge.encoded)
        return model, self.judge.score(float(losses.mean())), said


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
