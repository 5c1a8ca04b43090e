"""How many people are unique in a population, estimated from the classes of a sample.

:func:`estimate_uniques` is for guarantees and for reports of risk alike.

Notation, of the papers: a sample of n of N people in u classes, s_j of them of size j.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

import numpy as np

from halfmask._errors import DivergenceError, ParameterError
from halfmask._validation import integer_at_least, one_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: How the uniques of a population are estimated.
UniquesEstimator: TypeAlias = Literal["dankar", "pitman", "snb", "zayatz"]

#: Up to this share of the population, the decision rule takes Pitman's estimator.
FEW: Final = 0.1
#: How far from its ends Pitman's alpha is looked for: 0 and 1 are no estimates.
EDGE: Final = 1e-3
#: From here on, four terms of the digamma function's expansion are exact to the last digit.
FAR: Final = 1e3
#: Places between which the root of the slide negative binomial is looked for, as a logit.
LOGITS: Final = np.linspace(-40.0, 40.0, 161)


@dataclass(frozen=True, slots=True, kw_only=True)
class UniquesEstimate:
    """An estimate of the people who are unique in a population.

    Parameters
    ----------
    uniques
        How many people are unique in the population.
    population
        How many people the population has.
    estimator
        The estimator that gave the number: where a rule was asked for, the one that it chose;
        ``"counted"`` where the sample is the population or has no unique row.
    """

    uniques: float
    population: int
    estimator: str

    @property
    def share(self) -> float:
        """The share of the population that is unique."""
        return self.uniques / self.population


def estimate_uniques(
    sizes: NDArray[np.int64], *, population: int, estimator: UniquesEstimator
) -> UniquesEstimate:
    """Estimate how many people are unique in the population of a sample.

    Parameters
    ----------
    sizes
        The rows of each class of the sample.
    population
        How many people the population has, at least as many as there are rows.
    estimator
        ``"pitman"``, ``"zayatz"``, ``"snb"`` (slide negative binomial), or ``"dankar"``: the rule
        that chooses among them.

    Raises
    ------
    ParameterError
        When the population is smaller than the sample, or the estimator is none of these.
    DivergenceError
        When the estimator has no solution for these classes, or one outside of the population.

    Notes
    -----
    Sources: N. Hoshino, "Applying Pitman's sampling formula to microdata disclosure risk
    assessment", JOS 17(4), 2001; L. Zayatz, "Estimation of the percent of unique population
    elements on a microdata file using the sample", US Census Bureau SRD 91/08, 1991; G. Chen and S.
    Keller-McNulty, "Estimation of identification disclosure risk in microdata", JOS 14(1), 1998;
    F. Dankar et al., "Estimating the re-identification risk of clinical data sets", BMC MIDM 12:66,
    2012, for the rule.

    **Guarantees.** An estimator without a solution is an error, never a risk of 0. The rule takes
    Pitman's estimate for a tenth of the population or less, and Zayatz's where that has none;
    otherwise the smaller one of the slide negative binomial and Zayatz.

    **Edge cases.** The people of a sample that is the population are counted. Where no row of the
    sample is unique, the estimate is 0. The estimators assume that the rows were drawn at random.
    On populations whose class sizes have no heavy tail, they overestimate.

    Examples
    --------
    >>> sizes = np.array([1] * 50 + [2] * 10 + [5] * 6)
    >>> found = estimate_uniques(sizes, population=500, estimator="dankar")
    >>> found.estimator, round(found.share, 3)
    ('snb', 0.302)
    """
    one_of(get_args(UniquesEstimator), owner="estimate_uniques", estimator=estimator)
    integer_at_least(1, owner="estimate_uniques", population=population)
    sample = _Sample.of(sizes, int(population))
    if sample.n > sample.population:
        raise ParameterError(
            f"The population has {population} people, fewer than the {sample.n} rows of the sample."
        )
    unique = sample.of_size(1)
    if not unique or sample.n == sample.population:
        return UniquesEstimate(
            uniques=float(unique), population=sample.population, estimator="counted"
        )
    if estimator != "dankar":
        found = _ESTIMATORS[estimator](sample)
        if found is None:
            raise DivergenceError(
                f"The estimator {estimator!r} has no solution for {len(sizes)} classes of "
                f"{sample.n} rows and a population of {population}.",
                hint='Take "zayatz", which always has one, or the rule "dankar".',
            )
        return UniquesEstimate(uniques=found, population=sample.population, estimator=estimator)
    return _by_rule(sample)


@dataclass(frozen=True, slots=True)
class _Sample:
    """How many classes of each size there are, ascending, and the numbers of the population."""

    size: NDArray[np.int64]
    classes: NDArray[np.int64]
    n: int
    u: int
    population: int

    @classmethod
    def of(cls, sizes: NDArray[np.int64], population: int) -> _Sample:
        size, classes = np.unique(np.asarray(sizes, dtype=np.int64), return_counts=True)
        return cls(size, classes, int(np.sum(sizes)), int(classes.sum()), population)

    @property
    def fraction(self) -> float:
        return self.n / self.population

    def of_size(self, size: int) -> int:
        return int(self.classes[self.size == size].sum())


def _by_rule(sample: _Sample) -> UniquesEstimate:
    zayatz = _zayatz(sample)
    name, found = ("pitman", _pitman) if sample.fraction <= FEW else ("snb", _snb)
    other = found(sample)
    if other is None or (name == "snb" and zayatz < other):
        name, other = "zayatz", zayatz
    return UniquesEstimate(uniques=other, population=sample.population, estimator=name)


def _within(sample: _Sample, uniques: float) -> float | None:
    return uniques if 0 <= uniques <= sample.population else None


def _zayatz(sample: _Sample) -> float:
    """Return s_1 P(F = 1 | f = 1) N / n, by Bayes' rule with the sample's class sizes.

    P(f = 1 | F = j) is hypergeometric: j n / N times the product of (N - n - i) / (N - 1 - i) for i
    from 0 to j - 2.
    """
    rest = sample.population - sample.n
    steps = np.arange(min(int(sample.size[-1]) - 1, rest), dtype=np.float64)
    logs = np.concatenate(
        [[0.0], np.cumsum(np.log((rest - steps) / (sample.population - 1 - steps)))]
    )
    alone = np.zeros(len(sample.size))
    possible = sample.size <= len(logs)
    alone[possible] = np.exp(logs[sample.size[possible] - 1])
    one = sample.of_size(1)
    found = one * one / np.sum(sample.classes * sample.size * alone) / sample.fraction
    return min(float(found), float(sample.population))  # floats can round it above


def _pitman(sample: _Sample) -> float | None:
    """Return Gamma(theta + 1) / Gamma(theta + alpha) N^alpha at the maximum of the likelihood.

    For each alpha the likelihood has one maximum in theta; alpha is where the slope along these
    maxima falls through 0. None where it doesn't between 0 and 1.
    """
    from scipy.optimize import brentq  # noqa: PLC0415 # scipy loads late
    from scipy.special import gammaln  # noqa: PLC0415 # the same

    if sample.u in {1, sample.n}:  # no other class, or no other size: no maximum
        return None
    scores = _PitmanScores(sample)
    if scores.along(EDGE) <= 0 or scores.along(1 - EDGE) >= 0:
        return None
    alpha = float(brentq(scores.along, EDGE, 1 - EDGE, xtol=1e-15, rtol=1e-14))
    theta = scores.theta(alpha)
    log = gammaln(theta + 1) - gammaln(theta + alpha) + alpha * math.log(sample.population)
    return _within(sample, float(np.exp(log)))


class _PitmanScores:
    """The derivatives of the logarithm of Pitman's likelihood."""

    def __init__(self, sample: _Sample) -> None:
        self.sample = sample

    def theta(self, alpha: float) -> float:
        """Return the theta with the largest likelihood for an alpha."""
        from scipy.optimize import brentq  # noqa: PLC0415 # scipy loads late

        # So near to -alpha the first term outweighs all others.
        low = 1 / (1 / (1 - alpha) + np.log(self.sample.n) + 2) - alpha
        high = 1.0
        while self._by_theta(high, alpha) > 0:
            high *= 4
        return float(brentq(self._by_theta, low, high, args=(alpha,), xtol=1e-15, rtol=1e-14))

    def along(self, alpha: float) -> float:
        """Return the derivative by alpha at the best theta."""
        from scipy.special import digamma  # noqa: PLC0415 # scipy loads late

        theta = self.theta(alpha)
        new = (self.sample.u - 1 - theta * self._new(theta, alpha)) / alpha
        joined = digamma(self.sample.size - alpha) - digamma(1 - alpha)
        return float(new - np.sum(self.sample.classes * joined))

    def _by_theta(self, theta: float, alpha: float) -> float:
        return self._new(theta, alpha) - _harmonic(theta + 1, self.sample.n - 1)

    def _new(self, theta: float, alpha: float) -> float:
        """Return the sum of 1 / (theta + i alpha) for i from 1 to u - 1."""
        return _harmonic(theta / alpha + 1, self.sample.u - 1) / alpha


