"""Private selection of keys: a key is answered only if enough persons share it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask.dp.accounting import EpsilonDeltaEvent
from halfmask.dp.noise import LaplaceMechanism

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.dp.ledger import PrivacyUnit


@dataclass(frozen=True)
class KeySelection:
    """Which groups are answered: those whose number of persons, with noise, reaches a threshold.

    Guarantees
    ----------
    The set of groups is (epsilon, delta)-differentially private. Two neighbouring tables differ in
    the persons of at most ``max_groups`` groups, by 1 each. Groups that both tables have are
    covered by the noise. A group that only one has holds a single person: it reaches the threshold
    with at most delta / ``max_groups``.

    Notes
    -----
    Korolova, Kenthapadi, Mishra and Ntoulas 2009; Wilson et al. 2020, section 3.
    """

    epsilon: float
    delta: float
    unit: PrivacyUnit

    @property
    def mechanism(self) -> LaplaceMechanism:
        """The noise on the number of persons of each group."""
        sensitivity = float(self.unit.max_groups)
        return LaplaceMechanism.calibrated(sensitivity=sensitivity, epsilon=self.epsilon)

    @property
    def threshold(self) -> float:
        """The least number of persons, with noise, of a group that is answered.

        It is 1 and what the noise exceeds with delta / ``max_groups``, rounded up.
        """
        share = self.delta / self.unit.max_groups
        exceeded = max(0.0, -math.log(2 * share))
        return 1 + self.mechanism.scale * (exceeded + 1e-6)

    def event(self) -> EpsilonDeltaEvent:
        """Return what the selection costs."""
        return EpsilonDeltaEvent(epsilon=self.epsilon * (1 + 1e-8), delta=self.delta)

    def selected(self, persons: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which groups are answered."""
        if not persons.size:
            return np.zeros(0, dtype=bool)
        return np.asarray(self.mechanism.release(persons) >= self.threshold)
