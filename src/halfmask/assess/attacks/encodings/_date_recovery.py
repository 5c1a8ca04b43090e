"""Dates: where in the week or the year a stretch of encoded rows lies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import DataError
from halfmask.assess.attacks._arms import Certain, SuccessCount
from halfmask.assess.attacks._attack import DeclaredAttack
from halfmask.assess.attacks._encoding_target import EncodingTarget
from halfmask.assess.attacks._outcome import Outcome
from halfmask.assess.attacks.encodings._calendar import VIEWS, carried, phases, profile
from halfmask.assess.attacks.encodings._cells import number_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_WINDOWS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class DateRecovery(DeclaredAttack, name="encodings/date-recovery", target=EncodingTarget):
    """Date stretches of an encoded series by the seasons of an earlier one.

    Parameters
    ----------
    cycles
        How long a stretch is, in periods, at least 1. A period that the rows hold fewer than four
        times is dated by quarters of it.
    n_windows
        How many stretches are dated at most.

    Notes
    -----
    The attacker knows the first half of the rows with their dates, in the original and as it left,
    and dates stretches of the second half as it left: by the highest correlation of their level,
    their change, or the size of either, with what is usual at each place of the calendar. A stretch
    counts as dated where its place is right, or off by a fiftieth of the period. Which column and
    which view is best is learnt from half of the stretches, and counted on the others; for each
    period of the target there is one finding. Control: guessing among the places of the calendar.

    Seasons date a series as Naveed-like frequencies name a category: a global shift of days was
    undone in half of all cases by correlation (our measurements).

    **Edge cases.** Missing numbers are taken for the one before them.
    """

    cycles: int = field(default=2, metadata={"ge": 1})
    n_windows: int = field(default=_MAX_WINDOWS, metadata={"ge": 2})

    def missing_inputs(self, target: EncodingTarget) -> str:
        """Return what is missing: a period, or numbers."""
        if not target.periods:
            return "periods of a calendar"
        both = number_columns(target.original) and number_columns(target.encoded)
        return "" if both else "ordered columns"

    def run(self, target: EncodingTarget, *, random_state: int) -> tuple[Outcome, ...]:
        """Date stretches, and return how many are dated for each period."""
        half = target.original.height // 2
        known = [carried(target.original[name])[:half] for name in number_columns(target.original)]
        sent = [carried(target.encoded[name]) for name in number_columns(target.encoded)]
        found = []
        for period in target.periods:
            rng = np.random.default_rng([random_state, period])
            found.append(self._dated(known, sent, half, period, rng))
        return tuple(found)

    def _dated(
        self,
        known: list[NDArray[np.float64]],
        sent: list[NDArray[np.float64]],
        half: int,
        period: int,
        rng: np.random.Generator,
    ) -> Outcome:
        n_rows = len(sent[0]) - half
        length = self.cycles * period if n_rows >= 4 * period else max(2, period // 4)
        if n_rows <= length + 1 or half < period:  # one stretch to learn from, one to judge by
            raise DataError(f"There are too few rows for a period of {period}.")
        starts = np.arange(n_rows - length)
        starts = rng.permutation(starts)[: self.n_windows]
        slack = period // 50
        truth = (starts + half) % period
        best, right = -1.0, np.zeros(len(starts), dtype=np.bool_)
        details: dict[str, float] = {}
        learnt = np.arange(len(starts)) % 2 == 0
        for column in sent:
            series = column[half:]
            windows = np.stack([series[start : start + length] for start in starts])
            for which in VIEWS:
                for each in (*known, column[:half]):
                    found_phases = phases(windows, profile(each, period, which), which)
                    apart = np.abs(found_phases - truth)
                    hit = np.minimum(apart, period - apart) <= slack
                    share = float(hit[learnt].mean())
                    details[which] = max(details.get(which, 0.0), share)
                    if share > best:
                        best, right = share, hit
        judged = right[~learnt]
        # Stretches overlap: as many are independent as fit side by side.
        apart = min(len(judged), max(1, n_rows // length))
        return Outcome(
            attack=self.name,
            measure=f"stretches dated in a period of {period}",
            success=SuccessCount(round(float(judged.mean()) * apart), apart),
            control=Certain((2 * slack + 1) / period),
            needed=1,
            needed_of="stretches",
            details={**details, "dated": float(judged.mean()), "windows": float(len(judged))},
        )
