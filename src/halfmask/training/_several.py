"""Several points for a class: where they may be tried, and which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halfmask.training._spread import spread_over

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from halfmask.training._classes import Classes

__all__ = ["POINTS", "several_points"]

#: How many points a class gets: each is one more time that a row is learned.
POINTS = 4
#: Larger tables, with as many copies of their rows, get one point a class.
MOST_NUMBERS = 50_000_000
#: Of more rows scikit-learn's boosting on histograms stops early, unless it is told not to.
STOPS_EARLY = 10_000


def several_points(classes: Classes, *, seed: int) -> NDArray[np.float64] | None:
    """Return several points for each class, (points, classes, columns), where that is fair.

    Parameters
    ----------
    classes
        The partition.
    seed
        What is drawn from.

    Returns
    -------
    The points; ``None`` for larger tables, for estimators that part their rows, and where no class
    has two points that differ.

    Notes
    -----
    A model that learns each row several times has, in leaves of so many rows, fewer people. Judged
    by rows that it didn't learn that is seen; where all columns are recoded models are judged by
    those that they learned, and :func:`teaches_strangers_more` has to say that it is no pretence.
    """
    judge = classes.judge
    if judge.encoded.size * POINTS > MOST_NUMBERS:
        return None
    if parts_its_rows(judge.estimator, POINTS * len(judge.labels)):
        return None
    points = spread_over(classes.rows, POINTS, seed=seed)
    return points if (points != points[:1]).any() else None


def parts_its_rows(estimator: Any, rows: int) -> bool:  # noqa: ANN401 # scikit-learn ships no types
    """Return whether an estimator holds some of its rows back, as far as its parameters say.

    Copies of a row would be learned and held back: what it finds by these is of rows that it knows.
    """
    settings = estimator.get_params()
    for name, value in settings.items():
        owner, _, own = name.rpartition("__")
        if own == "early_stopping":
            if value is True or (value == "auto" and rows > STOPS_EARLY):
                return True
        elif own == "n_iter_no_change":
            told_apart = f"{owner}__early_stopping" if owner else "early_stopping"
            if value is not None and told_apart not in settings:
                return True
        elif own == "cv" or (own == "oob_score" and value):
            return True
    return False
