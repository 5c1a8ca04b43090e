"""Guard: whether a model got worse on labelled rows that no client sends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from halfmask._errors import ParameterError
from halfmask._validation import integer_at_least, number_between

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.hashing import HashedRows


class Predicting(Protocol):
    """Whatever predicts: a learner, or one that is defended."""

    def predict(self, rows: HashedRows) -> NDArray[np.floating]:
        """Return probabilities or numbers, a row or a line for each row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """How well canaries are predicted.

    Parameters
    ----------
    error
        The share of classes that are wrong, in [0, 1]; of numbers, the mean squared error over
        their variance.
    loss
        The mean Brier score, in [0, 1], of classes that have probabilities; else the error again.
    """

    error: float
    loss: float

    def better(self, other: Quality) -> Quality:
        """Return the smaller error and the smaller loss of both.

        Parameters
        ----------
        other
            Another quality of the same canaries.
        """
        return Quality(error=min(self.error, other.error), loss=min(self.loss, other.loss))

    @classmethod
    def of(cls, learner: Predicting, rows: HashedRows, *, margins: bool = False) -> Quality:
        """Measure a learner; predictions that are no numbers make both infinite.

        Parameters
        ----------
        learner
            What predicts.
        rows
            The canaries.
        margins
            Whether predictions of two classes are margins, whose sign is the class.

        Raises
        ------
        ParameterError
            If the rows have no labels.
        """
        labels = rows.labels
        if labels is None:
            raise ParameterError("Canaries must have labels.")
        predicted = np.asarray(learner.predict(rows), dtype=np.float64)
        if not np.isfinite(predicted).all():
            return cls(error=float("inf"), loss=float("inf"))
        if rows.label_kind == "number":
            squares = (predicted.reshape(len(rows)) - labels) ** 2
            error = float(squares.mean() / max(float(labels.var()), 1e-12))
            return cls(error=error, loss=error)
        if predicted.ndim == 2 and predicted.shape[1] > 1:
            wrong = predicted.argmax(axis=1) != labels
            hot = np.zeros_like(predicted)
            hot[np.arange(len(rows)), labels.astype(np.int64)] = 1.0
            return cls(
                error=float(wrong.mean()), loss=float(((predicted - hot) ** 2).sum(1).mean() / 2)
            )
        predicted = predicted.reshape(len(rows))
        error = float(((predicted >= (0.0 if margins else 0.5)) != (labels > 0)).mean())
        return cls(
            error=error, loss=error if margins else float(((predicted - labels) ** 2).mean())
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The judgement of a model before and after some rows.

    Parameters
    ----------
    accepted
        Whether the model after them may stay.
    before, after
        How well each predicts the canaries.
    why
        Why it may not stay; empty if it may.
    """

    accepted: bool
    before: Quality
    after: Quality
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Judge a model by labelled canaries before and after it learns.

    Parameters
    ----------
    tolerance
        How much error or loss may grow from one judgement to the next, in (0, 1].
    drift
        How much they may grow over the best that was seen, in (0, 1]: many small steps are one
        large one.
    min_rows
        How many canaries there must be, at least 1. With 1,000 of them an accuracy is known to
        0.03, and a difference on the same rows to less.
    margins
        Whether predictions are margins, as those of a hinge loss, and not probabilities.

    Notes
    -----
    **Guarantees.** After an accepted step, error and loss *on the canaries* are within `tolerance`
    of what they were, and within `drift` of the best. A model that predicts what is no number is
    never accepted.

    **Edge cases.** Canaries must be of the same population as honest rows and unknown to clients:
    an attacker who knows them poisons what they don't show. When the world drifts the best
    that was seen may never come again; take new canaries then.

    The rejection of what harms held-out rows is the "reject on negative impact" of Barreno, Nelson,
    Joseph and Tygar, "The security of machine learning" (Machine Learning 2010).

    Examples
    --------
    >>> from halfmask.hashing import HashedRows
    >>> canaries = HashedRows(
    ...     indices=np.zeros((4, 1), dtype=np.uint32),
    ...     labels=np.array([0, 1, 1, 1], dtype=np.int32),
    ...     bits=1,
    ... )
    >>> class Always:
    ...     def __init__(self, p):
    ...         self.p = p
    ...
    ...     def predict(self, rows):
    ...         return np.full(len(rows), self.p)
    >>> guard = Guard(tolerance=0.05, drift=0.1, min_rows=4)
    >>> guard.judge(Always(0.7), Always(0.75), canaries).accepted
    True
    >>> guard.judge(Always(0.7), Always(0.2), canaries).why
    'error grew by more than the tolerance'
    """

    tolerance: float
    drift: float
    min_rows: int = 500
    margins: bool = False

    def __post_init__(self) -> None:
        for name in ("tolerance", "drift"):
            number_between(0, 1, owner="Guard", low_open=True, **{name: getattr(self, name)})
        integer_at_least(1, owner="Guard", min_rows=self.min_rows)

    def judge(
        self,
        before: Predicting | Quality,
        after: Predicting,
        holdout: HashedRows,
        *,
        best: Quality | None = None,
    ) -> Verdict:
        """Judge whether a model may stay as it is after learning.

        Parameters
        ----------
        before
            The learner before, or how well it did.
        after
            The learner after.
        holdout
            The canaries, with labels.
        best
            The best that was seen so far; `before` if it isn't given.

        Raises
        ------
        ParameterError
            If there are fewer canaries than `min_rows`, or they have no labels.
        """
        if len(holdout) < self.min_rows:
            raise ParameterError(
                f"Guard needs at least {self.min_rows:,} canaries. Got {len(holdout):,}."
            )
        was = before if isinstance(before, Quality) else self.quality(before, holdout)
        now = self.quality(after, holdout)
        why = self._why(was, now, "tolerance", self.tolerance)
        why = why or self._why(was if best is None else best, now, "drift", self.drift)
        return Verdict(accepted=not why, before=was, after=now, why=why)

    def quality(self, learner: Predicting, holdout: HashedRows) -> Quality:
        """Return how well a learner predicts the canaries.

        Parameters
        ----------
        learner
            The learner that predicts.
        holdout
            The canaries, with their labels.
        """
        return Quality.of(learner, holdout, margins=self.margins)

    def _why(self, was: Quality, now: Quality, bound: str, allowed: float) -> str:
        # "Not within" rather than "beyond": infinite or missing numbers are never accepted.
        for name in ("error", "loss"):
            if not getattr(now, name) - getattr(was, name) <= allowed:
                return f"{name} grew by more than the {bound}"
        return ""
