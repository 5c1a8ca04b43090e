"""Strangers: what lessons teach of people who had no part in the classes that they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import HalfmaskError
from halfmask.anonymize.training._fitting import fitted
from halfmask.anonymize.training._lessons import lessons_of
from halfmask.anonymize.training._parts import parts_of
from halfmask.anonymize.training._points import repeated

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
    judge = one.classes.judge
    halves = parts_of(judge, 2)
    saved = []
    for own, others in (halves, halves[::-1]):
        try:
            models = [_of_a_half(each, own, seed) for each in (several, one)]
        except HalfmaskError:
            return False
        if None in models:
            return False
        lost, kept = (judge.losses(model, others) for model in models)
        saved.append(kept - lost)
    by_row = np.concatenate(saved)
    return bool(by_row.mean() > by_row.std() / np.sqrt(len(by_row)))


def _of_a_half(lesson: Lesson, own: NDArray[np.int64], seed: int) -> Any:  # noqa: ANN401 # scikit-learn ships no types
    """Return a model that learns the same lesson of one half; ``None`` where it has no such."""
    classes = lesson.classes.of_part(own)
    there = lessons_of(classes, seed, scatter=False, quiet=lesson.is_of_several)
    same = next((each for each in there if each.recipe == lesson.recipe), None)
    if same is None:
        return None
    judge, cells = classes.judge, classes.rows.classes
    written = judge.part(same.points, cells, np.arange(len(cells)))  # nothing of it may leave
    return fitted(judge.estimator, written, repeated(judge.labels, same.points))
