"""Retraining models that answer in steps: the partition, points and labels that teach most."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from halfmask.anonymize.training._at_cuts import at_cuts
from halfmask.anonymize.training._coarser import coarse_boxes, coarser, scattered
from halfmask.anonymize.training._exchanged import exchanged
from halfmask.anonymize.training._parts import (
    Pairs,
    guides_of_parts,
    known_as_they_are,
    known_of_parts,
    parts_of,
    with_fewer,
)
from halfmask.anonymize.training._points import medians, where_cut
from halfmask.anonymize.training._representatives import REPRESENTATIVES
from halfmask.anonymize.training._retraining import Retrained
from halfmask.anonymize.training._several import POINTS, several_points
from halfmask.anonymize.training._spread import spread
from halfmask.anonymize.training._stepwise import all_or_nothing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize.training._retraining import Classes

__all__ = ["retrain_in_steps"]

#: What consists of values that occur, and means, which rows as they were seldom equal.
TRIED = ("median", "spread", "box", "typical", "centroid")
#: What a group of classes must take away of the guide's spread, to be told from others.
PRICES = (0.03, 0.01, 0.003, 0.001)
#: The price of groups whose other columns are scattered; how many classes share a lot, and how
#: many lots there are at most.
SCATTERED_PRICE = 0.01
SHARING = 3
LOTS = 40
#: Of so many rows and more all lessons are first given to a model of one part of them, which is
#: asked about some of the other parts, and the best few to models of halves.
MANY = 8_000
PARTS = 5
ASKED = 3
BEST = 5
#: Of how many of the best the labels are exchanged, too.
EXCHANGED = 2
#: What tells rows costs this share where nobody votes, as in a lone tree, which loses more by what
#: hides; and of numbers, of which no attack here measures what is told.
UNVOTED = 0.3
#: What models of a part of the rows tell up to here costs nothing. It is a choice: among a thousand
#: people so little isn't told from chance, among ten thousand it is.
FREE = 0.03
#: Where models of half the rows tell less of theirs, whether as they are or of what teaches most,
#: nothing is done to hide them.
QUIET = 0.1
#: What costs nothing there. It is a choice: an attack on such a model of halves is right in three
#: more of a hundred.
FREE_OF_QUIET = 0.06
#: A model of all rows should know them better than models of halves know others, by this share of
#: what those know theirs better: in single trials forests kept nearly all of that, boosting three
#: fifths to three quarters. One that scores so much less, and more than a standard error less, is
#: unlucky.
KEPT = 0.6
UNLUCKY = 0.005
#: Instead of an unlucky one so many of the next are tried, of those that are worth at most so much
#: less, and tell at most so much more than the unlucky one, free or not.
INSTEAD = 3
WORTH_LESS = 0.01
LOUDER = 0.01


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
        The points, (classes, columns), or several of each class, (points, classes, columns).
    labels
        The labels, (rows,).
    of_halves
        The labels that models of halves learn when it is judged, (rows,): what is done to a half's
        labels must know nothing of the other's.
    score, by_heart, gap
        What models know: see :class:`Known`.
    free
        How much of what they tell costs nothing.
    """

    name: str
    classes: Classes
    points: NDArray[np.float64] = field(repr=False)
    labels: NDArray[Any] = field(repr=False)
    of_halves: NDArray[Any] = field(repr=False)
    score: float = -np.inf
    by_heart: float = 1.0
    gap: float = 0.0
    free: float = FREE

    @property
    def expected(self) -> float:
        """What a model of all rows is likely to score on them, at least.

        Models of halves learn other labels where some are exchanged: then what they know of their
        own says nothing of it.
        """
        return self.score + (KEPT * self.gap if self.labels is self.of_halves else 0.0)

    def worth(self, by_heart: float) -> float:
        """Return the score less what telling rows costs, beyond what is free."""
        return self.score - by_heart * max(self.by_heart - self.free, 0.0)

    def judged(self, pairs: Pairs, *, lighter: bool = False) -> Lesson:
        """Return it with what models know that learn one part of the rows of each pair."""
        judge, classes = self.classes.judge, self.classes.rows.classes
        if lighter:
            judge = replace(judge, estimator=with_fewer(judge.estimator))
        known = known_of_parts(judge, self.points, classes, self.of_halves, pairs=pairs)
        return replace(self, score=known.score, by_heart=known.by_heart, gap=known.gap)


