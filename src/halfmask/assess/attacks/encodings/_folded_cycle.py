"""Cycles: which period encoded rows have, by what folding them shows, a peak or a hole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import DataError
from halfmask.assess.attacks._arms import Certain, SuccessCount
from halfmask.assess.attacks._attack import DeclaredAttack
from halfmask.assess.attacks._encoding_target import EncodingTarget
from halfmask.assess.attacks._outcome import Outcome
from halfmask.assess.attacks.encodings._calendar import carried
from halfmask.assess.attacks.encodings._cells import number_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

_VIEWS = ("levels", "sizes", "squares", "products")
# Of noise's ordinates, this share lies below the low or above the high bound: both ends alike.
_TAILS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedCycle(DeclaredAttack, name="encodings/folded-cycle", target=EncodingTarget):
    """Find a period in encoded rows, without any known row.

    Parameters
    ----------
    around
        With how many frequencies to each side a period's own are compared, at least 10.

    Notes
    -----
    Folding rows at a period is taking their spectrum at the period's harmonics (Bartlett 1963 on
    the periodogram). An ordinate there is compared with the mean of its neighbours: that of noise
    is exponential. The period is found where it lies in one of both tails, 2.5 % each: a peak is a
    cycle that was left in, a *hole* one that was taken out by a model fitted to the same rows. Rows
    are seen as levels, as sizes, as squares, and as products of neighbours; for each period and
    view there is one finding. Control: 5 % of the harmonics.

    **Edge cases.** Missing numbers are taken for the one before them. A period of two rows has one
    harmonic, at the end of the spectrum, which is left out.
    """

    around: int = field(default=30, metadata={"ge": 10})

    def missing_inputs(self, target: EncodingTarget) -> str:
        """Return what is missing: a period, or numbers."""
        if not target.periods:
            return "periods of a calendar"
        return "" if number_columns(target.encoded) else "ordered columns"

    def run(self, target: EncodingTarget, *, random_state: int) -> tuple[Outcome, ...]:
        """Return, for each period and view, how many harmonics stand out."""
        del random_state  # nothing is drawn
        columns = [carried(target.encoded[name]) for name in number_columns(target.encoded)]
        return tuple(
            self._outcome(columns, period, view) for period in target.periods for view in _VIEWS
        )

    def _outcome(self, columns: list[NDArray[np.float64]], period: int, view: str) -> Outcome:
        found = np.concatenate([self._ordinates(_seen(each, view), period) for each in columns])
        if not len(found):
            raise DataError(f"There are too few rows for a period of {period}.")
        high = found > -np.log(_TAILS / 2)
        low = found < -np.log1p(-_TAILS / 2)
        return Outcome(
            attack=self.name,
            measure=f"harmonics of a period of {period} that stand out, by {view}",
            success=SuccessCount(int((high | low).sum()), len(found)),
            control=Certain(_TAILS),
            needed=100,
            needed_of="harmonics",
            details={"peaks": float(high.mean()), "holes": float(low.mean())},
        )

    def _ordinates(self, seen: NDArray[np.float64], period: int) -> NDArray[np.float64]:
        """Return the spectrum at a period's harmonics, by the mean of what lies around each."""
        cycles = len(seen) // period
        if cycles < 4 or period < 3:
            return np.empty(0)
        seen = seen[: cycles * period]
        power = np.abs(np.fft.rfft(seen - seen.mean()))[: (len(seen) + 1) // 2] ** 2
        harmonic = np.arange(len(power)) % cycles == 0
        others = np.where(harmonic, 0.0, power)
        width = np.ones(2 * self.around + 1)
        around = np.convolve(others, width, mode="full")[self.around : self.around + len(power)]
        counts = np.convolve(~harmonic, width, mode="full")[self.around : self.around + len(power)]
        local = around / np.maximum(counts, 1)
        at = np.flatnonzero(harmonic)[1:]
        at = at[local[at] > 0]
        return np.asarray(power[at] / local[at], dtype=np.float64)


def _seen(series: NDArray[np.float64], view: str) -> NDArray[np.float64]:
    if view == "products":
        centred = series - series.mean()
        seen = centred[1:] * centred[:-1]
    elif view == "levels":
        seen = series
    else:
        seen = np.abs(series - np.median(series)) ** (2 if view == "squares" else 1)
    return np.asarray(seen, dtype=np.float64)
