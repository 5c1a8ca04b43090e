"""Plan of a training: what it costs, and how large its noise is, before a row is read."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from halfmask._errors import NoiseWarning

if TYPE_CHECKING:
    from halfmask.dp.accounting import MechanismEvent

#: Rows differ, so that together they add about a tenth of the most that they could.
ENOUGH: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """What a training costs, and how large its noise is, before a row is read.

    Parameters
    ----------
    epsilon, delta
        The budget.
    events
        What is booked.
    noise
        The noise in words.
    rows
        So many rows can add as much as the noise, at most.
    """

    epsilon: float
    delta: float
    events: tuple[MechanismEvent, ...]
    noise: str
    rows: float

    def explain(self) -> str:
        """Return the plan in words: cost, noise, and how many rows it takes."""
        cost = f"Costs epsilon {self.epsilon:g}" + (f", delta {self.delta:g}" if self.delta else "")
        return (
            f"{cost}. {self.noise} It is as large as what {math.ceil(self.rows):,} rows add at "
            f"most. Rows differ, so have {math.ceil(ENOUGH * self.rows):,} or more."
        )


def warn_of_noise(owner: str, *, noise: float, signal: float, hint: str) -> None:
    """Warn if noise exceeds what was learned, by numbers that are released or public."""
    if noise > signal:
        warnings.warn(
            f"The noise of {owner} exceeds what was learned: predictions can be little better than "
            f"chance. Training was charged all the same. {hint}",
            NoiseWarning,
            stacklevel=4,
        )
