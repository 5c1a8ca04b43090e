"""Area: the area under the ROC curve, with bounds that also hold where it is 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask._validation import number_between

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Area:
    """The probability that a member scores higher than a non-member (a tie counts half).

    Notes
    -----
    The variance is that of DeLong, DeLong and Clarke-Pearson, "Comparing the areas under two or
    more correlated receiver operating characteristic curves" (Biometrics 1988), by ranks, held
    between the highest that any distribution allows, A(1 - A)/min(m, n) (van Dantzig 1951), and a
    third of it. It gives an effective number of trials, and that the bounds of Clopper and Pearson,
    as Korn and Graubard (Survey Methodology 1998) do for a share; unlike A ± z·s they aren't empty
    for an area of 1.

    Examples
    --------
    >>> scores = np.array([0.9, 0.8, 0.3, 0.1])
    >>> Area.of(scores, np.array([True, True, False, False])).value
    1.0
    """

    value: float
    effective: float
    trials: int

    @classmethod
    def of(cls, scores: NDArray[np.float64], member: NDArray[np.bool_]) -> Area:
        """Measure scores, higher for likelier members; a half without members or non-members."""
        from scipy.stats import rankdata  # noqa: PLC0415 # scipy loads late

        high, low = scores[member], scores[~member]
        least = min(len(high), len(low))
        if not least:
            return cls(0.5, 0.0, 0)
        ranks = rankdata(np.concatenate([high, low]))
        beaten = (ranks[: len(high)] - rankdata(high)) / len(low)
        lost = (ranks[len(high) :] - rankdata(low)) / len(high)
        value = float(beaten.mean())
        variance = beaten.var() / len(high) + lost.var() / len(low)
        spread = value * (1 - value)
        effective = spread / variance if variance > 0 else (least if spread == 0 else np.inf)
        return cls(value, float(np.clip(effective, least, 3 * least)), least)

    def bounds(self, error: float) -> tuple[float, float]:
        """Return the area's lower and upper bound, each wrong with at most this probability."""
        number_between(0, 0.5, owner="an arm's bounds", low_open=True, error=error)
        if not self.trials:
            return 0.0, 1.0
        from scipy.special import betaincinv  # noqa: PLC0415 # scipy loads late

        right = self.value * self.effective
        wrong = self.effective - right
        low = float(betaincinv(right, wrong + 1, error)) if right > 0 else 0.0
        high = float(betaincinv(right + 1, wrong, 1 - error)) if wrong > 0 else 1.0
        return low, high
