"""What answers of teachers cost given their votes: smaller than the guarantee, and private."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import log_ndtr, logsumexp

from halfmask._errors import ParameterError
from halfmask._validation import number_between

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_ORDERS: Final = np.concatenate([np.arange(1.25, 10, 0.25), np.arange(10, 100), [128, 256, 512]])


def data_dependent_epsilon(votes: ArrayLike, *, scale: float, delta: float) -> float:
    """Return the epsilon of noisy plurality answers, given the votes behind them.

    Parameters
    ----------
    votes
        A row an answer, a column a class: how many teachers voted for it.
    scale
        Standard deviation of the noise on each count, above 0.
    delta
        Above 0, below 1.

    Returns
    -------
    float
        It depends on the votes, so it is itself private: don't publish it.

    Notes
    -----
    Papernot, Song, Mironov, Raghunathan, Talwar, Erlingsson 2018, theorem 6 and propositions 7
    and 10: the stronger teachers agree, the less an answer costs.

    Examples
    --------
    >>> agreed, split = [[250, 0]] * 100, [[130, 120]] * 100
    >>> low = data_dependent_epsilon(agreed, scale=40.0, delta=1e-5)
    >>> low < 0.3 * data_dependent_epsilon(split, scale=40.0, delta=1e-5)
    True
    """
    owner = "data_dependent_epsilon"
    number_between(0, math.inf, owner=owner, low_open=True, scale=scale)
    number_between(0, 1, owner=owner, low_open=True, high_open=True, delta=delta)
    counts = np.asarray(votes, dtype=np.float64)
    if counts.ndim != 2 or counts.shape[1] < 2:
        raise ParameterError(f"The 'votes' of {owner} must be a table of at least two classes.")
    costs = np.zeros_like(_ORDERS)
    for row in counts:
        costs += _renyi(_log_other(row, scale), scale)
    return float(_converted(costs, delta).min())


def _log_other(votes: NDArray[np.float64], scale: float) -> float:
    """Return the log of a bound on the probability that the plurality isn't the answer."""
    ordered = np.sort(votes)[::-1]
    gaps = ordered[0] - ordered[1:]
    # Two counts with noise of this scale differ by noise of sqrt(2) times the scale.
    return float(min(0.0, logsumexp(log_ndtr(-gaps / (math.sqrt(2) * scale)))))


def _renyi(logq: float, scale: float) -> NDArray[np.float64]:
    """Return Renyi differential privacy at each order, given the log of q."""
    variance = scale**2
    costs = _ORDERS / variance
    second = math.sqrt(-logq) * scale
    first = second + 1
    if second <= 1 or logq == 0:
        return costs
    epsilon_first, epsilon_second = first / variance, second / variance
    limit = (second - 1) * epsilon_second - second * (
        math.log1p(1 / (first - 1)) + math.log1p(1 / (second - 1))
    )
    if logq > limit or -logq <= epsilon_second:
        return costs
    log_right = math.log1p(-math.exp(logq))
    inner = np.log1p(-math.exp((logq + epsilon_second) * (1 - 1 / second)))
    log_a = (_ORDERS - 1) * (log_right - inner)
    log_b = (_ORDERS - 1) * (epsilon_first - logq / (first - 1))
    dependent = np.logaddexp(log_right + log_a, logq + log_b) / (_ORDERS - 1)
    smaller: NDArray[np.float64] = np.where(first > _ORDERS, np.minimum(costs, dependent), costs)
    return smaller


def _converted(costs: NDArray[np.float64], delta: float) -> NDArray[np.float64]:
    """Return epsilon at each order (Canonne, Kamath, Steinke 2020, proposition 12)."""
    added = np.log1p(-1 / _ORDERS) - (math.log(delta) + np.log(_ORDERS)) / (_ORDERS - 1)
    epsilons: NDArray[np.float64] = np.maximum(0.0, costs + added)
    return epsilons
