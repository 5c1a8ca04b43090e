"""What each k costs: the largest k that keeps an accuracy, and the accuracy that a k leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from halfmask._errors import GuaranteeNotMetError, ParameterError
from halfmask._progress import silent
from halfmask._validation import integer_at_least
from halfmask.anonymize.given_rows import collected
from halfmask.guarantees import KAnonymity
from halfmask.training._checked import checked, flat
from halfmask.training._encoding import Encoding, as_table, taken
from halfmask.training._estimator import AnonymizedEstimator
from halfmask.training._fitting import asking, fitted
from halfmask.training._preparing import prepared
from halfmask.training._split_targets import folds_of, is_several

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from halfmask._progress import Progress

USUAL_KS = (10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class KCost:
    """The score at one k.

    Parameters
    ----------
    k
        The least size of a class.
    score
        The mean score (accuracy, or R²) on raw held-out rows.
    low, high
        The lowest and highest score of a fold.
    """

    k: int
    score: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyByK:
    """The score that a model keeps at each k.

    Parameters
    ----------
    raw
        The mean score of a model of raw rows, on held-out rows.
    costs
        The score at each k, in ascending order of k.
    impossible
        Each k that can't be reached on the rows of a fold.
    why
        For each k in `impossible`, the guarantee that can't be met.
    """

    raw: float
    costs: tuple[KCost, ...]
    impossible: tuple[int, ...] = ()
    why: Mapping[int, str] = field(default_factory=dict)

    def largest_k(self, *, at_least: float) -> int:
        """Return the largest tried k whose mean score is at least `at_least`.

        Parameters
        ----------
        at_least
            The least score.

        Raises
        ------
        GuaranteeNotMetError
            If no tried k reaches that score.
        """
        kept = [cost.k for cost in self.costs if cost.score >= at_least]
        if not self.costs:
            missed = "; ".join(f"k={k}: {why}" for k, why in self.why.items())
            raise GuaranteeNotMetError(
                f"No k that was tried can be kept. {missed}",
                hint="Try smaller k, ask less of other guarantees, or allow suppression.",
            )
        if not kept:
            best = max((cost.score for cost in self.costs), default=float("nan"))
            raise GuaranteeNotMetError(
                f"No k that was tried keeps a score of {at_least:g}; the best is {best:.4f}, "
                f"and {self.raw:.4f} without anonymization.",
                hint="Ask for less, try smaller k, or name fewer quasi-identifiers.",
            )
        return max(kept)

    def score(self, *, k: int) -> float:
        """Return the mean score at a k that was tried.

        Parameters
        ----------
        k
            One of the k that were tried.
        """
        for cost in self.costs:
            if cost.k == k:
                return cost.score
        raise ParameterError(f"k={k} wasn't tried. There are {[cost.k for cost in self.costs]}.")


def accuracy_by_k(
    estimator: AnonymizedEstimator,
    X: Any,  # noqa: ANN401 # any table
    y: ArrayLike,
    *,
    ks: Sequence[int] = USUAL_KS,
    cv: int = 3,
    random_state: int = 0,
    progress: Progress = silent,
) -> AccuracyByK:
    """Measure the score that a model keeps at each k, by cross-validation.

    Parameters
    ----------
    estimator
        The estimator, not fitted. Each k replaces its k-anonymity; its other guarantees stay.
    X, y
        The raw rows and their labels.
    ks
        The values of k to try.
    cv
        The number of folds.
    random_state
        The seed of the folds.
    progress
        Called with each k and fold.

    See Also
    --------
    AnonymizedEstimator : Trains one model at one k.

    Notes
    -----
    A model of the folds learns fewer rows than the final one, and the same k costs more accuracy on
    fewer rows. So the scores are rather too low than too high.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from halfmask.training import AnonymizedEstimator
    >>> rows = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = rows[:, 0] > 0
    >>> model = AnonymizedEstimator(LogisticRegression(), guarantees=[KAnonymity(k=2)])
    >>> found = accuracy_by_k(model, rows, y, ks=[5, 50])
    >>> found.largest_k(at_least=0.8)
    50
    """
    _can_be_measured(estimator, ks, cv)
    X, labels = collected(X), flat(y)
    checked(estimator, X, labels)
    parts = folds_of(estimator.estimator, labels, cv=cv, random_state=random_state)
    tried: dict[int, list[float]] = {k: [] for k in sorted(set(ks))}
    why: dict[int, str] = {}
    raw = []
    for number, (train, held) in enumerate(parts):
        part = _Part(
            taken(X, train),
            labels[train],
            taken(X, held),
            labels[held],
            _of_places(estimator.split_targets, train, len(labels)),
        )
        raw.append(part.raw(estimator))
        targets = part.targets(estimator) if min(tried) <= len(train) else None
        for k, scores in tried.items():
            progress(f"k={k}, fold {number + 1} of {len(parts)}")
            try:
                scores.append(part.score(estimator, k, targets))
            except GuaranteeNotMetError as missed:
                why[k] = missed.what
    return AccuracyByK(
        raw=float(np.mean(raw)),
        costs=tuple(
            KCost(k=k, score=float(np.mean(scores)), low=min(scores), high=max(scores))
            for k, scores in tried.items()
            if k not in why
        ),
        impossible=tuple(sorted(why)),
        why=why,
    )


def _can_be_measured(estimator: object, ks: Sequence[int], cv: int) -> None:
    if not isinstance(estimator, AnonymizedEstimator):
        raise ParameterError(
            "The 'estimator' parameter of accuracy_by_k must be an AnonymizedEstimator. "
            f"Got a {type(estimator).__name__} instead.",
            hint="Preprocessing belongs into its encoder=.",
        )
    integer_at_least(2, owner="accuracy_by_k", cv=cv)
    if isinstance(ks, int) or not list(ks):
        raise ParameterError(
            "The 'ks' parameter of accuracy_by_k must be a list of k of one or more."
        )
    for k in ks:
        integer_at_least(1, owner="accuracy_by_k", k=k)


def _of_places(given: Any, places: NDArray[np.int64], n_rows: int) -> Any:  # noqa: ANN401 # many kinds
    """Return the split targets of some of the rows: predictions are given row by row."""
    if is_several(given, n_rows):
        return [_of_places(each, places, n_rows) for each in given]
    if given is None or isinstance(given, str) or hasattr(given, "predict") or callable(given):
        return given
    return np.asarray(given)[places]


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows to learn from, and rows that take no part."""

    rows: Any
    labels: NDArray[Any]
    held: Any
    held_labels: NDArray[Any]
    split_targets: Any

    def raw(self, estimator: AnonymizedEstimator) -> float:
        """Return the score of a model of the rows as they are."""
        encoding = Encoding(estimator.encoder, as_table(self.rows).columns).fit(self.rows)
        plain = fitted(estimator.estimator, encoding.encode(self.rows), self.labels)
        held = encoding.encode(self.held)
        with asking(plain, "score", held):
            return float(plain.score(held, self.held_labels))

    def targets(self, estimator: AnonymizedEstimator) -> NDArray[np.float64] | None:
        """Return the split targets, which are the same for every k."""
        model = clone(estimator).set_params(split_targets=self.split_targets)
        return prepared(model, self.rows, self.labels).targets

    def score(
        self, estimator: AnonymizedEstimator, k: int, targets: NDArray[np.float64] | None
    ) -> float:
        """Return the score that k leaves."""
        others = [each for each in estimator.guarantees if each.column is not None]
        if len(self.labels) < k:
            raise GuaranteeNotMetError(f"A fold has {len(self.labels)} rows to learn from.")
        model = clone(estimator).set_params(
            guarantees=[KAnonymity(k=k), *others], split_targets=targets
        )
        return float(model.fit(self.rows, self.labels).score(self.held, self.held_labels))
