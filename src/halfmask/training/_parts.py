"""Parts: what models of some rows know of the others, and what they tell of their own."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import KFold, StratifiedKFold

from halfmask.training._fitting import asking
from halfmask.training._guides import as_wide_as, cross_fitted
from halfmask.training._points import repeated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.training._trials import Judge

__all__ = [
    "Known",
    "Pairs",
    "guides_of_parts",
    "known_as_they_are",
    "known_of_parts",
    "label_counts",
    "more_by_chance",
    "parts_of",
    "with_fewer",
]

#: The places of rows that are learned and of those that are asked about, for each model.
Pairs: TypeAlias = "Sequence[Sequence[NDArray[np.int64]]]"

#: What counts its members by ``max_iter``.
HISTOGRAMS = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
#: How many times fewer members an ensemble has that only looks for what is likely.
FEWER = 3
#: Of so many rows a model's labels are compared with its likeliest ones.
COMPARED = 500
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
    by_label
        The same with a threshold for each label, each by its share of the rows: whoever attacks
        knows labels, and rows of rare ones are known otherwise. A label that the others lack tells
        nothing. Of numbers as ``by_heart``.
    gap
        How much better the models know the rows that they learned, as they were, in accuracy or
        R²; 0 where that isn't known.
    """

    score: float
    by_heart: float
    by_label: float
    gap: float


#: Of a model that can't learn a part nothing is known: that is worse than anything that is.
UNKNOWN = Known(score=-np.inf, by_heart=1.0, by_label=1.0, gap=0.0)