def retrain_in_steps(
    tried: Sequence[Classes], *, by_heart: float, exchange: bool, seed: int
) -> Retrained:
    """Train on the partition, points and labels of which a model learns most but its rows.

    Parameters
    ----------
    tried
        The partitions.
    by_heart
        What is taken off a score for each point by which learned rows are told from others, but
        the first three.
    exchange
        Whether labels may be exchanged by what the guide says: it must not have learned the rows.
    seed
        What scattered values are drawn from.

    Notes
    -----
    Where columns that aren't recoded reach the model it knows its rows by them. Then each lesson is
    given to two models of one half of the rows each; what they score on the other half counts, less
    ``by_heart`` times what an attack that asks how sure they are tells of their own beyond three
    hundredths. Of many rows
    the best few are found first, by models of a fifth of them. Scores are of rows that a model
    didn't learn; its classes and points were made of all rows and labels, which favours those led
    by labels a little.

    A lone tree that is grown to the end loses more by what is scattered than it hides: where nobody
    votes, a row that goes astray is a wrong answer. For such nothing is scattered, and what tells
    its rows costs three tenths; so it does of regressors. Where models of halves tell less than a
    tenth both of rows as they are and of what teaches most, as boosting mostly does, nothing is
    scattered or exchanged, twice as much costs nothing, and classes of several points are tried:
    models that know rows by other columns would know them better for having learned them several
    times.
    """
    judge = tried[0].judge
    alone = all_or_nothing(judge.estimator, judge.encoded, judge.labels, seed=seed)
    voted = is_classifier(judge.estimator) and not alone
    cost = by_heart if voted else by_heart * UNVOTED

    def found(*, hide: bool) -> list[Lesson]:
        several = (
            _lessons(classes, seed, scatter=hide and not alone, quiet=not hide) for classes in tried
        )
        return _judged(_likeliest(_distinct(chain.from_iterable(several)), cost))

    hide = by_heart > 0 and _tells(tried[0])
    judged = found(hide=hide)
    if by_heart > 0 and not hide and _in_order(judged, cost)[0].by_heart > QUIET:
        hide = True
        judged = found(hide=True)
    if exchange and hide:
        judged += _judged(list(_exchanged(_in_order(judged, cost)[:EXCHANGED])))
    won, model = _trained(_in_order(judged, cost), cost)
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
    return sorted(judged, key=lambda each: (-each.worth(by_heart), each.by_heart))


def _trained(lessons: list[Lesson], by_heart: float) -> tuple[Lesson, Any]:
    """Return the first whose model of all rows isn't an unlucky one, and the model.

    Single trees and boosting vary with every row. A model that knows its own rows little better
    than models of halves know others will do worse on people whom it never saw. It makes way only
    for another that is nearly as good and tells hardly more.
    """
    first = lessons[0]
    model, lucky = _of_all_rows(first)
    if lucky:
        return first, model
    others = [
        each
        for each in lessons[1:]
        if each.worth(by_heart) >= first.worth(by_heart) - WORTH_LESS
        and each.by_heart <= first.by_heart + LOUDER
    ]
    for other in others[:INSTEAD]:
        instead, lucky = _of_all_rows(other)
        if lucky:
            return other, instead
    return first, model


def _of_all_rows(lesson: Lesson) -> tuple[Any, bool]:
    """Return a model of all rows, and whether it isn't an unlucky one."""
    judge, classes = lesson.classes.judge, lesson.classes.rows.classes
    model = judge.trained(lesson.points, classes, lesson.labels)
    losses = judge.losses(model, np.arange(len(classes)))
    loss, error = float(losses.mean()), float(losses.std() / np.sqrt(len(losses)))
    own = judge.score(loss)
    return model, own >= lesson.expected - max(UNLUCKY, own - judge.score(loss + error))


