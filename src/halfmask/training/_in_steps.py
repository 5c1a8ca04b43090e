"""Retraining models that answer in steps: the partition, points and labels that teach most."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from halfmask._errors import DataError
from halfmask.training._exchanged import exchanged
from halfmask.training._lessons import distinct, lessons_of
from halfmask.training._parts import (
    Pairs,
    guides_of_parts,
    known_as_they_are,
    parts_of,
)
from halfmask.training._retraining import Retrained
from halfmask.training._stepwise import all_or_nothing
from halfmask.training._strangers import teaches_strangers_more

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from halfmask.training._classes import Classes
    from halfmask.training._lessons import Lesson

__all__ = ["retrain_in_steps"]

#: Of so many rows and more all lessons are first given to a model of one part of them, which is
#: asked about some of the other parts, and the best few to models of halves.
MANY = 8_000
PARTS = 5
ASKED = 3
BEST = 5
#: The same of a classifier's lone tree, grown to the end, that sees other columns, too, and where
#: rows are hidden: lessons differ more there, and models of a part of the rows say less of them.
BEST_OF_MORE = 8
#: Where they are two kinds: how many more of several points.
BEST_OF_SEVERAL = 2
#: Of how many of the best the labels may be exchanged, too.
EXCHANGED = 2
#: What tells rows costs this share where nobody votes, as in a lone tree, which loses more by what
#: hides; and of numbers, of which no attack here measures what is told.
UNVOTED = 0.3
#: Where models of half the rows tell less of theirs, whether as they are or of what teaches most,
#: nothing is done to hide them.
QUIET = 0.1


def retrain_in_steps(
    tried: Sequence[Classes], *, by_heart: float, exchange: bool, seed: int
) -> Retrained:
    """Train on the partition, points and labels of which a model learns most but its rows.

    Parameters
    ----------
    tried
        The partitions.
    by_heart
        What is taken off a score for each point by which learned rows are told from others, beyond
        what is free.
    exchange
        Whether labels may be exchanged by what the guide says: it must not have learned the rows.
    seed
        What scattered values are drawn from.

    Notes
    -----
    Where columns that aren't recoded reach the model it knows its rows by them. Then each lesson is
    given to two models of one half of the rows each; what they score on the other half counts, less
    ``by_heart`` times what an attack that asks how sure they are tells of their own beyond three
    hundredths; of those who vote about labels, by a threshold for each, beyond .0475. Of many rows
    the best few are found first, by models of a fifth of them. Models of all rows then learn the
    best: what they score on these, less what models of halves know theirs better, counts as much as
    what those score. Scores are of rows that a model didn't learn; its classes and points were made
    of all rows and labels, which favours those led by labels a little.

    Labels are exchanged in those of the best two that tell more than is free and aren't scattered.

    A lone tree that is grown to the end loses more by what is scattered than it hides: where nobody
    votes, a row that goes astray is a wrong answer. For such nothing is scattered, and what tells
    its rows costs three tenths; so it does of regressors. Where models of halves tell less than a
    tenth both of rows as they are and of what teaches most, as boosting mostly does, nothing is
    scattered or exchanged, .06 by one threshold is free, and classes of several points are tried:
    models that know rows by other columns would know them better for having learned them several
    times. Where all columns are recoded models are judged by the rows that they learned, and
    several points have to teach more of strangers, too.
    """
    judge = tried[0].judge
    alone = all_or_nothing(judge.estimator, judge.encoded, judge.labels, seed=seed)
    voted = is_classifier(judge.estimator) and not alone
    cost = by_heart if voted else by_heart * UNVOTED

    def judged_most(*, hide: bool) -> int:
        return BEST_OF_MORE if hide or (alone and not judge.sees_classes_only) else BEST

    def found(*, hide: bool) -> list[Lesson]:
        best = judged_most(hide=hide)
        several = (
            lessons_of(
                classes,
                seed,
                scatter=hide and not alone,
                quiet=not hide,
                each_label=hide and voted,
            )
            for classes in tried
        )
        found = _judged(_likeliest(distinct(chain.from_iterable(several)), cost, best=best))
        return _without_pretence(found, cost, seed=seed) if judge.sees_classes_only else found

    hide = by_heart > 0 and _tells(tried[0])
    judged = found(hide=hide)
    if by_heart > 0 and not hide and _in_order(judged, cost)[0].by_heart > QUIET:
        hide = True
        judged = found(hide=True)
    if exchange and hide:
        judged += _judged(list(_exchanged(_in_order(judged, cost)[:EXCHANGED])))
    won, model = _trained(_in_order(judged, cost), cost, asked=judged_most(hide=hide) + EXCHANGED)
    return Retrained(
        classes=won.classes,
        model=model,
        points=won.points,
        labels=won.labels,
        name=won.name,
        trials={_told(each, won): each.score for each in judged},
    )


def _in_order(judged: list[Lesson], by_heart: float) -> list[Lesson]:
    """Return the best first, by scores less what telling rows costs; of equals who tell least."""
    return sorted(judged, key=lambda each: (-each.worth(by_heart), each.told))


def _trained(lessons: list[Lesson], by_heart: float, *, asked: int) -> tuple[Lesson, Any]:
    """Return the best of lessons by what models of all rows know, too, and its model.

    Models of halves learn half as much as the one that is given away, and what each makes of its
    lesson varies with every row, most of all single trees and boosting: so those of the best few
    lessons are asked themselves. Where models know their classes alone they have been asked
    already.
    """
    best, model = lessons[0], None
    if not best.classes.judge.sees_classes_only:
        known = [each for each in lessons[:asked] if np.isfinite(each.score)]
        for lesson in known:
            told, of_all = _asked_in_full(lesson)
            if of_all is None:
                continue
            if model is None or told.worth(by_heart) > best.worth(by_heart):
                best, model = told, of_all
        if known and model is None:
            best = next((each for each in lessons if not each.is_of_several), best)
    return best, _of_all_rows(best) if model is None else model


def _asked_in_full(lesson: Lesson) -> tuple[Lesson, Any]:
    """Return it with what a model of all rows scores on them, and the model.

    ``None`` for one that can't learn each row several times: it may take so many rows only. Of
    one point there are no more than people, and what fails there is an error.
    """
    judge = lesson.classes.judge
    try:
        model = _of_all_rows(lesson)
    except DataError:
        if lesson.is_of_several:
            return lesson, None
        raise
    losses = judge.losses(model, np.arange(len(judge.labels)))
    own = judge.score(float(losses.mean()))
    return replace(lesson, own=own if np.isfinite(own) else -np.inf), model


def _of_all_rows(lesson: Lesson) -> Any:  # noqa: ANN401 # scikit-learn ships no types
    classes = lesson.classes
    return classes.judge.trained(lesson.points, classes.rows.classes, lesson.labels)


def _told(lesson: Lesson, won: Lesson) -> str:
    beside = lesson.classes.name != won.classes.name
    return f"{lesson.name}, {lesson.classes.name}" if beside else lesson.name


def _likeliest(lessons: list[Lesson], by_heart: float, *, best: int) -> list[Lesson]:
    """Return the few that a model of a part of the rows learns most from; all of few rows."""
    judge = lessons[0].classes.judge
    if len(judge.labels) < MANY or len(lessons) <= best:
        return lessons
    found = []
    for each in lessons:
        learned, *others = parts_of(each.classes.judge, PARTS)
        asked = np.concatenate(others[:ASKED])
        found.append(each.judged([(learned, asked)], lighter=True))
    ordered = _in_order(found, by_heart)
    if not np.isfinite(ordered[0].score):
        return lessons
    if not judge.sees_classes_only:
        return ordered[:best]
    several = [each for each in ordered if each.is_of_several]
    return [each for each in ordered if not each.is_of_several][:best] + several[:BEST_OF_SEVERAL]


def _without_pretence(judged: list[Lesson], by_heart: float, *, seed: int) -> list[Lesson]:
    """Return lessons without those of several points, unless the best of them is no pretence."""
    ordered = _in_order(judged, by_heart)
    of_one = [each for each in ordered if not each.is_of_several]
    if not (ordered[0].is_of_several and of_one):
        return of_one or judged
    more = teaches_strangers_more(ordered[0], of_one[0], seed=seed)
    return [ordered[0], *of_one] if more else of_one


def _judged(lessons: list[Lesson]) -> list[Lesson]:
    return [each.judged(_pairs(each.classes)) for each in lessons]


def _pairs(classes: Classes) -> Pairs:
    """Return both halves to be learned in turn; all rows where none can be told in its class."""
    halves = _halves(classes)
    if halves is None:
        everyone = np.arange(len(classes.rows.classes))
        return [(everyone, everyone)]
    return [halves, halves[::-1]]


def _halves(classes: Classes) -> list[NDArray[np.int64]] | None:
    """Return halves of the rows where a model can tell rows of a class apart."""
    return None if classes.judge.sees_classes_only else parts_of(classes.judge, 2)


def _tells(classes: Classes) -> bool:
    """Return whether a model that isn't protected tells much of rows."""
    if _halves(classes) is None:
        return False
    judge = classes.judge
    find = partial(known_as_they_are, judge, pairs=_pairs(classes))
    return judge.as_they_are.once("known as they are", judge, find).by_heart > QUIET


def _exchanged(lessons: list[Lesson]) -> Iterator[Lesson]:
    """Yield lessons that tell too much with labels exchanged, where classes' rows can be told."""
    for each in lessons:
        if each.told <= each.free or each.is_scattered:
            continue  # what is told costs nothing; or exchanging hid nothing more, at a price
        judge, rows, labels = each.classes.judge, each.classes.rows, each.labels
        halves = _halves(each.classes)
        others = exchanged(labels, rows.classes, rows.guide)
        if halves is None or np.array_equal(others, labels):
            continue
        guide = judge.as_they_are.once(
            "guides of halves", judge, partial(guides_of_parts, judge, halves)
        )
        if guide is None:
            continue
        of_halves = labels.copy()
        for half in halves:
            of_halves[half] = exchanged(labels[half], rows.classes[half], guide[half])
        name = f"{each.name}, labels exchanged"
        yield replace(each, name=name, labels=others, of_halves=of_halves)
