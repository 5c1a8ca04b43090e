"""Logistic regression with noise on the coefficients, or in the loss."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from halfmask.dp.learning._declared import with_constant, within_norm
from halfmask.dp.learning._logistic_minimum import logistic_minimum
from halfmask.dp.learning._objective_noise import ObjectiveNoise
from halfmask.dp.learning._private_estimator import ScoreClassifier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.dp.accounting import MechanismEvent
    from halfmask.dp.learning._private_estimator import BudgetLedger
    from halfmask.dp.noise import NoiseMechanism

    Floats: TypeAlias = NDArray[np.float64]
    Whole: TypeAlias = NDArray[np.int64]

#: How far from 0 the gradient of output perturbation may end, relative to what one row adds.
_TOLERANCE: Final = 1e-4
#: By how much noise may move the score of the longest row, with the default strength.
_SCORE_NOISE: Final = {"output": 0.25, "objective": 1.0}


class LinearPredictions(ScoreClassifier):
    """Predictions of linear classifiers from ``coef_``, ``intercept_`` and ``classes_``."""

    coef_: Floats
    intercept_: Floats

    def _scores(self, rows: Floats) -> Floats:
        scores: Floats = rows @ self.coef_.T + self.intercept_
        return scores


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateLogisticRegression(LinearPredictions):
    """Logistic regression by output or objective perturbation.

    Parameters
    ----------
    epsilon, classes, ledger
        As of `PrivateEstimator`.
    delta
        0 for Laplace noise; above 0, below 1 for Gaussian noise, which is smaller.
        Objective perturbation needs it above 0.
    row_norm
        Rows with a larger L2 norm are scaled down to it. Above 0.
    C
        Inverse strength of the L2 penalty as in scikit-learn, above 0. Noise on the coefficients
        grows with it. ``None``: by budget, ``row_norm``, columns and classes, never by the data.
    fit_intercept
        Whether rows get a constant, which is penalised too.
    perturbation
        ``"output"``: noise on the coefficients. ``"objective"``: noise in the loss, which is
        usually more accurate.

    Attributes
    ----------
    coef_, intercept_, classes_
        As of scikit-learn's, with noise.
    C_
        The inverse strength that was used.
    mechanism_
        The noise on the coefficients, or in the loss.

    Raises
    ------
    BudgetError
        If no noise fits the budget, or the ledger refuses; nothing was trained then.
    DivergenceError
        If the solver doesn't come near enough to the minimum: nothing is kept.

    Warns
    -----
    NoiseWarning
        If noise on the coefficients is as long as these, or longer. Noise in the loss has no such
        test: see `plan`.

    Guarantees
    ----------
    The fitted attributes are (epsilon, delta)-differentially private if one row is added or
    removed, or with ``groups`` all rows of one person. They stay so with any solver that ends at a
    gradient below the tolerance.

    Notes
    -----
    Output perturbation: Chaudhuri, Monteleoni, Sarwate 2011, algorithm 1. The penalised loss
    sum(loss) + |w|^2 / (2 C) is 1/C-strongly convex, and one row changes its gradient by at most
    L: row_norm for two classes, sqrt(2) row_norm for more. So it moves the minimum by at most
    C L. A solver that ends at a gradient of at most t is at most C t from the minimum.

    The default of ``C`` lets noise on the coefficients move the score of a row by a standard
    deviation of at most 0.25; noise in the loss, by 1 where no row says otherwise. The best ``C``
    falls as the cube root of the number of rows alone, which is private.

    Objective perturbation: Kifer, Smith, Thakurta 2012, with the output noise of Iyengar et al.
    2019 (approximate minima perturbation). ``docs/explanation/differential-privacy.md`` has the
    proofs.

    See Also
    --------
    PrivateSGDClassifier : Less noise where more than a few passes over the rows are affordable.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat([[-1.0], [1.0]], 2000, axis=0)
    >>> y = np.repeat(["no", "yes"], 2000)
    >>> model = PrivateLogisticRegression(
    ...     epsilon=1.0, delta=0.0, row_norm=1.0, classes=["no", "yes"], C=0.1
    ... ).fit(X, y)
    >>> model.predict([[-1.0], [1.0]]).tolist()
    ['no', 'yes']
    """

    epsilon: float
    delta: float
    row_norm: float = field(metadata={"gt": 0})
    classes: Sequence[object]
    C: float | None = field(default=None, metadata={"gt": 0})
    fit_intercept: bool = True
    perturbation: str = field(default="output", metadata={"one_of": ("output", "objective")})
    ledger: BudgetLedger | None = None

    def _learn(self, rows: Floats, codes: Whole) -> None:
        rows = within_norm(rows, self.row_norm)
        rows = with_constant(rows) if self.fit_intercept else rows
        shape = self._outputs, rows.shape[1]
        self.C_ = self._strength(shape)
        perturbed = self._objective if self.perturbation == "objective" else self._output
        noisy = perturbed(rows, codes, np.zeros(shape))
        self.intercept_ = noisy[:, 0] if self.fit_intercept else np.zeros(shape[0])
        self.coef_ = noisy[:, 1:] if self.fit_intercept else noisy

    def _planned(self, columns: int) -> tuple[Sequence[MechanismEvent], str, float]:
        outputs, entries = shape = self._outputs, columns + self.fit_intercept
        strength, size = self._strength(shape), outputs * entries
        if self.perturbation == "objective":
            of_loss = self._noise_in_the_loss(strength, shape)
            deviation, events = of_loss.in_the_loss.scale, of_loss.events
            where, reach = "The gradient of the loss", self._lipschitz(outputs)
        else:
            mechanism = self._noise_on_the_minimum(strength, shape)
            deviation, events = mechanism.deviation, [mechanism.event(size)]
            where, reach = "Each coefficient", strength * self._lipschitz(outputs)
        noise = f"{where} gets noise of standard deviation {deviation:.3g}, at C = {strength:.3g}."
        return events, noise, deviation * math.sqrt(size) / reach

    def _strength(self, shape: tuple[int, int]) -> float:
        """Return the inverse strength of the penalty: the one given, or by what is public."""
        if self.C is not None:
            return self.C
        unit = self._mechanism_for(l1=math.sqrt(shape[0] * shape[1]), l2=1.0)
        moved = self._longest * self._lipschitz(shape[0]) * unit.deviation
        return _SCORE_NOISE[self.perturbation] / moved

    @property
    def _longest(self) -> float:
        """The largest norm of a row."""
        return math.hypot(self.row_norm, 1.0) if self.fit_intercept else self.row_norm

    def _lipschitz(self, outputs: int) -> float:
        """Return the most by which one row changes the gradient."""
        return self._longest * (1.0 if outputs == 1 else math.sqrt(2))

    def _noise_on_the_minimum(self, strength: float, shape: tuple[int, int]) -> NoiseMechanism:
        # The solver ends at a gradient of at most the tolerance, for either table.
        moved = strength * self._lipschitz(shape[0]) * (1 + 2 * _TOLERANCE)
        return self._mechanism_for(l1=moved * math.sqrt(shape[0] * shape[1]), l2=moved)

    def _output(self, rows: Floats, codes: Whole, zeros: Floats) -> Floats:
        """Return the minimum with noise on it."""
        outputs, entries = zeros.shape
        self.mechanism_: NoiseMechanism = self._noise_on_the_minimum(self.C_, (outputs, entries))
        self._spend([self.mechanism_.event(zeros.size)])
        tolerance = _TOLERANCE * self._lipschitz(outputs)
        noisy = self.mechanism_.release(self._minimum(rows, codes, zeros, tolerance))
        # Squared lengths, by what is released. That of noise has this mean, and varies with few
        # coefficients, so that its own luck isn't taken for a signal.
        noise = self.mechanism_.deviation**2 * zeros.size
        luck = 3 * math.sqrt((2 if self.delta > 0 else 5) / zeros.size)
        self._warn_of_noise(
            noise=noise,
            signal=float(np.square(noisy).sum()) - noise * (1 + luck),
            hint="Choose a smaller C, a larger epsilon or perturbation='objective', or take more "
            "rows or fewer columns.",
        )
        return noisy

    def _noise_in_the_loss(self, strength: float, shape: tuple[int, int]) -> ObjectiveNoise:
        return ObjectiveNoise.calibrated(
            lipschitz=self._lipschitz(shape[0]),
            longest=self._longest,
            penalty=1 / strength,
            classes=max(2, shape[0]),
            coordinates=shape[0] * shape[1],
            epsilon=self.epsilon,
            delta=self.delta,
        )

    def _objective(self, rows: Floats, codes: Whole, zeros: Floats) -> Floats:
        """Return the minimum of the loss with noise in it, and noise for the solver's error."""
        outputs, entries = zeros.shape
        noise = self._noise_in_the_loss(self.C_, (outputs, entries))
        self.mechanism_ = noise.in_the_loss
        self._spend(noise.events)
        linear = noise.in_the_loss.release(zeros)
        found = self._minimum(rows, codes, linear, noise.tolerance)
        return noise.on_the_minimum.release(found)

    def _minimum(self, rows: Floats, codes: Whole, linear: Floats, tolerance: float) -> Floats:
        return logistic_minimum(
            rows, codes, linear, penalty=1 / self.C_, tolerance=tolerance, longest=self._longest
        )
