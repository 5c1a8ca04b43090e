"""Retraining models that answer in steps: the partition, points and labels that teach most."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError
from halfmask.anonymize.training._coarser import coarse_boxes, coarser, scattered
from halfmask.anonymize.training._exchanged import exchanged
from halfmask.anonymize.training._representatives import REPRESENTATIVES
from halfmask.anonymize.training._retraining import Retrained
from halfmask.anonymize.training._stepwise import all_or_nothing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize.training._retraining import Classes

__all__ = ["retrain_in_steps"]

#: Points between the rows teach nothing here: what consists of values that occur is tried.
TRIED = ("box", "typical", "median", "record")
#: What a group of classes must take away of the guide's spread, to be told from others.
PRICES = (0.03, 0.01, 0.003, 0.001)
#: The price of groups whose other columns are scattered, and in how many lots they are.
SCATTERED_PRICE = 0.01
LOTS = (15, 40)
#: A model of all rows that scores so much less on them than models of halves on others is unlucky.
UNLUCKY = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """What a model could learn of a partition: points, and labels beside them.

    Parameters
    ----------
    name
        How it is called.
    classes
        The partition.
    points
        The points, (classes, columns).
    labels
        The labels, (rows,).
    score
        Accuracy or R² of rows as they were, of which the model didn't learn where it could know
        them by heart.
    by_heart
        How much more it scores on rows that it learned from; 0 where it can't tell rows of a class
        apart.
    """

    name: str
    classes: Classes
    points: NDArray[np.float64] = field(repr=False)
    labels: NDArray[Any] = field(repr=False)
    score: float = -np.inf
    by_heart: float = 0.0


def retrain_in_steps(tried: Sequence[Classes], *, by_heart: float, seed: int) -> Retrained:
    """Train on the partition, points and labels of which a model learns most but its rows.

    Parameters
    ----------
    tried
        The partitions.
    by_heart
        What is taken off a score for each point that a model scores more on rows that it learned.
    seed
        What scattered values are drawn from.

    Notes
    -----
    Where columns that aren't recoded reach the model it knows its rows by them. Then each lesson is
    given to two models of one half of the rows each; what they score on the other half counts, less
    ``by_heart`` times what they score more on their own.

    A lone tree that is grown to the end loses more by what is scattered than it hides: where nobody
    votes, a row that goes astray is a wrong answer. For such nothing is scattered.
    """
    judge = tried[0].judge
    alone = all_or_nothing(judge.estimator, judge.encoded, judge.labels, seed=seed)
    scatter = by_heart > 0 and not alone
    lessons = [each for classes in tried for each in _lessons(classes, seed, scatter=scatter)]
    judged = [_judged(each) for each in lessons]
    won, model = _trained(_in_order(judged, by_heart))
    return Retrained(
        classes=won.classes,
        model=model,
        points=won.points,
        name=won.name,
        trials={_told(each, won): each.score for each in judged},
    )


def _in_order(judged: list[Lesson], by_heart: float) -> list[Lesson]:
    """Return the best first, by their scores less what knowing rows by heart costs."""

    def worth(lesson: Lesson) -> float:
        known = max(lesson.by_heart, 0.0)
        return lesson.score - (by_heart * known if known else 0.0)

    return sorted(judged, key=worth, reverse=True)


def _trained(lessons: list[Lesson]) -> tuple[Lesson, Any]:
    """Return the first whose model of all rows isn't an unlucky one, and the model.

    Single trees vary with every row. One that knows its own rows worse than models of halves know
    others will do no better on people whom it never saw.
    """
    first: tuple[Lesson, Any] | None = None
    for lesson in lessons:
        judge, classes = lesson.classes.judge, lesson.classes.rows.classes
        model = judge.trained(lesson.points, classes, lesson.labels)
        losses = judge.losses(model, np.arange(len(classes)))
        if judge.score(float(losses.mean())) >= lesson.score - UNLUCKY:
            return lesson, model
        first = first or (lesson, model)
    if first is None:
        raise DataError("There is nothing to train a model on.")
    return first


def _told(lesson: Lesson, won: Lesson) -> str:
    beside = lesson.classes.name != won.classes.name
    return f"{lesson.name}, {lesson.classes.name}" if beside else lesson.name


def _lessons(classes: Classes, seed: int, *, scatter: bool) -> list[Lesson]:
    """Return what is tried of a partition; what comes out the same once."""
    found: dict[bytes, Lesson] = {}
    for name, points, labels in _points_and_labels(classes, seed, scatter=scatter):
        lesson = Lesson(name=name, classes=classes, points=points, labels=labels)
        found.setdefault(points.tobytes() + labels.tobytes(), lesson)
    return list(found.values())


def _points_and_labels(
    classes: Classes, seed: int, *, scatter: bool
) -> Iterator[tuple[str, NDArray[np.float64], NDArray[Any]]]:
    rows, labels = classes.rows, classes.judge.labels
    for name in TRIED:
        yield name, REPRESENTATIVES[name](rows), labels
    for price in PRICES:
        groups = coarser(classes.anonymizer.plan_.partition, rows.classes, classes.led, price=price)
        if groups is not None:
            yield f"box of {len(groups.cut)} groups", coarse_boxes(rows, groups), labels
            if scatter and price == SCATTERED_PRICE and rows.others.size:
                others = exchanged(labels, rows.classes, rows.guide)
                for lots in LOTS:
                    points = scattered(rows, groups, lots=lots, seed=seed)
                    yield f"scattered in {lots} lots", points, labels
                    yield f"scattered in {lots} lots, labels exchanged", points, others


def _judged(lesson: Lesson) -> Lesson:
    judge, classes = lesson.classes.judge, lesson.classes.rows.classes
    score, by_heart = judge.known_and_unknown(lesson.points, classes, lesson.labels)
    return replace(
        lesson,
        score=score if np.isfinite(score) else -np.inf,
        by_heart=by_heart if np.isfinite(by_heart) else np.inf,
    )
