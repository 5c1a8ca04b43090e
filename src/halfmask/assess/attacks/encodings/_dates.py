"""Dates: where in a calendar a stretch of encoded rows lies, and which cycles the rows have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import DataError
from halfmask.assess.attacks._arms import Certain, SuccessCount
from halfmask.assess.attacks._attack import DeclaredAttack, Found
from halfmask.assess.attacks._encoding_target import EncodingTarget
from halfmask.assess.attacks.encodings._cells import number_columns, numbers

if TYPE_CHECKING:
    import polars as pl

    from halfmask.assess._arrays import Floats, Ints
    from halfmask.assess.attacks._attack import Outcome


#: The views: an encoding that masks a level may show it in changes, or in their size.
VIEWS = ("level", "change", "size of level", "size of change")


def carried(column: pl.Series) -> Floats:
    """Return a column as numbers, the one before in place of each that is missing."""
    values = numbers(column)
    present = np.isfinite(values)
    last = np.maximum.accumulate(np.where(present, np.arange(len(values)), 0))
    found = values[last]
    return np.where(np.isfinite(found), found, np.nanmean(values))


def _view(series: Floats, which: str) -> Floats:
    changes = which.endswith("change")
    seen = np.diff(series, prepend=series[0]) if changes else series - series.mean()
    return np.abs(seen) if which.startswith("size") else seen


def profile(series: Floats, period: int, which: str) -> Floats:
    """Return what is usual at each place of a cycle, smoothed over a fiftieth of it."""
    seen = _view(series, which)
    at = np.arange(len(seen)) % period
    counts = np.maximum(np.bincount(at, minlength=period), 1)
    usual = np.bincount(at, weights=seen, minlength=period) / counts
    width = max(1, period // 50) | 1
    kernel = np.ones(width) / width
    around = np.concatenate([usual[-width:], usual, usual[:width]])
    return np.convolve(around, kernel, mode="same")[width:-width]


def phases(windows: Floats, usual: Floats, which: str) -> Ints:
    """Return for each window at which place of the cycle it seems to begin.

    Notes
    -----
    The place where the correlation is highest, upwards or downwards: who encodes may have turned
    the series around.
    """
    period, length = len(usual), windows.shape[1]
    starts = (np.arange(period)[:, None] + np.arange(length)) % period
    known = usual[starts]
    known = known - known.mean(axis=1, keepdims=True)
    known /= np.maximum(np.linalg.norm(known, axis=1, keepdims=True), 1e-12)
    seen = np.stack([_view(window, which) for window in windows])
    seen = seen - seen.mean(axis=1, keepdims=True)
    fits = seen @ known.T
    if not which.startswith("size"):
        fits = np.abs(fits) if _symmetric(fits) else fits
    return np.asarray(fits.argmax(axis=1), dtype=np.int64)


def _symmetric(fits: Floats) -> bool:
    """Return whether windows fit the profile upside down better than as it is."""
    return bool(-fits.min(axis=1).mean() > fits.max(axis=1).mean())


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

    def _measure(self, target: EncodingTarget, random_state: int) -> Found:
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
        known: list[Floats],
        sent: list[Floats],
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
        return self._make_outcome(
            f"stretches dated in a period of {period}",
            SuccessCount(round(float(judged.mean()) * apart), apart),
            Certain((2 * slack + 1) / period),
            needed=(1, "stretches"),
            details={**details, "dated": float(judged.mean()), "windows": float(len(judged))},
        )


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

    def _measure(self, target: EncodingTarget, random_state: int) -> Found:
        del random_state  # nothing is drawn
        columns = [carried(target.encoded[name]) for name in number_columns(target.encoded)]
        return tuple(
            self._outcome(columns, period, view) for period in target.periods for view in _VIEWS
        )

    def _outcome(self, columns: list[Floats], period: int, view: str) -> Outcome:
        found = np.concatenate([self._ordinates(_seen(each, view), period) for each in columns])
        if not len(found):
            raise DataError(f"There are too few rows for a period of {period}.")
        high = found > -np.log(_TAILS / 2)
        low = found < -np.log1p(-_TAILS / 2)
        return self._make_outcome(
            f"harmonics of a period of {period} that stand out, by {view}",
            SuccessCount(int((high | low).sum()), len(found)),
            Certain(_TAILS),
            needed=(100, "harmonics"),
            details={"peaks": float(high.mean()), "holes": float(low.mean())},
        )

    def _ordinates(self, seen: Floats, period: int) -> Floats:
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


def _seen(series: Floats, view: str) -> Floats:
    if view == "products":
        centred = series - series.mean()
        seen = centred[1:] * centred[:-1]
    elif view == "levels":
        seen = series
    else:
        seen = np.abs(series - np.median(series)) ** (2 if view == "squares" else 1)
    return np.asarray(seen, dtype=np.float64)
