"""How often guesses single out somebody in a table of another size.

A predicate that is true of a share w of all people is true of exactly one of n with probability
n w (1 - w)^(n - 1), so that success in a small control table can't be held against success in a
large original: Giomi et al. (PoPETs 2023), section 4.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks._arms import Arm, Combined, Counted
from halfmask.assess.attacks.tables._expected import Expected

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["alone_in_part", "control_arm", "model"]

#: At how many sizes of the control the model is fitted.
SIZES = 16


def control_arm(counts: NDArray[np.int64], turns: int, *, size: int, wanted: int) -> Arm:
    """Return how often the guesses single out somebody in the control, as if it were of a size.

    Parameters
    ----------
    counts
        Of how many people of the control each guess is true.
    turns
        How many guesses the intruder has; those beyond `counts` fail.
    size
        How many people the control has.
    wanted
        How many the original has.

    Notes
    -----
    A larger control is cut to size, in expectation over all its parts and without an error. A
    smaller one can't be enlarged: its success is multiplied by how much the paper's model says that
    it grows, the model fitted to the control's parts.
    """
    if size >= wanted:
        return Expected(float(alone_in_part(counts, size, wanted).sum()), turns)
    alone = Counted(int((counts == 1).sum()), turns)
    growth = _growth(counts, size, wanted)
    # A share stays one.
    return Combined((alone,), (min(growth, 1.0 / alone.value) if alone.value else growth,))


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


def model(n: ArrayLike, weight: float) -> NDArray[np.float64]:
    """Return the mean of n v (1 - v)^(n - 1) over shares v from 0 to a weight.

    Examples
    --------
    >>> float(model(1, 0.5))
    0.25
    """
    n = np.asarray(n, dtype=np.float64)
    stay = np.exp(n * np.log1p(-weight))
    return np.asarray((1 - stay * (1 + n * weight)) / (weight * (n + 1)))


def _growth(counts: NDArray[np.int64], size: int, wanted: int) -> float:
    """Return by how much success grows from a size to the wanted one, by the fitted model."""
    if not (counts == 1).any():
        return wanted / size
    sizes = np.unique(np.linspace(max(1, size // 8), size, SIZES).astype(np.int64))
    seen = np.array([alone_in_part(counts, size, int(part)).mean() for part in sizes])
    # A grid is enough: the model is smooth, and a fit that fails must not pass for one.
    weights = np.geomspace(1e-3 / wanted, 0.999, 400)
    curves = np.array([model(sizes, float(weight)) for weight in weights])
    factor = (curves * seen).sum(axis=1) / (curves * curves).sum(axis=1)
    best = weights[int(np.argmin(((factor[:, None] * curves - seen) ** 2).sum(axis=1)))]
    grown = float(model(wanted, float(best)) / model(size, float(best)))
    return min(grown, wanted / size)
