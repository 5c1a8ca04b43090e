"""Trials: what a model learns from points, judged by rows as they were."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from halfmask.training._as_they_are import AsTheyAre
from halfmask.training._fitting import asking, fitted
from halfmask.training._parts import label_counts, parts_of
from halfmask.training._points import each_point, repeated
from halfmask.training._recount import count_again

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.guarantees import Guarantee

__all__ = ["Judge", "Trial", "best_of"]

#: Gaps between learned rows and others that differ by less are alike.
GAP_STEP = 0.005
#: A gap of fewer standard errors is chance.
CHANCE = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How well a model of points predicts rows as they were.

    Parameters
    ----------
    name
        What the points are called.
    points
        The points, (classes, columns).
    model
        The model, trained on all rows as the points write them.
    losses
        For each row as it was what the model loses: 1 for a wrong label, the squared error of a
        number, (rows,).
    score
        Accuracy or R² by these losses.
    gap
        How much more a model of half the rows loses on the other half than on its own: what is
        known by heart, and what the simplest attack sees; 0 where it isn't known.
    """

    name: str
    points: NDArray[np.float64] = field(repr=False)
    model: Any = field(repr=False)
    losses: NDArray[np.float64] = field(repr=False)
    score: float
    gap: float = 0.0

    @property
    def loss(self) -> float:
        """The mean loss, of rows that aren't known by heart; infinite where it isn't a number."""
        mean = float(self.losses.mean()) + self.gap
        return mean if np.isfinite(mean) else np.inf

    def ties(self, best: Trial) -> bool:
        """Return whether it loses no more than one standard error above the best."""
        if not (np.isfinite(self.loss) and np.isfinite(best.loss)):
            return self.loss == best.loss
        more = self.losses - best.losses
        return bool(self.loss - best.loss <= more.std() / np.sqrt(len(more)))


def best_of(trials: Sequence[Trial]) -> Trial:
    """Return the trial that tells least of its rows among those that lose as little as the best.

    Notes
    -----
    The rule of one standard error (Breiman et al., "Classification and regression trees", 1984,
    section 3.4.3), with the gap as what is to be small. The losses are compared row by row.
    Without gaps the best wins.
    """
    best = min(trials, key=lambda trial: trial.loss)
    ties = [trial for trial in trials if trial.ties(best)]
    return min(ties, key=lambda trial: (round(max(trial.gap, 0.0) / GAP_STEP), trial.loss))


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Writes rows by their classes' points, trains models on them, and judges these.

    Parameters
    ----------
    estimator
        The model, not fitted.
    encoded, labels
        The rows as they were, as the model sees them, (rows, columns), and their labels.
    depends
        Which columns are written, (columns,).
    guarantees
        What is counted again in all that a model is given that may leave.
    seed
        What the halves are drawn from.
    as_they_are
        What was found of the rows as they are.
    """

    estimator: Any
    encoded: NDArray[np.float64] = field(repr=False)
    labels: NDArray[Any] = field(repr=False)
    depends: NDArray[np.bool_] = field(repr=False)
    guarantees: Sequence[Guarantee]
    seed: int
    as_they_are: AsTheyAre = field(default_factory=AsTheyAre, repr=False, compare=False)

    @property
    def sees_classes_only(self) -> bool:
        """Whether all columns that aren't the same in all rows are written."""
        others = self.encoded[:, ~self.depends]
        return bool((others == others[:1]).all())

    def written(
        self, points: NDArray[np.float64], classes: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the rows, those columns replaced by their class's point; k counted again.

        Where classes have several points, (points, classes, columns), all rows with the first ones,
        then all with the second; what is counted is who has all of them in common.
        """
        rows = self.part(points, classes, np.arange(len(classes)))
        together = np.hstack(np.split(rows[:, self.depends], len(rows) // len(classes)))
        count_again(together, guarantees=self.guarantees)
        return rows

    def part(
        self,
        points: NDArray[np.float64],
        classes: NDArray[np.int64],
        places: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Return some of the rows likewise, for models that are judged and thrown away.

        Nothing is counted in them.
        """
        each = each_point(points)
        written = np.concatenate(each[:, classes[places]])
        if self.depends.all():
            return written.astype(self.encoded.dtype, copy=False)
        rows = repeated(self.encoded[places], points)
        rows[:, self.depends] = written
        return rows

    def trained(
        self,
        points: NDArray[np.float64],
        classes: NDArray[np.int64],
        labels: NDArray[Any] | None = None,
    ) -> Any:  # noqa: ANN401 # scikit-learn ships no types
        """Return a model of all rows, with their labels or others."""
        labels = self.labels if labels is None else labels
        return fitted(self.estimator, self.written(points, classes), repeated(labels, points))

    def losses(self, model: Any, places: NDArray[np.int64]) -> NDArray[np.float64]:  # noqa: ANN401
        """Return what a model loses on some rows as they were."""
        some = self.encoded[places]
        with asking(model, "predict", some):
            said = np.asarray(model.predict(some))
        if is_classifier(self.estimator):
            wrong: NDArray[np.float64] = np.not_equal(said, self.labels[places]).astype(np.float64)
            return wrong
        error: NDArray[np.float64] = (said - self.labels[places]).astype(np.float64) ** 2
        means: NDArray[np.float64] = error.reshape(len(places), -1).mean(axis=1)
        return means

    def trial(
        self,
        name: str,
        points: NDArray[np.float64],
        classes: NDArray[np.int64],
        model: Any = None,  # noqa: ANN401 # scikit-learn ships no types
    ) -> Trial:
        """Judge points by a model of all rows."""
        if model is None:
            model = self.trained(points, classes)
        losses = self.losses(model, np.arange(len(classes)))
        score = self.score(float(losses.mean()))
        return Trial(name=name, points=points, model=model, losses=losses, score=score)

    def with_gaps(self, trials: Sequence[Trial], classes: NDArray[np.int64]) -> list[Trial]:
        """Return trials with their gaps, if any model knows more by heart than chance explains.

        Where all that a model sees is shared by a class it can't know a row by heart.
        """
        single = is_classifier(self.estimator) and label_counts(self.labels).min() < 2
        if self.sees_classes_only or single:
            return list(trials)
        halves = parts_of(self, 2)
        gaps, errors = [], []
        for trial in trials:
            written = self.part(trial.points, classes, halves[0])
            model = fitted(self.estimator, written, self.labels[halves[0]])
            known, unknown = (self.losses(model, half) for half in halves)
            gaps.append(float(unknown.mean() - known.mean()))
            errors.append(float(np.sqrt((unknown.var() + known.var()) / len(halves[0]))))
        if not np.isfinite(gaps).all() or not np.greater(gaps, CHANCE * np.array(errors)).any():
            return list(trials)
        return [
            replace(trial, gap=gap, score=self.score(float(trial.losses.mean()) + gap))
            for trial, gap in zip(trials, gaps, strict=True)
        ]

    def score(self, loss: float) -> float:
        """Return accuracy or R² by a mean loss."""
        if is_classifier(self.estimator):
            return 1.0 - loss
        spread = float(np.var(np.asarray(self.labels, dtype=np.float64)))
        return 1.0 - loss / spread if spread > 0 else float(loss == 0.0)
