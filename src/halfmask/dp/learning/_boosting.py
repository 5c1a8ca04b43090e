"""Boosting of histograms: a column at a time, with noise on the residuals of each leaf."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from halfmask._validation import number_between
from halfmask.dp.accounting import GaussianEvent, MechanismEvent, SampledGaussianEvent
from halfmask.dp.learning._declared import scaled
from halfmask.dp.learning._private_estimator import ENOUGH, ScoreClassifier, likelihoods
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


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateBoostingClassifier(ScoreClassifier):
    """Additive boosting of one-column trees with random splits, by noisy histograms.

    Parameters
    ----------
    epsilon, delta, classes, ledger
        As of `PrivateEstimator`; delta above 0.
    bounds
        The lowest and the highest value: two numbers, or two lists with one a column. Values
        beyond are clipped. Categories are coded as whole numbers.
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

    Attributes
    ----------
    shapes_
        What each bin of a column adds to the scores: column, bin, output.
    noise_multiplier_, classes_, events_, spent_epsilon_
        As of `PrivateSGDClassifier`.

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

    epsilon: float
    delta: float
    bounds: tuple[ArrayLike, ArrayLike]
    classes: Sequence[object]
    bins: int = field(default=32, metadata={"ge": 2})
    leaves: int = field(default=4, metadata={"ge": 2})
    rounds: int = field(default=20, metadata={"ge": 1})
    learning_rate: float = field(default=0.5, metadata={"gt": 0})
    random_state: int | None = None
    ledger: BudgetLedger | None = None

    _learnt = "shapes_"

    def _learn(self, rows: NDArray[np.float64], codes: NDArray[np.int64]) -> None:
        places = self._places(rows)
        columns = rows.shape[1]
        truth = self._truth(codes)
        self.noise_multiplier_, events = self._noise(columns)
        self._spend(events)
        counts = self._counts(places, self.noise_multiplier_ / self._count_share(columns))
        self._warn_of_noise(
            noise=self._rows_like_noise(self.noise_multiplier_),
            signal=float(counts.sum(axis=1).mean()) / ENOUGH,
            hint="Choose a larger epsilon, fewer rounds or leaves, or take more rows.",
        )
        self.shapes_ = self._boosted(places, truth, counts)

    def _scores(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return _scores(self.shapes_, self._places(rows))

    def _check(self) -> None:
        super()._check()
        number_between(2, self.bins, owner=self._owner, leaves=self.leaves)

    def _planned(self, columns: int) -> tuple[Sequence[MechanismEvent], str, float]:
        self._bounds(columns)
        multiplier, events = self._noise(columns)
        noise = f"Each sum of a leaf gets noise of standard deviation {multiplier:.3g} rows."
        return events, noise, self._rows_like_noise(multiplier)

    @property
    def _norm(self) -> float:
        """The most that a row adds to the sums of a tree."""
        return 1.0 if self._outputs == 1 else math.sqrt(2)

    def _rows_like_noise(self, multiplier: float) -> float:
        """Return the rows of all leaves that add as much as noise, which rounds average out."""
        return multiplier * self._norm * self.leaves / math.sqrt(self.rounds)

    def _count_share(self, columns: int) -> float:
        return math.sqrt(_COUNT_SHARE * self.rounds * columns)

    def _noise(self, columns: int) -> tuple[float, list[MechanismEvent]]:
        """Return the noise multiplier of a tree, and what all noise costs."""
        share = self._count_share(columns)

        def events(noise: float) -> list[MechanismEvent]:
            trees = SampledGaussianEvent(
                noise_multiplier=noise,
                sampling_probability=1.0,
                steps=self.rounds * columns,
                coordinates=self.leaves * self._outputs,
            )
            of_counts = noise / share
            counts = GaussianEvent(noise_multiplier=of_counts, coordinates=columns * self.bins)
            return [trees, counts]

        return self._calibrated(events)

    def _places(self, rows: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the bin of each value."""
        low, high = self._bounds(rows.shape[1])
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
        scale = self.noise_multiplier_ * self._norm
        mechanism = GaussianMechanism(sensitivity=self._norm, scale=scale)
        random = np.random.default_rng(self.random_state)
        shapes = np.zeros((places.shape[1], self.bins, outputs))
        scores = np.zeros(truth.shape)
        for _ in range(self.rounds):
            for column in range(places.shape[1]):
                cuts = np.sort(random.choice(self.bins - 1, self.leaves - 1, replace=False)) + 1
                leaf_of_bin = np.searchsorted(cuts, np.arange(self.bins), side="right")
                leaves = leaf_of_bin[places[:, column]]
                sums = mechanism.release(
                    _leaf_sums(truth - likelihoods(scores), leaves, self.leaves)
                )
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
