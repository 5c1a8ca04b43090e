"""The cycles of a calendar as columns that a level or a spread is fitted by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from halfmask.encode.series._clock import DAY
from halfmask.encode.series._least_squares import CHUNK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.encode.series._clock import SeriesClock

#: A cycle of the calendar by its name, or the number of steps of another one.
Period: TypeAlias = str | int
NAMED: tuple[str, ...] = ("day", "week", "month", "year")
_LENGTHS = {"day": DAY, "week": 7 * DAY, "month": 30.436875 * DAY, "year": 365.2425 * DAY}
# Cells of a cycle that get a level each where there are rows enough; longer ones get waves.
_MAX_CELLS = 700
_ROWS_A_CELL = 5
_WAVES = {"year": 6, "month": 2}
_LONG_WAVES = 12
#: What a profile may change along, in addition to a slower cycle.
DRIFT = "drift"
#: The column of the design that is the drift.
DRIFT_COLUMN = 1
# The profile of a day that changes over a year: waves of the year for each cell.
_CHANGING_CELLS = 48
_CHANGING_WAVES = 2
_ROWS_A_WEIGHT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One cycle: a level for each of ``cells``, or ``waves`` sines and cosines.

    With ``slow`` each cell's level goes in ``slow_waves`` waves of that slower cycle, or along the
    drift and its square.
    """

    period: Period
    cells: int
    waves: int
    slow: Period = ""
    slow_waves: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seasons:
    """The cycles that are fitted to a series."""

    terms: tuple[Term, ...]
    unfitted: tuple[str, ...]
    lengths: tuple[int, ...]
    first: int
    last: int

    @classmethod
    def of(
        cls, clock: SeriesClock, periods: tuple[Period, ...] | None, *, first: int, last: int
    ) -> Seasons:
        """Choose how each cycle is fitted to these steps; all of the calendar's where None."""
        steps = last - first + 1
        named = periods if periods is not None else NAMED if clock.has_calendar else ()
        lengths = sorted({steps_of(clock, period): period for period in named}.items())
        longer = [(length, period) for length, period in lengths if length >= 2]
        # Two whole cycles, the last step of the second aside.
        fitted = [(length, period) for length, period in longer if steps + 1 >= 2 * length]
        terms = [_term(clock, length, period, steps) for length, period in fitted]
        terms += _changing(terms, fitted, steps)
        return cls(
            terms=tuple(terms),
            unfitted=tuple(str(period) for length, period in longer if steps + 1 < 2 * length),
            # Months have no length in steps that a filter could look back by.
            lengths=tuple(round(length) for length, period in fitted if period != "month"),
            first=first,
            last=last,
        )

    def design(self, clock: SeriesClock, positions: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return a row for each step: 1, the drift, and the columns of each term."""
        passed = np.clip(positions, self.first, self.last) - self.first
        drift = passed / (self.last - self.first + 1) - 0.5
        columns = [np.ones((len(positions), 1)), drift[:, None]]
        for term in self.terms:
            phase = _phase(clock, positions, term.period)
            block = _cells(phase, term.cells) if term.cells else _waves(phase, term.waves)
            if term.slow:
                slow = np.stack([drift, drift**2 - 1 / 12], axis=1)
                if term.slow != DRIFT:
                    slow = _waves(_phase(clock, positions, term.slow), term.slow_waves)
                block = np.hstack([block * wave[:, None] for wave in slow.T])
            columns.append(block)
        return np.hstack(columns)

    def beyond(self, positions: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how much further than in the design a drift is that goes on behind the fit."""
        behind: NDArray[np.float64] = np.maximum(positions - self.last, 0.0)
        return behind / (self.last - self.first + 1)

    def along(
        self, clock: SeriesClock, positions: NDArray[np.int64], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return what each row of weights says of each step, (weights, steps)."""
        values = np.empty((len(weights), len(positions)))
        for start in range(0, len(positions), CHUNK):
            chunk = slice(start, start + CHUNK)
            values[:, chunk] = (self.design(clock, positions[chunk]) @ weights.T).T
        return values


def steps_of(clock: SeriesClock, period: Period) -> float:
    """Return how many steps a cycle has."""
    if isinstance(period, int):
        return float(period)
    if clock.months:
        return {"year": 12.0}.get(period, 0.0) / clock.months
    return _LENGTHS[period] / clock.step


def _changing(terms: list[Term], fitted: list[tuple[float, Period]], steps: int) -> list[Term]:
    """Return the terms of a short cycle's profile that changes over the years."""
    cells = [term for term in terms if 0 < term.cells <= _CHANGING_CELLS]
    if not cells:
        return []
    term, found = cells[0], []
    weights = 2 * _CHANGING_WAVES * term.cells
    yearly = any(period == "year" and length > 2 * _CHANGING_CELLS for length, period in fitted)
    if yearly and steps >= _ROWS_A_WEIGHT * weights:
        found.append(replace(term, slow="year", slow_waves=_CHANGING_WAVES))
    if steps >= 2 * _ROWS_A_WEIGHT * weights:
        found.append(replace(term, slow=DRIFT, slow_waves=_CHANGING_WAVES))
    return found


def _term(clock: SeriesClock, length: float, period: Period, steps: int) -> Term:
    whole = period in ("day", "week") or isinstance(period, int) or bool(clock.months)
    if whole and length == int(length) and length <= min(_MAX_CELLS, steps // _ROWS_A_CELL):
        return Term(period=period, cells=int(length), waves=0)
    most = _WAVES.get(str(period), _LONG_WAVES)
    return Term(period=period, cells=0, waves=max(1, min(most, int((length - 1) // 2))))


def _phase(clock: SeriesClock, positions: NDArray[np.int64], period: Period) -> NDArray[np.float64]:
    """Return where in a cycle each step lies, in [0, 1)."""
    if isinstance(period, int):
        return (positions % period) / period
    wall = clock.wall_clock(positions)
    ticks = wall.cast(int).to_numpy()
    if period in ("day", "week"):
        # 1970 began on a Thursday; weeks begin on Monday.
        return ((ticks + 3 * DAY) % _LENGTHS[period]) / _LENGTHS[period]
    if clock.months:
        return (wall.dt.month().to_numpy() - 1) / 12
    unit = "datetime64[M]" if period == "month" else "datetime64[Y]"
    floor = ticks.astype("datetime64[us]").astype(unit)
    first = floor.astype("datetime64[us]").astype(np.int64)
    after = (floor + 1).astype("datetime64[us]").astype(np.int64)
    phase: NDArray[np.float64] = (ticks - first) / (after - first)
    return phase


def _cells(phase: NDArray[np.float64], cells: int) -> NDArray[np.float64]:
    # The phase of a cell's beginning may lie a rounding below it.
    place = np.floor(phase * cells + 1e-6).astype(np.int64) % cells
    block = np.zeros((len(phase), cells))
    block[np.arange(len(phase)), place] = 1.0
    return block


def _waves(phase: NDArray[np.float64], waves: int) -> NDArray[np.float64]:
    angle = 2 * np.pi * np.outer(phase, np.arange(1, waves + 1))
    return np.hstack([np.cos(angle), np.sin(angle)])
