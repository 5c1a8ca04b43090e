"""Selection: the candidate with the best cross-validated score, less what its model leaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import ks_2samp
from sklearn.base import is_classifier

from halfmask._errors import DataError, GuaranteeNotMetError, ParameterError
from halfmask.data.arrays import unmasked
from halfmask.training._candidates import TRANSFORMED, candidates_of, partitioned, placed
from halfmask.training._fitting import asking, fitted, tell
from halfmask.training._split_targets import drawn, folds_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.training._candidates import Partitioned, TrainingData

#: Probabilities below this count as this: the log loss of one row would outweigh all others.
MIN_PROBABILITY = 1e-3
#: So many people are enough to tell two candidates apart: folds of fewer are added up to it.
ENOUGH = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateScore:
    """What cross-validation says of a candidate.

    Parameters
    ----------
    name
        Its representative.
    predict_on
        Whether its model predicts raw or transformed rows.
    score
        One less the loss over that of the training labels' shares, or mean: 1 is perfect.
    membership_advantage
        How well one threshold of the loss separates rows that the model learned from held-out rows.
    """

    name: str
    predict_on: str
    score: float
    membership_advantage: float

    def objective(self, penalty: float) -> float:
        """Return the score less the penalty on leakage.

        Parameters
        ----------
        penalty
            The penalty for each unit of attack advantage.
        """
        return self.score - penalty * max(self.membership_advantage, 0.0)


def scored(
    data: TrainingData, *, cv: int, representative: str, predict_on: str
) -> list[CandidateScore]:
    """Return the score of each candidate; an empty list if there is nothing to choose.

    Notes
    -----
    A partition is made from the training rows of a fold alone. Its split targets may be predictions
    of models that learned from rows of the fold: that favours all guided candidates alike. Models
    learn 4,000 people of a partition: one fold if it has as many, else several. These models are
    thrown away; people whom they didn't learn are in the classes all the same.

    **Edge cases.** Nothing is chosen where the rows of a fold can't keep the guarantees, or a label
    has one row only.
    """
    candidates = candidates_of(data, representative=representative, predict_on=predict_on)
    if len(candidates) < 2:
        return []
    try:
        folds = folds_of(data.estimator, data.labels, cv=cv, random_state=data.seed)
        folds = folds[: -(-ENOUGH // len(folds[0][0]))]
        parts = [(partitioned(data.subset(train)), held) for train, held in folds]
    except (DataError, GuaranteeNotMetError, ParameterError):
        tell("folds are too small to choose: the first representative and raw rows are taken")
        return []
    found: dict[tuple[str, str], list[tuple[float, float]]] = {each: [] for each in candidates}
    for part, held in parts:
        learned = drawn(data.estimator, part.data.labels, ENOUGH, seed=data.seed)
        asked = drawn(data.estimator, data.labels[held], ENOUGH, seed=data.seed)
        fold = data.subset(held[asked])
        for name in dict.fromkeys(name for name, _ in candidates):
            points = part.represented(name)
            written = part.written(points, people=learned)
            model = fitted(data.estimator, written.rows, written.labels, written.weights)
            for way in (way for other, way in candidates if other == name):
                found[name, way].append(
                    _in_fold(model, part, learned, fold, way, points[0], _scale(data))
                )
    means = {each: np.mean(of_folds, axis=0) for each, of_folds in found.items()}
    return [
        CandidateScore(
            name=name, predict_on=way, score=float(score), membership_advantage=float(advantage)
        )
        for (name, way), (score, advantage) in means.items()
    ]


def _in_fold(  # a model, what it learned, what it is asked
    model: Any,  # noqa: ANN401 # scikit-learn ships no types
    part: Partitioned,
    learned: NDArray[np.int64],
    fold: TrainingData,
    way: str,
    points: NDArray[np.float64],
    scale: float,
) -> tuple[float, float]:
    """Return the score on a fold, and the membership advantage against it."""

    def lost(data: TrainingData) -> NDArray[np.float64]:
        rows = data.encoded
        if way == TRANSFORMED:
            columns = data.encoding.depends_
            rows, _ = placed(part.anonymizer, data.table, rows, columns=columns, points=points)
        return losses(model, rows, data.labels, scale=scale)

    of_held = lost(fold)
    score = 1.0 - float(of_held.mean()) / _of_no_model(part.data, fold.labels, scale)
    return score, membership_advantage(lost(part.data.subset(learned)), of_held)


def best_of(found: list[CandidateScore], *, penalty: float) -> CandidateScore:
    """Return the best objective, of those whose score is at least the first one's."""
    kept = [each for each in found if each.score >= found[0].score]
    return max(kept or found[:1], key=lambda each: each.objective(penalty))


def losses(
    model: Any,  # noqa: ANN401 # scikit-learn ships no types
    rows: NDArray[np.float64],
    labels: NDArray[Any],
    *,
    scale: float = 1.0,
) -> NDArray[np.float64]:
    """Return the loss of each row: log loss, squared error, or 0 and 1 without probabilities."""
    soft = is_classifier(model) and hasattr(model, "predict_proba")
    with asking(model, "predict", rows):
        predicted = model.predict_proba(rows) if soft else model.predict(rows)
        name = "What the model predicts"
        values = np.asarray(unmasked(predicted, name=name, told_as=DataError))
        if soft:
            values = (values * np.equal(labels[:, None], np.asarray(model.classes_))).sum(axis=1)
    if soft:
        logs: NDArray[np.float64] = -np.log(np.clip(values, MIN_PROBABILITY, 1.0))
        return logs
    if is_classifier(model):
        wrong: NDArray[np.float64] = np.not_equal(values, labels).astype(np.float64)
        return wrong
    errors = (values.reshape(len(rows)) - labels.astype(np.float64)) / scale
    squares: NDArray[np.float64] = errors**2
    return squares


def _scale(data: TrainingData) -> float:
    """Return the largest number that is learned: squares of huge ones overflow."""
    if is_classifier(data.estimator):
        return 1.0
    return float(np.abs(data.labels.astype(np.float64)).max()) or 1.0


def _of_no_model(data: TrainingData, held: NDArray[Any], scale: float) -> float:
    """Return the mean loss on held-out labels of predicting the shares, or the mean, of others."""
    if not is_classifier(data.estimator):
        numbers, learned = (each.astype(np.float64) / scale for each in (held, data.labels))
        return float(((numbers - learned.mean()) ** 2).mean()) or 1.0
    known, counts = np.unique(data.labels, return_counts=True)
    if not hasattr(data.estimator, "predict_proba"):
        return float(np.not_equal(held, known[counts.argmax()]).mean()) or 1.0
    shares = np.equal(held[:, None], known) @ (counts / counts.sum())
    return float(-np.log(np.clip(shares, MIN_PROBABILITY, 1.0)).mean())


def membership_advantage(members: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """Return the largest true positive rate less false positive rate of a threshold of the loss.

    A one-sided two-sample Kolmogorov-Smirnov statistic: members have the smaller losses.
    Yeom et al., "Privacy risk in machine learning" (2018), attack by such a threshold.
    """
    return float(ks_2samp(members, others, alternative="greater", method="asymp").statistic)
