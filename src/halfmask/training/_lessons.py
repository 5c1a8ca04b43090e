"""Lessons: what a model could learn of a partition."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask.training._at_cuts import at_cuts
from halfmask.training._coarser import Coarser, coarse_boxes, coarser, scattered
from halfmask.training._parts import Pairs, known_of_parts, more_by_chance, with_fewer
from halfmask.training._points import centroids, each_point, medians, where_cut
from halfmask.training._representatives import REPRESENTATIVES
from halfmask.training._several import POINTS, several_points
from halfmask.training._spread import spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from halfmask.training._classes import Classes
    from halfmask.training._points import ClassRows

__all__ = ["Lesson", "distinct", "lessons_of"]

#: What consists of values that occur, and means, which rows as they were seldom equal.
TRIED = ("median", "spread", "box", "typical", "centroid")
#: What a group of classes must take away of the guide's spread, to be told from others.
PRICES = (0.03, 0.01, 0.003, 0.001)
#: The price of groups whose other columns are scattered.
SCATTERED_PRICE = 0.01
#: How many classes share a lot, and how many lots there are at most (reached at 120 classes). Few
#: lots teach more, and tell more, than many; draws differ by as much, so that three are also three
#: chances. Of lessons of equal worth the first wins.
LOTS = {3: 40, 8: 15, 2: 60}
#: How the recipes of scattered values begin.
SCATTERED = "scattered"
#: What one threshold tells up to here, of models of a part of the rows, costs nothing. It is a
#: choice: among a thousand people so little isn't told from chance, among ten thousand it is.
FREE = 0.03
#: The same of a threshold for each of two labels, which tells more, by chance as well.
FREE_BY_LABEL = 0.0475
#: What costs nothing where nothing is done to hide rows. It is a choice: an attack on such a model
#: of halves is right in three more of a hundred.
FREE_OF_QUIET = 0.06


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """What a model could learn of a partition: points, and labels beside them.

    Parameters
    ----------
    name
        How it is called.
    recipe
        What it is called in every partition: as it is, but for counts.
    classes
        The partition.
    points
        The points, (classes, columns), or several of each class, (points, classes, columns).
    labels
        The labels, (rows,).
    of_halves
        The labels that models of halves learn when it is judged, (rows,): what is done to a half's
        labels must know nothing of the other's.
    score, by_heart, by_label, gap
        What models of parts know: see :class:`Known`.
    own
        What a model of all rows scores on them, as they were; ``None`` if none was asked.
    each_label
        Whether what thresholds for each label tell counts, rather than what one tells.
    free
        How much of what they tell costs nothing.
    """

    name: str
    recipe: str
    classes: Classes
    points: NDArray[np.float64] = field(repr=False)
    labels: NDArray[Any] = field(repr=False)
    of_halves: NDArray[Any] = field(repr=False)
    score: float = -np.inf
    by_heart: float = 1.0
    by_label: float = 1.0
    gap: float = 0.0
    own: float | None = None
    each_label: bool = False
    free: float = FREE

    @property
    def is_of_several(self) -> bool:
        """Whether classes have several points."""
        return self.points.ndim > 2

    @property
    def is_scattered(self) -> bool:
        """Whether values are drawn from the table, so that rows go astray."""
        return self.recipe.startswith(SCATTERED)

    @property
    def expected(self) -> float:
        """What a model of all rows is likely to score on others.

        Models of halves say it of others, but of half the rows. What it scores on its own, less
        what those know their own better, says it of that very model, but by rows that it learned.
        Both err by chance, and the mean of both by less.
        """
        return self.score if self.own is None else (self.score + self.own - self.gap) / 2

    @property
    def told(self) -> float:
        """How well rows that models of parts learned are told from others, as it counts."""
        return self.by_label if self.each_label else self.by_heart

    def worth(self, by_heart: float) -> float:
        """Return what is expected less what telling rows costs, beyond what is free."""
        return self.expected - by_heart * max(self.told - self.free, 0.0)

    def judged(self, pairs: Pairs, *, lighter: bool = False) -> Lesson:
        """Return it with what models know that learn one part of the rows of each pair."""
        judge, classes = self.classes.judge, self.classes.rows.classes
        if lighter:
            judge = replace(judge, estimator=with_fewer(judge.estimator))
        known = known_of_parts(judge, self.points, classes, self.of_halves, pairs=pairs)
        return replace(
            self,
            score=known.score,
            by_heart=known.by_heart,
            by_label=known.by_label,
            gap=known.gap,
        )


def distinct(lessons: Iterable[Lesson]) -> list[Lesson]:
    """Return each lesson once: what a model would learn of it counts, row by row.

    Other classes with the same points are another lesson where models know their classes alone:
    there classes are made anew, of some of the rows, by what led them.
    """
    found: dict[bytes, Lesson] = {}
    for lesson in lessons:
        judge, cells = lesson.classes.judge, lesson.classes.rows.classes
        points = lesson.points + 0.0  # -0 is 0
        if judge.sees_classes_only:
            seen = points.tobytes() + cells.tobytes()
        else:
            seen = _written(points, cells) + lesson.classes.kept.tobytes()
        seen += lesson.labels.tobytes()
        found.setdefault(blake2b(seen).digest(), lesson)
    return list(found.values())


def _written(points: NDArray[np.float64], classes: NDArray[np.int64]) -> bytes:
    """Return what says of each row where it is written, whatever classes are called."""
    side_by_side = np.concatenate(each_point(points), axis=1)
    places, place = np.unique(side_by_side, axis=0, return_inverse=True)
    return places.tobytes() + place.reshape(-1)[classes].tobytes()


def lessons_of(
    classes: Classes, seed: int, *, scatter: bool, quiet: bool, each_label: bool = False
) -> Iterator[Lesson]:
    """Yield what is tried of a partition."""
    rows, labels = classes.rows, classes.judge.labels
    free = FREE_BY_LABEL + more_by_chance(labels) if each_label else FREE

    def lesson(name: str, points: NDArray[np.float64], recipe: str = "") -> Lesson:
        return Lesson(
            name=name,
            recipe=recipe or name,
            classes=classes,
            points=points,
            labels=labels,
            of_halves=labels,
            each_label=each_label,
            free=FREE_OF_QUIET if quiet else free,
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
    for name, recipe, points in _of_groups(classes, seed, scatter=scatter):
        yield lesson(name, points, recipe)


def _of_groups(
    classes: Classes, seed: int, *, scatter: bool
) -> Iterator[tuple[str, str, NDArray[np.float64]]]:
    """Yield points of classes that are taken together, and what they are called here and always."""
    rows, partition = classes.rows, classes.anonymizer.plan_.partition
    for price in PRICES:
        groups = coarser(partition, rows.classes, classes.guide, price=price)
        if groups is None:
            return
        points = coarse_boxes(rows, groups)
        yield f"box of {len(groups.cut)} groups", f"box at {price}", points
        if scatter and price == SCATTERED_PRICE and rows.others.size:
            yield from _scattered(rows, groups, points, seed)


def _scattered(
    rows: ClassRows, groups: Coarser, boxes: NDArray[np.float64], seed: int
) -> Iterator[tuple[str, str, NDArray[np.float64]]]:
    """Yield points that rows as they were go astray of: what tells classes apart, and what else.

    One point for each group tells least; centroids, or spread points, teach more of many classes.
    """
    kept = {"": boxes, ", else centroids": centroids(rows), ", else spread": spread(rows)}
    for sharing, most in LOTS.items():
        lots = min(most, rows.n_classes // sharing)
        if lots < 2:
            continue  # who shares one lot with all goes astray nowhere
        for name, points in kept.items():
            found = scattered(rows, groups, points, lots=lots, seed=seed)
            yield f"scattered in {lots} lots{name}", f"{SCATTERED} by {sharing}{name}", found


def _of_its_columns(classes: Classes) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield points of classes that are cut by the columns that the model sees."""
    rows, plan = classes.rows, classes.anonymizer.plan_
    values = [coding.values.to_numpy() for coding in plan.codings]
    standing, middle = at_cuts(plan.partition, values, rows.encoded), medians(rows)
    boxes = where_cut(rows, middle, plan.partition.features_cut())
    for name, elsewhere in (("", boxes), (", else medians", middle)):
        yield f"at the cuts{name}", np.where(np.isnan(standing), elsewhere, standing)
    yield "spread", spread(rows)
