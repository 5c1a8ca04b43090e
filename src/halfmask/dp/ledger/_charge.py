"""Charge: what a ledger has booked for one question, or one model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask.dp.accounting import MechanismEvent

__all__ = ["Charge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """Events that are paid for, before the mechanism has run.

    Parameters
    ----------
    number
        The number of the charge in its ledger, from 1.
    purpose
        What it was for, in the words of who asked.
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