def _harmonic(x: float, terms: int) -> float:
    """Return 1 / x + 1 / (x + 1) + ..., without cancellation where x is large."""
    from scipy.special import digamma  # noqa: PLC0415 # scipy loads late

    if x < FAR:
        return float(digamma(x + terms) - digamma(x))
    y = x + terms
    first = np.log1p(terms / x) + terms / (2 * x * y)
    return float(first + (1 / x**2 - 1 / y**2) / 12 - (1 / x**4 - 1 / y**4) / 120)


def _snb(sample: _Sample) -> float | None:
    """Return K beta^alpha of the slide negative binomial, fitted to s_1, s_2 and Shlosser's K.

    The ratio of the expected s_1 and s_2 gives alpha for each beta; beta is where the expected s_1
    is the one that was counted. None where there is no such place.
    """
    from scipy.optimize import brentq  # noqa: PLC0415 # scipy loads late

    one, two, f = sample.of_size(1), sample.of_size(2), sample.fraction
    if not two:
        return None
    classes = _shlosser(sample)

    def fit(logit: float) -> tuple[float, float]:
        """Return alpha, and the logarithm of expected over counted s_1."""
        odds = np.exp(-logit)  # (1 - beta) / beta
        other = odds / (1 + odds)  # 1 - beta
        q, ratio = (1 - f) * other, 2 * two / one
        alpha = _positive_root(
            f * other * q, f * other * (2 - q) - ratio * (1 - q) * q, -ratio * (1 - q) ** 2
        )
        log = np.log1p(alpha * q / (1 - q)) - alpha * np.log1p(f * odds)
        return alpha, float(log + np.log(classes * f / one))

    off = np.array([fit(logit)[1] for logit in LOGITS])
    places = np.flatnonzero((off[:-1] < 0) & (off[1:] >= 0))
    if not len(places):
        return None
    first = places[-1]  # the one with the most uniques
    logit = float(brentq(lambda x: fit(x)[1], LOGITS[first], LOGITS[first + 1], xtol=1e-14))
    alpha = fit(logit)[0]
    return _within(sample, float(classes * np.exp(-alpha * np.log1p(np.exp(-logit)))))


def _positive_root(a: float, b: float, c: float) -> float:
    """Return the root above 0 of a x^2 + b x + c, with a >= 0 and c < 0, without cancellation."""
    root = np.sqrt(b * b - 4 * a * c)
    return float(-2 * c / (b + root)) if b >= 0 else float((root - b) / (2 * a))


def _shlosser(sample: _Sample) -> float:
    """Return Shlosser's estimate of the classes of the population.

    P. Haas and L. Stokes, "Estimating the number of classes in a finite population", JASA 93, 1998,
    section 2: u + s_1 sum (1 - f)^j s_j / sum j f (1 - f)^(j - 1) s_j.
    """
    unseen = (1 - sample.fraction) ** sample.size * sample.classes
    seen_once = sample.size * sample.fraction / (1 - sample.fraction) * unseen
    return float(sample.u + sample.of_size(1) * np.sum(unseen) / np.sum(seen_once))


_ESTIMATORS: Mapping[str, Callable[[_Sample], float | None]] = {
    "pitman": _pitman,
    "snb": _snb,
    "zayatz": _zayatz,
}
