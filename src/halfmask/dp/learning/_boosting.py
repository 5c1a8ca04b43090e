"""Boosting of histograms: a column at a time, with noise on the residuals of each leaf."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Self

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils.validation import check_is_fitted

from halfmask._optional import need
from halfmask._validation import integer_at_least, number_between
from halfmask.dp.accounting import GaussianEvent, MechanismEvent, SampledGaussianEvent, calibrate
from halfmask.dp.learning._declared import declared_bounds, declared_classes, scaled
from halfmask.dp.learning._private_estimator import ENOUGH, warn_of_noise
from halfmask.dp.learning._score_classifier import ScoreClassifier
from halfmask.dp.noise import FixedPoint, GaussianMechanism

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from halfmask.dp.learning._private_estimator import BudgetLedger

#: The share of the privacy loss for the histograms of columns, by which sums are divided.
_COUNT_SHARE: Final = 0.1
#: Fractional bits of residuals: their sums are exact for up to 2**23 rows, more by halves.
_GRID: Final = FixedPoint(exponent=-30)
#: Leaves are divided by at least so many rows.
_LEAST_ROWS: Final = 10.0


class PrivateBoostingClassifier(ScoreClassifier):
    """Additive boosting of one-column trees with random splits, by noisy histograms.

    Parameters
    ----------
    epsilon
        The budget, above 0.
    delta
        Above 0, below 1.
    bounds
        The lowest and the highest value: two numbers, or two lists with one a column. Values
        beyond are clipped. Categories are coded as whole numbers.
    classes
        All labels that can occur, at least two.
    bins
        Equally wide bins a column, at least 2.
    leaves
        Of each tree, from 2 to ``bins``.
    rounds
        How often each column gets a tree, at least 1. More rounds need more noise in each.
    learning_rate
        Above 0.
    random_state
        Seed of the splits, which don't depend on the data; noise has none.
    ledger
        Where the budget is booked; ``None``: nowhere.

    Attributes
    ----------
    shapes_
        What each bin of a column adds to the scores: column, bin, output.
    noise_multiplier_, classes_, events_, spent_epsilon_
        As of `PrivateSGDClassifier`.

    Guarantees
    ----------
    The fitted attributes are (epsilon, delta)-differentially private if one row is added or
    removed, or with ``groups`` all rows of one person.

    Notes
    -----
    Nori, Caruana, Bu, Shen, Kulkarni 2021 (DP-EBM). A row adds its residual to one leaf of a tree:
    at most 1 in the L2 norm for two classes, sqrt(2) for more. It adds 1 to the histogram of each
    of d columns: sqrt(d).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 4000)[:, None]
    >>> y = (np.abs(X[:, 0]) < 0.5).astype(int)
    >>> model = PrivateBoostingClassifier(
    ...     epsilon=1.0, delta=1e-6, bounds=(-1.0, 1.0), classes=[0, 1], rounds=40, random_state=0
    ... ).fit(X, y)
    >>> model.predict([[-0.9], [0.0], [0.9]]).tolist()
    [0, 1, 0]
    """

    def __init__(  # noqa: PLR0913 # scikit-learn's way: each setting is a parameter
        self,
        *,
        epsilon: float,
        delta: float,
        bounds: tuple[ArrayLike, ArrayLike],
        classes: Sequence[object],
        bins: int = 32,
        leaves: int = 4,
        rounds: int = 20,
        learning_rate: float = 0.5,
        random_state: int | None = None,
        ledger: BudgetLedger | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.classes = classes
        self.bins = bins
        self.leaves = leaves
        self.rounds = rounds
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.ledger = ledger

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Train on rows and their labels.

        Parameters
        ----------
        X
            Finite numbers.
        y
            One of ``classes`` a row.
        groups
            The person of each row. One row of each person is drawn by chance, and the guarantee is
            for persons; ``None``: for rows.
        """
        self._check()
        rows, codes = self._rows_and_codes(X, y, self.classes, groups)
        places = self._places(rows)
        columns = rows.shape[1]
        truth = self._truth(codes)
        self.noise_multiplier_, events = self._noise(columns, truth.shape[1])
        self._spend(events)
        counts = self._counts(places, self.noise_multiplier_ / self._count_share(columns))
        warn_of_noise(
            type(self).__name__,
            noise=self._rows_like_noise(self.noise_multiplier_, truth.shape[1]),
            signal=float(counts.sum(axis=1).mean()) / ENOUGH,
            hint="Choose a larger epsilon, fewer rounds or leaves, or take more rows.",
        )
        self.shapes_ = self._boosted(places, truth, counts)
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return a score a row, or one a row and class for more than two classes.

        Parameters
        ----------
        X
            Rows as in ``fit``.
        """
        check_is_fitted(self, "shapes_")
        scores = _scores(self.shapes_, self._places(self._rows(X)))
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def _check(self) -> None:
        need("opendp", "dp_accounting")
        self._check_budget()
        owner = type(self).__name__
        integer_at_least(1, owner=owner, rounds=self.rounds)
        integer_at_least(2, owner=owner, bins=self.bins, leaves=self.leaves)
        number_between(2, self.bins, owner=owner, leaves=self.leaves)
        number_between(0, math.inf, owner=owner, low_open=True, learning_rate=self.learning_rate)

    def _planned(self, columns: int) -> tuple[Sequence[MechanismEvent], str, float]:
        self._check()
        declared_bounds(self.bounds, columns, owner=type(self).__name__, name="bounds")
        labels = len(declared_classes(self.classes, owner=type(self).__name__))
        outputs = 1 if labels == 2 else labels
        multiplier, events = self._noise(columns, outputs)
        noise = f"Each sum of a leaf gets noise of standard deviation {multiplier:.3g} rows."
        return events, noise, self._rows_like_noise(multiplier, outputs)

    def _rows_like_noise(self, multiplier: float, outputs: int) -> float:
        """Return the rows of all leaves that add as much as noise, which rounds average out."""
        norm = 1.0 if outputs == 1 else math.sqrt(2)
        return multiplier * norm * self.leaves / math.sqrt(self.rounds)

    def _count_share(self, columns: int) -> float:
        return math.sqrt(_COUNT_SHARE * self.rounds * columns)

    def _noise(self, columns: int, outputs: int) -> tuple[float, list[MechanismEvent]]:
        """Return the noise multiplier of a tree, and what all noise costs."""
        share = self._count_share(columns)

        def events(noise: float) -> list[MechanismEvent]:
            return self._events(noise, noise / share, columns, outputs)

        found = calibrate(events, epsilon=self.epsilon, delta=self.delta)
        return found, events(found)

    def _events(
        self, noise: float, count_noise: float, columns: int, outputs: int
    ) -> list[MechanismEvent]:
        trees = SampledGaussianEvent(
            noise_multiplier=noise,
            sampling_probability=1.0,
            steps=self.rounds * columns,
            coordinates=self.leaves * outputs,
        )
        return [trees, GaussianEvent(noise_multiplier=count_noise, coordinates=columns * self.bins)]

    def _places(self, rows: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the bin of each value."""
        low, high = declared_bounds(
            self.bounds, rows.shape[1], owner=type(self).__name__, name="bounds"
        )
        within = (scaled(rows, low, high) + 1) / 2
        return np.minimum((within * self.bins).astype(np.int64), self.bins - 1)

    def _counts(self, places: NDArray[np.int64], noise: float) -> NDArray[np.float64]:
        """Return how many rows are in each bin of each column, with noise."""
        columns = places.shape[1]
        exact = np.stack([np.bincount(places[:, j], minlength=self.bins) for j in range(columns)])
        norm = math.sqrt(columns)
        return GaussianMechanism(sensitivity=norm, scale=noise * norm).release(exact)

    def _boosted(
        self, places: NDArray[np.int64], truth: NDArray[np.float64], counts: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return what bins add to the scores, after all rounds over all columns."""
        outputs = truth.shape[1]
        norm = 1.0 if outputs == 1 else math.sqrt(2)
        mechanism = GaussianMechanism(sensitivity=norm, scale=self.noise_multiplier_ * norm)
        random = np.random.default_rng(self.random_state)
        shapes = np.zeros((places.shape[1], self.bins, outputs))
        scores = np.zeros(truth.shape)
        for _ in range(self.rounds):
            for column in range(places.shape[1]):
                likely = expit(scores) if outputs == 1 else softmax(scores, axis=1)
                cuts = np.sort(random.choice(self.bins - 1, self.leaves - 1, replace=False)) + 1
                leaf_of_bin = np.searchsorted(cuts, np.arange(self.bins), side="right")
                leaves = leaf_of_bin[places[:, column]]
                sums = mechanism.release(_leaf_sums(truth - likely, leaves, self.leaves))
                rows = np.bincount(leaf_of_bin, counts[column], minlength=self.leaves)
                added = self.learning_rate * sums / np.maximum(rows, _LEAST_ROWS)[:, None]
                shapes[column] += added[leaf_of_bin]
                scores += added[leaves]
        return shapes


def _leaf_sums(
    residuals: NDArray[np.float64], leaves: NDArray[np.int64], n: int
) -> NDArray[np.float64]:
    """Return the sum of residuals in each leaf, exact in whole steps."""
    steps = _GRID.toward_zero(residuals * (1 - 1e-12))
    sums = np.zeros((n, residuals.shape[1]), dtype=np.int64)
    np.add.at(sums, leaves, steps)
    return _GRID.numbers(sums)


def _scores(shapes: NDArray[np.float64], places: NDArray[np.int64]) -> NDArray[np.float64]:
    total: NDArray[np.float64] = sum(
        (shapes[column][places[:, column]] for column in range(len(shapes))),
        start=np.zeros((len(places), shapes.shape[2])),
    )
    return total
