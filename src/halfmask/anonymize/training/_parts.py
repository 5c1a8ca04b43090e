"""Parts: what models of some rows know of the others, and what they tell of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

from halfmask.anonymize.training._guides import cross_fits, predicted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize.training._trials import Judge

__all__ = ["Known", "Pairs", "guides_of_parts", "known_of_parts", "parts_of", "with_fewer"]

#: The places of rows that are learned and of those that are asked about, for each model.
Pairs: TypeAlias = "Sequence[Sequence[NDArray[np.int64]]]"

#: How many times fewer members an ensemble has that only looks for what is likely.
FEWER = 3
#: Into how many parts rows are cut for a guide that sees none of the other parts.
FOLDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What models of points know.

    Parameters
    ----------
    score
        Accuracy or R² of rows as they were, of which the model didn't learn where it could know
        them by heart.
    by_heart
        How well learned rows are told from others by how well they are known, 0 to 1: the true
        less the false positives of the best threshold. 0 where rows of a class can't be told apart.
    """

    score: float
    by_heart: float


def parts_of(judge: Judge, parts: int) -> list[NDArray[np.int64]] | None:
    """Return the places of parts of the rows, alike in labels; none where a label is too rare."""
    splitter: Any = KFold(parts, shuffle=True, random_state=judge.seed)
    least = len(judge.labels)
    if is_classifier(judge.estimator):
        splitter = StratifiedKFold(parts, shuffle=True, random_state=judge.seed)
        least = int(np.unique(judge.labels, return_counts=True)[1].min())
    if least < parts:
        return None
    split = splitter.split(np.zeros(len(judge.labels)), judge.labels)
    return [held for _, held in split][::-1]


def with_fewer(estimator: Any) -> Any:  # noqa: ANN401 # scikit-learn ships no types
    """Return a copy of an ensemble with a third of its members; of anything else a copy."""
    copy = clone(estimator)
    for name, value in copy.get_params().items():
        if name.rpartition("__")[2] == "n_estimators" and isinstance(value, int) and value > FEWER:
            copy.set_params(**{name: value // FEWER})
    return copy


def known_of_parts(
    judge: Judge,
    points: NDArray[np.float64],
    classes: NDArray[np.int64],
    labels: NDArray[Any],
    *,
    pairs: Pairs,
) -> Known:
    """Return what models know that learn one part of the rows and are asked about another.

    Parameters
    ----------
    judge
        Trains models and knows the true labels.
    points
        The points, (classes, columns).
    classes
        The class of each row, (rows,).
    labels
        The labels that are learned, (rows,).
    pairs
        For each model the places that it learns, and those that it is asked about.

    Notes
    -----
    What is told of rows is measured by the attack of Yeom et al., "Privacy risk in machine
    learning" (2018), with its best threshold, which is the distance of Kolmogorov and Smirnov
    between what learned rows and others lose.
    """
    written = judge.written(points, classes)
    losses, learned, others = [], [], []
    for own, other in pairs:
        model = clone(judge.estimator).fit(written[own], labels[own])
        wrong, unsure = _asked(judge, model, other)
        losses.append(wrong)
        if own is not other and not judge.depends.all():
            learned.append(_asked(judge, model, own)[1])
            others.append(unsure)
    score = judge.score(float(np.concatenate(losses).mean()))
    if not np.isfinite(score):
        return Known(score=-np.inf, by_heart=1.0)
    if not learned:
        return Known(score=score, by_heart=0.0)
    from scipy.stats import ks_2samp  # noqa: PLC0415 # scipy loads late

    apart = ks_2samp(np.concatenate(learned), np.concatenate(others), method="asymp")
    return Known(score=score, by_heart=float(apart.statistic))


def _asked(
    judge: Judge,
    model: Any,  # noqa: ANN401 # scikit-learn ships no types
    places: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what a model loses on rows as they were, and how far it was from sure of them."""
    if not is_classifier(judge.estimator) or not hasattr(model, "predict_proba"):
        losses = judge.losses(model, places)
        return losses, losses
    said = np.asarray(model.predict_proba(judge.encoded[places]), dtype=np.float64)
    known, truth = np.asarray(model.classes_), judge.labels[places]
    wrong = np.not_equal(known[said.argmax(axis=1)], truth).astype(np.float64)
    of_truth = np.where(np.equal(known[None, :], truth[:, None]), said, 0.0).sum(axis=1)
    return wrong, 1.0 - of_truth


def guides_of_parts(judge: Judge, parts: list[NDArray[np.int64]]) -> NDArray[np.float64] | None:
    """Return what models say of rows that they didn't see, each part by models of that part alone.

    What is learned of a part with such a guide knows nothing of the labels of the others.
    """
    found: NDArray[np.float64] | None = None
    for places in parts:
        rows, labels = judge.encoded[places], judge.labels[places]
        if is_classifier(judge.estimator) and np.unique(labels, return_counts=True)[1].min() < 2:
            return None
        for model, held in cross_fits(judge.estimator, rows, labels, folds=FOLDS, seed=judge.seed):
            said = predicted(model, rows[held])
            if found is None:
                found = np.empty((len(judge.labels), said.shape[1]))
            found[places[held]] = said
    return found
