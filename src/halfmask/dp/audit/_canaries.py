"""A lower bound of epsilon from one run: rows that were planted, and guesses which of them were."""

from __future__ import annotations

from typing import Final

from halfmask._errors import ParameterError
from halfmask._optional import need
from halfmask._validation import integer_at_least, number_between
from halfmask.dp.audit._neighbours import AuditedEpsilon

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
    delta
        From 0 to below 1.
    confidence
        Between 0 and 1, such as 0.95.

    Raises
    ------
    ParameterError
        If there are more guesses than canaries, or more right ones than guesses.

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
