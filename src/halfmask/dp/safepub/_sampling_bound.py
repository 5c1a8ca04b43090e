"""Terms of SafePub, and the delta of sampling and suppression: tails of binomial distributions."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from halfmask._errors import ParameterError
from halfmask._validation import integer_at_least, number_between

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingTerms:
    """What a release of SafePub was made by."""

    epsilon: float
    delta: float
    sampling_fraction: float
    search_epsilon: float
    k: int
    columns: tuple[str, ...]
    levels: Mapping[str, int | Sequence[int | None]]
    person: str | None

    @property
    def are_levels_given(self) -> bool:
        """Whether no level was chosen by a look at the rows."""
        return self.search_epsilon == 0

    @property
    def sha256(self) -> str:
        """The hash of the terms."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


#: Shares from here on are whole multiples of 2**-64: they are drawn exactly.
LEAST_FRACTION: Final = 0.001
#: The relative error that a tail of scipy may have at most; it counts against the owner.
_TAIL_ERROR: Final = 1e-9
#: A product this near to a whole number counts as the whole number, so that the tail has its term.
_NEAR: Final = 1e-9
#: More rows of a class than this aren't looked at; epsilon is too small then.
_MOST_ROWS: Final = 20_000_000


def sampling_delta(k: int, *, epsilon: float, sampling_fraction: float) -> float:
    """Return the delta of a random sample without classes of fewer than k rows.

    Parameters
    ----------
    k
        The least number of rows of a class, 1 or more.
    epsilon
        At least ``-log(1 - sampling_fraction)``.
    sampling_fraction
        The probability with which each row is drawn, from 0.001 to below 1.

    Returns
    -------
    float
        An upper bound, rounded up.

    Notes
    -----
    Bild, Kuhn and Prasser 2018, theorem 4 (Li, Qardaji and Su 2012, theorem 1): with
    ``gamma = 1 - (1 - beta) exp(-epsilon)`` delta is the largest ``P(Bin(n, beta) > gamma n)`` over
    all ``n >= ceil(k / gamma - 1)``.

    Why: one more row in a class of now n rows multiplies the probability to draw j of them by
    ``n (1 - beta) / (n - j)``. That is above ``exp(epsilon)`` only where ``j > gamma n``, and
    fewer than k rows look the same for all j. One row less divides by ``1 - beta`` at most, which
    is why epsilon has a least value. For fewer rows than ``k / gamma`` the tail from k on grows
    with n. Chernoff's bound falls with n and says when no larger tail can come.

    Examples
    --------
    >>> delta = sampling_delta(20, epsilon=1.0, sampling_fraction=0.3)
    >>> delta < sampling_delta(10, epsilon=1.0, sampling_fraction=0.3) < 0.01
    True
    """
    integer_at_least(1, owner="sampling_delta", k=k)
    gamma, decline = _checked("sampling_delta", epsilon, sampling_fraction)
    first, largest = max(1, math.ceil(k / gamma - 1 - _NEAR)), 0.0
    block = 64
    while math.exp(-decline * first) > largest:
        if first > _MOST_ROWS:
            raise _too_small(epsilon)
        tails = _tails(np.arange(first, first + block), gamma, sampling_fraction)
        largest = max(largest, float(tails.max()))
        first, block = first + block, 2 * block
    return min(1.0, max(largest, sys.float_info.min))  # never 0 by underflow


def least_class_size(*, epsilon: float, delta: float, sampling_fraction: float) -> int:
    """Return the least k whose delta isn't above the one that is asked for.

    Parameters
    ----------
    epsilon, sampling_fraction
        As of `sampling_delta`.
    delta
        Above 0 and below 1.

    Examples
    --------
    >>> k = least_class_size(epsilon=1.0, delta=1e-6, sampling_fraction=0.5)
    >>> sampling_delta(k, epsilon=1.0, sampling_fraction=0.5) <= 1e-6
    True
    """
    owner = "least_class_size"
    number_between(0, 1, owner=owner, low_open=True, high_open=True, delta=delta)
    gamma, decline = _checked(owner, epsilon, sampling_fraction)
    last = math.ceil(-math.log(delta) / decline) + 1  # from here on Chernoff's bound is enough
    if last > _MOST_ROWS:
        raise _too_small(epsilon)
    too_large = np.flatnonzero(_tails(np.arange(1, last + 1), gamma, sampling_fraction) > delta)
    n = int(too_large[-1]) + 2 if len(too_large) else 1
    k = max(1, math.floor(gamma * n) - 1)
    while sampling_delta(k, epsilon=epsilon, sampling_fraction=sampling_fraction) > delta:
        k += 1
    return k


def _tails(n: NDArray[np.int64], gamma: float, share: float) -> NDArray[np.float64]:
    """Return P(Bin(n, share) > gamma n), rounded up."""
    from scipy.special import betainc  # noqa: PLC0415 # scipy loads late

    first = np.floor(gamma * n - _NEAR).astype(np.int64) + 1
    within = first <= n
    tails = np.zeros(len(n))
    tails[within] = betainc(first[within], n[within] - first[within] + 1, share)
    return tails * (1 + _TAIL_ERROR)


def _checked(owner: str, epsilon: float, share: float) -> tuple[float, float]:
    """Return gamma, and by how much a row more lowers the exponent of Chernoff's bound."""
    number_between(0, math.inf, owner=owner, low_open=True, high_open=True, epsilon=epsilon)
    number_between(LEAST_FRACTION, 1, owner=owner, high_open=True, sampling_fraction=share)
    if -math.log1p(-share) > epsilon:
        raise ParameterError(
            f"The 'sampling_fraction' parameter of {owner} must be at most 1 - exp(-epsilon) = "
            f"{-math.expm1(-epsilon):.6g}, for the epsilon of the sample. Got {share!r}.",
            hint="Draw a smaller share, or ask for a larger epsilon.",
        )
    gamma = 1 - (1 - share) * math.exp(-epsilon)
    decline = gamma * math.log(gamma / share) + (1 - gamma) * math.log((1 - gamma) / (1 - share))
    return gamma, decline * (1 - _TAIL_ERROR)


def _too_small(epsilon: float) -> ParameterError:
    return ParameterError(
        f"The 'epsilon' parameter is too small for a sample: classes would need millions of rows. "
        f"Got {epsilon!r}.",
        hint="Ask for a larger epsilon, or draw a smaller share.",
    )
