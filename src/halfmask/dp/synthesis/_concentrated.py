"""Zero-concentrated differential privacy: a budget that adaptive rounds may spend in any parts."""

from __future__ import annotations

import math

from halfmask._validation import number_between


def epsilon_of_rho(rho: float, *, delta: float) -> float:
    """Return the epsilon that a rho costs at a delta, rounded up.

    Rho is of zero-concentrated differential privacy.

    Parameters
    ----------
    rho
        From 0.
    delta
        Above 0, below 1.

    Notes
    -----
    Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy" (2020),
    corollary 13. Any order gives a bound; the best of a grid is taken.

    Examples
    --------
    >>> round(epsilon_of_rho(0.1, delta=1e-6), 2)
    2.14
    """
    number_between(0, math.inf, owner="epsilon_of_rho", rho=rho)
    number_between(0, 1, owner="epsilon_of_rho", low_open=True, high_open=True, delta=delta)
    if rho == 0:
        return 0.0
    loss = math.log(1 / delta)
    best = 1 + math.sqrt(loss / rho)
    orders = (1 + (best - 1) * 2 ** (step / 20) for step in range(-60, 61))
    found = min(
        a * rho + (loss - math.log(a - 1) + a * math.log1p(-1 / a)) / (a - 1) for a in orders
    )
    return max(0.0, found) * (1 + 1e-9)


def rho_of(epsilon: float, *, delta: float) -> float:
    """Return the largest rho that costs at most an epsilon at a delta.

    Parameters
    ----------
    epsilon
        Above 0.
    delta
        Above 0, below 1.

    Examples
    --------
    >>> rho = rho_of(1.0, delta=1e-6)
    >>> 0.99 < epsilon_of_rho(rho, delta=1e-6) <= 1.0
    True
    """
    number_between(0, math.inf, owner="rho_of", low_open=True, epsilon=epsilon)
    low, high = 0.0, epsilon + 1.0
    while epsilon_of_rho(high, delta=delta) <= epsilon:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        fits = epsilon_of_rho(middle, delta=delta) <= epsilon
        low, high = (middle, high) if fits else (low, middle)
    return low
