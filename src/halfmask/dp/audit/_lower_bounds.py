"""Lower bounds of epsilon: from runs on two neighbouring tables, or from planted rows in one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from halfmask._errors import DataError, ParameterError
from halfmask._foreign import need
from halfmask._validation import integer_at_least, number_between

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Draw: TypeAlias = "Callable[[int], ArrayLike]"

#: Thresholds that are tried on the first half of the runs.
_THRESHOLDS: Final = 200


@dataclass(frozen=True)
class AuditedEpsilon:
    """A lower bound of the epsilon of what was run.

    Parameters
    ----------
    low
        The lower bound, at least 0.
    delta, confidence
        For which, and with which it holds.
    runs
        How many runs it rests on.
    """

    low: float
    delta: float
    confidence: float
    runs: int

    def refutes(self, epsilon: float) -> bool:
        """Return whether a claimed epsilon is below the bound.

        Parameters
        ----------
        epsilon
            What the mechanism claims at the same delta.
        """
        return self.low > epsilon


def audit_neighbours(
    draw: Draw, draw_neighbour: Draw, *, delta: float, runs: int, confidence: float
) -> AuditedEpsilon:
    """Return a lower bound of epsilon from runs on two neighbouring tables.

    Parameters
    ----------
    draw, draw_neighbour
        Each takes a number n, runs the mechanism n times on its table, and returns a number for
        each run, such as the answer itself or how well a model fits the row in question.
    delta
        From 0 to below 1.
    runs
        On each table; half of them choose a threshold, the others judge it. At least 100.
    confidence
        Between 0 and 1, such as 0.99.

    Raises
    ------
    DataError
        If a table's runs didn't return one finite number each.

    Guarantees
    ----------
    If the mechanism is (epsilon, delta)-differentially private, the bound exceeds epsilon with a
    probability of at most 1 - confidence.

    Notes
    -----
    The idea of Wilson, Zhang et al. 2019 and Ding et al. 2018: sets of outputs that are likely for
    one table and unlikely for the other. Here these are half-lines; their probabilities have
    intervals by Clopper and Pearson 1934.

    Examples
    --------
    >>> from halfmask.dp.noise import LaplaceMechanism
    >>> half_epsilon = LaplaceMechanism(sensitivity=1.0, scale=2.0)
    >>> found = audit_neighbours(
    ...     lambda n: half_epsilon.release([0.0] * n), lambda n: half_epsilon.release([1.0] * n),
    ...     delta=0.0, runs=20_000, confidence=1 - 1e-9,
    ... )
    >>> found.refutes(0.5), found.refutes(0.1)
    (False, True)
    """
    need("scipy")
    owner = "audit_neighbours"
    number_between(0, 1, owner=owner, high_open=True, delta=delta)
    number_between(0, 1, owner=owner, low_open=True, high_open=True, confidence=confidence)
    integer_at_least(100, owner=owner, runs=runs)
    first, second = _drawn(draw, runs), _drawn(draw_neighbour, runs)
    half = runs // 2
    ends = _ends(first[:half], second[:half])
    error = (1 - confidence) / 2  # for each of two intervals
    best = int(np.argmax(_bounds(ends, first[:half], second[:half], error, delta)))
    low = _bounds(ends[best : best + 1], first[half:], second[half:], error, delta)[0]
    return AuditedEpsilon(max(0.0, float(low)), delta, confidence, 2 * runs)


def _drawn(draw: Draw, runs: int) -> NDArray[np.float64]:
    values = np.asarray(draw(runs), dtype=np.float64)
    if values.shape != (runs,) or not np.isfinite(values).all():
        raise DataError("An audit needs one finite number a run.")
    return values


def _ends(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return half-lines: a direction, an end, and 1 if it is likely for the second table."""
    both = np.concatenate([first, second])
    ends = np.unique(np.quantile(both, np.linspace(0, 1, _THRESHOLDS), method="higher"))
    return np.array(
        [[sign, sign * e, swapped] for e in ends for sign in (1, -1) for swapped in (0, 1)]
    )


def _bounds(
    half_lines: NDArray[np.float64],
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    error: float,
    delta: float,
) -> NDArray[np.float64]:
    """Return log((p - delta) / q) of each half-line, p at its lower and q at its upper limit."""
    from scipy.stats import beta  # noqa: PLC0415 # 0.5 s

    inside = np.array(
        [
            [(sign * table >= end).sum() for table in (first, second)][:: -1 if swapped else 1]
            for sign, end, swapped in half_lines
        ]
    )
    hits, misses = inside.T
    p = np.where(hits > 0, beta.ppf(error, np.maximum(hits, 1), first.size - hits + 1), 0.0)
    q = np.where(
        misses < second.size,
        beta.ppf(1 - error, misses + 1, np.maximum(second.size - misses, 1)),
        1.0,
    )
    return np.log(np.maximum(p - delta, 1e-300) / q)


_LARGEST: Final = 50.0
_WITHIN: Final = 1e-4


def audit_canaries(
    *, canaries: int, guesses: int, correct: int, delta: float, confidence: float
) -> AuditedEpsilon:
    """Return a lower bound of epsilon from guesses about planted rows.

    Parameters
    ----------
    canaries
        Rows, each put into the training table or not by a fair coin of its own.
    guesses
        Made about the canaries that the attacker is surest of, at least 1.
    correct
        How many guesses were right.
    delta, confidence
        As of `audit_neighbours`.

    Guarantees
    ----------
    If the training is (epsilon, delta)-differentially private, the bound exceeds epsilon with a
    probability of at most 1 - confidence.

    Notes
    -----
    Steinke, Nasr, Jagielski 2023, "Privacy auditing with one (1) training run", theorem 3.1.

    Examples
    --------
    >>> found = audit_canaries(
    ...     canaries=1000, guesses=100, correct=95, delta=1e-5, confidence=0.95
    ... )
    >>> 2.0 < found.low < 3.0
    True
    """
    need("scipy")
    owner = "audit_canaries"
    integer_at_least(1, owner=owner, canaries=canaries, guesses=guesses)
    integer_at_least(0, owner=owner, correct=correct)
    number_between(0, 1, owner=owner, high_open=True, delta=delta)
    number_between(0, 1, owner=owner, low_open=True, high_open=True, confidence=confidence)
    if not correct <= guesses <= canaries:
        raise ParameterError(
            "The parameters of audit_canaries must satisfy correct <= guesses <= canaries."
        )

    def refuted(epsilon: float) -> bool:
        return _probability(canaries, guesses, correct, epsilon, delta) < 1 - confidence

    low, high = 0.0, _LARGEST
    if not refuted(low):
        high = low
    while high - low > _WITHIN:
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return AuditedEpsilon(low, delta, confidence, 1)


def _probability(canaries: int, guesses: int, correct: int, epsilon: float, delta: float) -> float:
    """Return how probable so many right guesses are at most, at an epsilon and a delta."""
    import numpy as np  # noqa: PLC0415 # with scipy
    from scipy.special import expit  # noqa: PLC0415 # with scipy
    from scipy.stats import binom  # noqa: PLC0415 # 0.5 s

    q = float(expit(epsilon))
    tail = float(binom.sf(correct - 1, guesses, q))
    below = np.cumsum(binom.pmf(np.arange(correct - 1, -1, -1), guesses, q))
    lost = max((below / np.arange(1, correct + 1)).max(), 0.0) if correct else 0.0
    return min(1.0, tail + 2 * canaries * delta * float(lost))