def _told(lesson: Lesson, won: Lesson) -> str:
    beside = lesson.classes.name != won.classes.name
    return f"{lesson.name}, {lesson.classes.name}" if beside else lesson.name


def _distinct(lessons: Iterable[Lesson]) -> list[Lesson]:
    """Return each lesson once: other classes with the same points are another one."""
    found: dict[bytes, Lesson] = {}
    for lesson in lessons:
        cells = lesson.classes.rows.classes
        seen = cells.tobytes() + lesson.points.tobytes() + lesson.labels.tobytes()
        found.setdefault(blake2b(seen).digest(), lesson)
    return list(found.values())


def _lessons(classes: Classes, seed: int, *, scatter: bool, quiet: bool) -> Iterator[Lesson]:
    """Yield what is tried of a partition."""
    rows, labels = classes.rows, classes.judge.labels

    def lesson(name: str, points: NDArray[np.float64]) -> Lesson:
        return Lesson(
            name=name,
            classes=classes,
            points=points,
            labels=labels,
            of_halves=labels,
            free=FREE_OF_QUIET if quiet else FREE,
        )

    several = several_points(classes, seed=seed) if quiet else None
    if several is not None:
        yield lesson(f"spread over {POINTS} points", several)
    if classes.led.by_encoding:
        for name, points in _of_its_columns(classes):
            yield lesson(name, points)
        return
    for name in TRIED:
        yield lesson(name, REPRESENTATIVES[name](rows))
    if classes.led.by_others:
        return  # what other columns part isn't taken together: they reach the model anyway
    partition = classes.anonymizer.plan_.partition
    for price in PRICES:
        groups = coarser(partition, rows.classes, classes.guide, price=price)
        if groups is None:
            return
        yield lesson(f"box of {len(groups.cut)} groups", coarse_boxes(rows, groups))
        if scatter and price == SCATTERED_PRICE and rows.others.size:
            lots = min(LOTS, max(rows.n_classes // SHARING, 1))
            points = scattered(rows, groups, lots=lots, seed=seed)
            yield lesson(f"scattered in {lots} lots", points)


def _of_its_columns(classes: Classes) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield points of classes that are cut by the columns that the model sees."""
    rows, plan = classes.rows, classes.anonymizer.plan_
    values = [coding.values.to_numpy() for coding in plan.codings]
    standing, middle = at_cuts(plan.partition, values, rows.encoded), medians(rows)
    boxes = where_cut(rows, middle, plan.partition.features_cut())
    for name, elsewhere in (("", boxes), (", else medians", middle)):
        yield f"at the cuts{name}", np.where(np.isnan(standing), elsewhere, standing)
    yield "spread", spread(rows)


def _likeliest(lessons: list[Lesson], by_heart: float) -> list[Lesson]:
    """Return the few that a model of a part of the rows learns most from; all of few rows."""
    judge = lessons[0].classes.judge
    if len(judge.labels) < MANY or len(lessons) <= BEST:
        return lessons
    found = []
    for each in lessons:
        learned, *others = parts_of(each.classes.judge, PARTS)
        asked = np.concatenate(others[:ASKED])
        found.append(each.judged([(learned, asked)], lighter=True))
    best = _in_order(found, by_heart)[:BEST]
    return best if np.isfinite(best[0].score) else lessons


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
    return None if classes.judge.depends.all() else parts_of(classes.judge, 2)


def _tells(classes: Classes) -> bool:
    """Return whether a model that isn't protected tells much of rows."""
    if _halves(classes) is None:
        return False
    judge = classes.judge
    find = partial(known_as_they_are, judge, pairs=_pairs(classes))
    return judge.as_they_are.once("known as they are", judge, find).by_heart > QUIET


def _exchanged(lessons: list[Lesson]) -> Iterator[Lesson]:
    """Yield lessons with labels exchanged within classes, where rows can be told apart in one."""
    for each in lessons:
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
