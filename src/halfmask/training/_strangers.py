"""Strangers: what lessons teach of people who aren't in the classes that they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import HalfmaskError
from halfmask.training._fitting import fitted
from halfmask.training._lessons import lessons_of
from halfmask.training._parts import guides_of_parts, parts_of
from halfmask.training._points import repeated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.training._classes import Classes
    from halfmask.training._lessons import Lesson

__all__ = ["teaches_strangers_more"]


def teaches_strangers_more(several: Lesson, one: Lesson, *, seed: int) -> bool:
    """Return whether a lesson surely teaches more of strangers than another does.

    Parameters
    ----------
    several, one
        The lessons, of partitions of the same rows.
    seed
        As for :func:`lessons_of`.

    Returns
    -------
    Whether what it saves, row by row, is more than a standard error above 0.

    Notes
    -----
    Models of some rows of each class that are asked about the others aren't asked about strangers:
    where labels lead, classes were made so that these are like those. A model that learns each row
    several times knows classes better, and looks the better for it, also of labels by chance. So
    both partitions are made anew of each half of the rows, by what led them; models learn what the
    lessons say there, and are asked about the other half. A guide that was asked about rows that it
    had learned knows their labels, and so does what another was given: in its place each half is
    led by models of that half alone, cross-fitted. One that was cross-fitted from the beginning
    stays: of a row it knows what it learned of others, some of which are in the other half, and
    that favours classes that it leads a little.

    **Edge cases.** ``False`` where a half can't keep the guarantees, can't be learned, or its model
    can't be asked, and where the partitions leave out other rows.
    """
    if not np.array_equal(several.classes.kept, one.classes.kept):
        return False
    judge = one.classes.judge
    halves = parts_of(judge, 2)
    said = None
    if not one.classes.whole.guidance.crossed:
        said = guides_of_parts(judge, halves)
        if said is None:
            return False
    saved = []
    try:
        for own, others in (halves, halves[::-1]):
            of_own = None if said is None else said[own]
            both = {each.classes.name: each.classes for each in (several, one)}
            made = {name: classes.of_part(own, of_own) for name, classes in both.items()}
            lost = [_lost(each, made[each.classes.name], others, seed) for each in (several, one)]
            saved.append(lost[1] - lost[0])
    except HalfmaskError:
        return False
    return surely_above_nothing(np.concatenate(saved))


def surely_above_nothing(saved: NDArray[np.float64]) -> bool:
    """Return whether a mean is more than a standard error above 0; of what isn't a number not."""
    return bool(saved.mean() > saved.std() / np.sqrt(len(saved)))


def _lost(
    lesson: Lesson, classes: Classes, others: NDArray[np.int64], seed: int
) -> NDArray[np.float64]:
    """Return what a model loses on others that learns the same lesson of classes of a half.

    Not a number where they have no such lesson.
    """
    there = lessons_of(classes, seed, scatter=False, quiet=lesson.is_of_several)
    same = next((each for each in there if each.recipe == lesson.recipe), None)
    if same is None:
        return np.full(len(others), np.nan)
    judge, cells = classes.judge, classes.rows.classes
    written = judge.part(same.points, cells, np.arange(len(cells)))  # nothing of it may leave
    model = fitted(judge.estimator, written, repeated(judge.labels, same.points))
    return lesson.classes.judge.losses(model, others)
