"""Strangers: what lessons teach of people who had no part in the classes that they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import HalfmaskError
from halfmask.anonymize.training._lessons import lessons_of
from halfmask.anonymize.training._parts import parts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.anonymize.training._lessons import Lesson

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
    lessons say there, and are asked about the other half.

    **Edge cases.** ``False`` where a half can't keep the guarantees or can't be learned, and where
    the partitions leave out other rows.
    """
    if not np.array_equal(several.classes.kept, one.classes.kept):
        return False
    halves = parts_of(one.classes.judge, 2)
    saved = []
    for own, others in (halves, halves[::-1]):
        try:
            lost, kept = (_lost(each, own, others, seed) for each in (several, one))
        except HalfmaskError:
            return False
        if lost is None or kept is None:
            return False
        saved.append(kept - lost)
    by_row = np.concatenate(saved)
    return bool(by_row.mean() > by_row.std() / np.sqrt(len(by_row)))


def _lost(
    lesson: Lesson, own: NDArray[np.int64], others: NDArray[np.int64], seed: int
) -> NDArray[np.float64] | None:
    """Return what a model loses on the others that learns the same lesson of its own half.

    ``None`` where classes of that half have no such lesson.
    """
    classes = lesson.classes.of_part(own)
    there = lessons_of(classes, seed, scatter=False, quiet=True)
    same = next((each for each in there if each.recipe == lesson.recipe), None)
    if same is None:
        return None
    model = classes.judge.trained(same.points, classes.rows.classes)
    return lesson.classes.judge.losses(model, others)
