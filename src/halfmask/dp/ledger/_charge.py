"""Charge: what a ledger has booked for one question, or one model; and shares of analysts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from halfmask.dp.accounting import epsilon_of

if TYPE_CHECKING:
    from halfmask.dp.accounting import MechanismEvent

#: Letters of a purpose.
LONGEST_PURPOSE: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """Events that are paid for, before the mechanism has run.

    Parameters
    ----------
    number
        The number of the charge in its ledger, from 1.
    purpose
        What it was for: a question in SQL, or the words of who asked.
    events
        What the mechanisms do.
    booked
        When it was booked, in UTC, as in ISO 8601.
    analyst
        Who asked; ``None`` if it was the owner.
    """

    number: int
    purpose: str
    events: tuple[MechanismEvent, ...]
    booked: str
    analyst: str | None = None

    @property
    def delta(self) -> float:
        """The delta that mechanisms spend themselves, as for selected keys."""
        return math.fsum(event.spent_delta for event in self.events)

    def epsilon_at(self, delta: float) -> float:
        """Return what the charge costs by itself; together they cost at most the sum.

        Parameters
        ----------
        delta
            Of the budget.
        """
        return _epsilon_of(self.events, delta)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalystShare:
    """What an analyst was given of a budget, and what is left of it.

    Parameters
    ----------
    epsilon
        What the analyst may spend.
    spent
        What the analyst's charges cost together.
    left
        The smaller rest of the share and of the budget: either refuses a charge.
    last
        The analyst's last charge; ``None`` before the first. An answer that was paid for before
        charges nothing.
    """

    epsilon: float
    spent: float
    left: float
    last: Charge | None


@lru_cache(maxsize=1024)
def _epsilon_of(events: tuple[MechanismEvent, ...], delta: float) -> float:
    pure = math.fsum(event.pure_epsilon for event in events)
    return pure if math.isfinite(pure) else epsilon_of(events, delta=delta)
