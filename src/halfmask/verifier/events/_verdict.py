"""The result of a recount: of each claim, whether it holds and what could be counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One claim, recounted.

    Parameters
    ----------
    claim
        Which: its kind, and number or name.
    holds
        Whether nothing speaks against it.
    counted
        What was counted: ``entities``, the claim itself; ``sessions`` or ``events``, at least one
        for each entity; ``cells``, the numbers in the lines; ``nothing``, if the lines don't say
        what is needed. Then only the manifest states it.
    least
        The smallest count that was found; None where there was nothing to count.
    failures
        How many classes, sets or cells had fewer than claimed.
    guarantee
        What is claimed, in words: how many at least, and for which fields. It comes from the
        claims, so a name in it may be any text.
    windows
        In how many windows that was counted; None of cells, which say their window.
    stated
        The smallest count that the run states as evidence; None if it states none.
    problem
        Why the evidence is false, in a sentence; empty if it isn't.
    unverified
        Which number of the claim or its evidence the lines can't confirm; empty if they can.
    """

    claim: str
    holds: bool
    counted: Literal["entities", "sessions", "events", "cells", "nothing"]
    least: int | None
    failures: int
    guarantee: str = ""
    windows: int | None = None
    stated: int | None = None
    problem: str = ""
    unverified: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsVerdict:
    """All claims of a file, recounted.

    Parameters
    ----------
    checks
        One for each claim.
    lines
        How many lines were read.
    """

    checks: tuple[Check, ...]
    lines: int

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against any claim."""
        return all(check.holds for check in self.checks)
