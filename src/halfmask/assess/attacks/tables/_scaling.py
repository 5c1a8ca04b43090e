"""How often guesses single out a person, in tables of one size.

A predicate that is true of a share w of all people is true of exactly one of n with probability
n w (1 - w)^(n - 1), so that success in a small control table can't be held against success in a
large original: Giomi et al. (PoPETs 2023), section 4.1. They let the control's success grow to the
original's size by a fitted model; how wrong a fit to few people may be is in no bound, so that
releases that disclosed nothing were broken. Here the larger table is cut to the size of the smaller
one, in expectation over all its parts, which needs no model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks._arms import Arm, Combined, SuccessCount
from halfmask.assess.attacks.tables._expected import Expected

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def alone_arm(counts: NDArray[np.int64], n_guesses: int, *, size: int, part: int) -> Arm:
    """Return how often guesses single out a person in a random part of a table.

    Notes
    -----
    Surest to be true of exactly one of the part is a guess that is true of about ``size / part``
    people. Trials that all lie below that have a mean with nearer bounds.
    """
    if part == size:
        return SuccessCount(int((counts == 1).sum()), n_guesses)
    most = float(alone_in_part(np.arange(1, size + 1), size, part).max())
    total = float(alone_in_part(counts, size, part).sum())
    return Combined((Expected(total / most, n_guesses),), (most,))


def alone_in_part(counts: ArrayLike, size: int, part: int) -> NDArray[np.float64]:
    """Return the probability that exactly one of those counted is in a random part of a table.

    Examples
    --------
    >>> alone_in_part([0, 1, 2], 4, 2).round(3).tolist()
    [0.0, 0.5, 0.667]
    """
    from scipy.special import gammaln  # noqa: PLC0415 # scipy loads late

    m = np.asarray(counts, dtype=np.float64)
    possible = (m >= 1) & (size - m >= part - 1)
    safe = np.where(possible, m, 1.0)

    def log_choose(n: ArrayLike, k: float) -> NDArray[np.float64]:
        n = np.asarray(n, dtype=np.float64)
        return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))

    logs = np.log(safe) + log_choose(size - safe, part - 1) - log_choose(size, part)
    return np.where(possible, np.exp(logs), 0.0)