def parts_of(judge: Judge, parts: int) -> list[NDArray[np.int64]]:
    """Return the places of parts of the rows, alike in labels as far as each has enough rows."""
    splitter: Any = KFold(parts, shuffle=True, random_state=judge.seed)
    if is_classifier(judge.estimator) and label_counts(judge.labels).max() >= parts:
        splitter = StratifiedKFold(parts, shuffle=True, random_state=judge.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a label of fewer rows than parts is missing from some
        split = splitter.split(np.zeros(len(judge.labels)), judge.labels)
        return [held for _, held in split][::-1]  # the rest of the first fold learns first


def label_counts(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Return how many rows each label has."""
    counts: NDArray[np.int64] = np.unique(labels, return_counts=True)[1]
    return counts


def with_fewer(estimator: Any) -> Any:  # noqa: ANN401 # scikit-learn ships no types
    """Return a copy of an ensemble with a third of its members; of anything else a copy.

    What counts its members otherwise than by ``n_estimators``, or as scikit-learn's boosting on
    histograms does, keeps all.
    """
    copy = clone(estimator)
    settings = copy.get_params()
    for name, value in settings.items():
        owner, _, own = name.rpartition("__")
        counts = own == "n_estimators"
        if own == "max_iter":
            counts = isinstance(settings[owner] if owner else copy, HISTOGRAMS)
        if counts and isinstance(value, Integral):
            copy.set_params(**{name: max(int(value) // FEWER, 1)})
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
        The points, (classes, columns), or several of each class, (points, classes, columns).
    classes
        The class of each row, (rows,).
    labels
        The labels that are learned, (rows,).
    pairs
        For each model the places that it learns, and those that it is asked about. Of those that it
        learns itself it tells nothing.

    Notes
    -----
    What is told of rows is measured by the attack of Yeom et al., "Privacy risk in machine
    learning" (2018), with its best threshold, which is the one-sided distance of Kolmogorov and
    Smirnov between what learned rows and others lose; and with one for each label (Song and Mittal,
    "Systematic evaluation of privacy risks of machine learning models", 2021, whose thresholds are
    of classes, too).

    Of a model that can't learn a part it is ``UNKNOWN``.
    """
    losses, known, learned, others = [], [], [], []
    labelled: list[Sequence[NDArray[Any]]] = []
    for own, other in pairs:
        written = judge.part(points, classes, own)
        hidden = judge.sees_classes_only or np.array_equal(own, other)  # then none can be told
        try:
            model = clone(judge.estimator).fit(written, repeated(labels[own], points))
            wrong, unsure = _asked(judge, model, other)
            own_wrong, own_unsure = (wrong, unsure) if hidden else _asked(judge, model, own)
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 # a model of others, which may want more rows of a label
            return UNKNOWN
        losses.append(wrong)
        if not hidden:
            known.append(own_wrong)
            learned.append(own_unsure)
            others.append(unsure)
            labelled.append((judge.labels[own], judge.labels[other]))
    score = judge.score(float(np.concatenate(losses).mean()))
    if not np.isfinite(score):
        return UNKNOWN
    if not learned:
        return Known(score=score, by_heart=0.0, by_label=0.0, gap=0.0)
    ours, theirs = np.concatenate(learned), np.concatenate(others)
    told = _told(ours, theirs)
    by_label = told
    if is_classifier(judge.estimator):
        of_ours, of_theirs = (np.concatenate(side) for side in zip(*labelled, strict=True))
        by_label = _told_by_label(ours, theirs, of_ours, of_theirs)
    gap = judge.score(float(np.concatenate(known).mean())) - score
    if not np.isfinite([told, by_label, gap]).all():
        return UNKNOWN
    return Known(score=score, by_heart=told, by_label=by_label, gap=gap)


def _told(learned: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """Return how well the best threshold of a loss tells learned rows from others, 0 to 1."""
    from scipy.stats import ks_2samp  # noqa: PLC0415 # scipy loads late

    return float(ks_2samp(learned, others, alternative="greater", method="asymp").statistic)


def _told_by_label(
    learned: NDArray[np.float64],
    others: NDArray[np.float64],
    labels: NDArray[Any],
    other_labels: NDArray[Any],
) -> float:
    """Return the same with a threshold for each label that both have, by their shares of rows."""
    told = 0.0
    for label in np.unique(labels):
        of, of_others = labels == label, other_labels == label
        if of_others.any():
            told += float(of.mean()) * _told(learned[of], others[of_others])
    return told


def more_by_chance(labels: NDArray[Any]) -> float:
    """Return how much more chance tells by a threshold for each label than by two.

    The two are one for the commonest label and one for all others: of two labels it is 0.

    Notes
    -----
    Of as many learned rows as others, n, the one-sided distance of Kolmogorov and Smirnov is
    √(π/8)·√(2/n) on average where nothing is told: √(nm/(n + m)) times it has the limit of Smirnov
    (1944), P(D > x) = exp(-2x²).
    """
    counts = np.sort(label_counts(labels))[::-1]
    both = np.array([counts[0], len(labels) - counts[0]])
    by_each, by_two = (float(np.sqrt(of).sum()) for of in (counts, both))
    return float(np.sqrt(np.pi / 4)) / len(labels) * (by_each - by_two)


def known_as_they_are(judge: Judge, *, pairs: Pairs) -> Known:
    """Return what models know that learn rows as they are: what isn't protected."""
    everyone = np.arange(len(judge.labels))
    points = judge.encoded[:, judge.depends]
    return known_of_parts(judge, points, everyone, judge.labels, pairs=pairs)


def _asked(
    judge: Judge,
    model: Any,  # noqa: ANN401 # scikit-learn ships no types
    places: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what a model loses on rows as they were, and how far it was from sure of them."""
    if not is_classifier(judge.estimator) or not hasattr(model, "predict_proba"):
        losses = judge.losses(model, places)
        return losses, losses
    rows, some = judge.encoded[places], slice(0, COMPARED)
    with asking(model, "predict", rows):
        said = np.asarray(model.predict_proba(rows), dtype=np.float64)
        labels = np.asarray(model.predict(rows[some]))
    known, truth = np.asarray(model.classes_), judge.labels[places]
    likeliest = known[said.argmax(axis=1)]
    if np.array_equal(labels, likeliest[some]):
        wrong = np.not_equal(likeliest, truth).astype(np.float64)
    else:  # one with a threshold of its own
        wrong = judge.losses(model, places)
    of_truth = np.where(np.equal(known[None, :], truth[:, None]), said, 0.0).sum(axis=1)
    return wrong, 1.0 - of_truth


def guides_of_parts(judge: Judge, parts: list[NDArray[np.int64]]) -> NDArray[np.float64] | None:
    """Return what models say of rows that they didn't see, each part by models of that part alone.

    What is learned of a part with such a guide knows nothing of the labels of the others. ``None``
    where a part can't be learned, and of a classifier where it has a label of fewer than two rows,
    or lacks one.
    """
    has_labels = is_classifier(judge.estimator)
    known = len(label_counts(judge.labels))
    found: NDArray[np.float64] | None = None
    for places in parts:
        rows, labels = judge.encoded[places], judge.labels[places]
        counts = label_counts(labels)
        if has_labels and (counts.min() < 2 or len(counts) < known):
            return None
        try:
            said = cross_fitted(judge.estimator, rows, labels, folds=FOLDS, seed=judge.seed)
            if found is None:
                found = np.empty((len(judge.labels), said.shape[1]))
            found[places] = as_wide_as(found, said)
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 # a model of others, which may want more rows of a label
            return None
    return found
