"""Delta of sampling and suppression, computed again in decimals of fifty digits.

R. Bild, K. A. Kuhn and F. Prasser, "SafePub", PoPETs 2018(1), theorem 4.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from typing import Final

_DIGITS: Final = 50
#: A delta that needs the sums of more rows than this isn't computed.
_MOST_ROWS: Final = 200_000


def least_epsilon(share: float) -> Decimal:
    """Return the least epsilon that a sample of this share can have."""
    with localcontext(prec=_DIGITS):
        return -(1 - Decimal(share)).ln()


def delta_of(k: int, epsilon: Decimal, share: float) -> Decimal:
    """Return the largest P(Bin(n, share) > gamma n) over all n from k / gamma - 1 on."""
    with localcontext(prec=_DIGITS):
        beta = Decimal(share)
        gamma = 1 - (1 - beta) * (-epsilon).exp()
        # Chernoff: the tail of n rows is at most exp(-n decline).
        decline = gamma * (gamma / beta).ln()
        if gamma < 1:
            decline += (1 - gamma) * ((1 - gamma) / (1 - beta)).ln()
        n, largest = max(1, math.ceil(k / gamma - 1)), Decimal(0)
        while (-decline * n).exp() > largest:
            if n > _MOST_ROWS:
                raise ValueError("too many rows")
            largest = max(largest, _tail(n, math.floor(gamma * n) + 1, beta))
            n += 1
        return largest


def _tail(n: int, first: int, share: Decimal) -> Decimal:
    """Return P(Bin(n, share) >= first), term by term until none matters to fifty digits."""
    if first > n:
        return Decimal(0)
    odds = share / (1 - share)
    term = Decimal(math.comb(n, first)) * share**first * (1 - share) ** (n - first)
    total = term
    for drawn in range(first, n):
        term = term * (n - drawn) / (drawn + 1) * odds
        total += term
        if term < total.scaleb(-_DIGITS):
            break
    return total
