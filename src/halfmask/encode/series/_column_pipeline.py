"""One column of one entity on its way out and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import DataError, SchemaError
from halfmask.encode.series._noise import PAD
from halfmask.encode.series._quantizer import LIMITS

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from halfmask.encode.series._channel import Channel, FilteredSeries
    from halfmask.encode.series._clock import SeriesClock
    from halfmask.encode.series._noise import Keystream

# What a padded step holds where its value is missing; values are centred at the middle.
_MISSING = PAD - 1
_MIDDLE = PAD // 2
# How near to a keyed number a cell is one: the normal quantile's rounding, with room.
_SAME = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """An encoded column: a number for each step, the rests of cells, and the filtered series."""

    values: NDArray[np.float64]
    rest: NDArray[np.int64]
    filtered: FilteredSeries


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPipeline:
    """How a column's steps are sent and taken back."""

    channel: Channel
    noise: Keystream
    clock: SeriesClock
    events: NDArray[np.int64]
    hidden: bool
    blinding: float

    def send(
        self,
        column: pl.Series,
        rows: NDArray[np.int64],
        positions: NDArray[np.int64],
        history: NDArray[np.float64],
    ) -> Sent:
        """Return the number to send for each step, and how it came about."""
        from halfmask.kernels.encoding.series import SEND  # noqa: PLC0415 # loads the compiler

        failed = 0
        for limit in LIMITS:
            steps, rest, present = self._on_grid(column, rows, limit)
            lost = ~present | self.sealed(positions)
            filtered = self._walk(SEND, steps, np.zeros(len(steps)), lost, positions, history)
            sent = self._dressed(filtered, steps, present, positions, rows >= 0)
            back, back_present, back_there, _ = self.take(sent, positions, history)
            wrong = (present & (back != steps)) | (present != back_present)
            if self.hidden:
                wrong |= back_there != (rows >= 0)
            if not self.channel.grain.carries:
                # Version 0.1 had no rests, and nothing that says where one is.
                wrong |= (rest != 0) & (steps % self.channel.grain.spacing == 0)
            if not wrong.any():
                return Sent(values=sent, rest=rest, filtered=filtered)
            failed = failed or int(wrong.sum())
        raise SchemaError(
            f"Column {column.name!r} has {failed} cells that would not come back exactly.",
            hint="Round the column, or fit the codec to rows of such sizes.",
        )

    def take(
        self, sent: NDArray[np.float64], positions: NDArray[np.int64], history: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], FilteredSeries]:
        """Return each step's value, whether it has one, whether it has a row, and the walk."""
        from halfmask.kernels.encoding.series import TAKE  # noqa: PLC0415 # loads the compiler

        first, n = self._span(positions)
        seen = ~np.isnan(sent)
        there, present = seen.copy(), seen.copy()
        if self.hidden:
            there = ~_same(sent, self.noise.normal("gap", first, n))
            present = there & ~_same(sent, self.noise.normal("missing", first, n))
        sealed = self.sealed(positions)
        steps = np.zeros(n)
        whole = self.noise.unpadded(np.where(seen, sent, 0.0), first)
        present &= ~(sealed & (whole == _MISSING))
        steps[sealed] = (whole - _MIDDLE)[sealed] + self.channel.grain.center
        bare = self._bare(np.where(seen, sent, 0.0), positions)
        filtered = self._walk(TAKE, steps, bare, sealed | ~present, positions, history)
        steps = np.where(sealed, steps, filtered.values)
        return steps, present, there, filtered

    def expect(
        self,
        forecasts: NDArray[np.float64],
        positions: NDArray[np.int64],
        history: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return forecasts of what will be sent as numbers of the column, one after the other."""
        from halfmask.kernels.encoding.series import ASK  # noqa: PLC0415 # loads the compiler

        bare = self.undressed(forecasts, positions)
        nothing = np.zeros(len(positions))
        filtered = self._walk(ASK, nothing, bare, nothing > 0, positions, history)
        return self.channel.grain.numbers(filtered.values)

    def judge(
        self, forecasts: NDArray[np.float64], positions: NDArray[np.int64], filtered: FilteredSeries
    ) -> NDArray[np.float64]:
        """Return forecasts as numbers of the column, each given the true values before it."""
        around = self._around(positions)
        bare = self.undressed(forecasts, positions)
        return self.channel.grain.numbers(self.channel.numbers(bare, filtered.expected, around))

    def undressed(
        self, forecasts: NDArray[np.float64], positions: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return forecasts without sign and blinding; sealed numbers are expected to be 0."""
        if not np.isfinite(forecasts).all():
            raise DataError("There are forecasts that are missing or infinite.")
        share = np.sqrt(1 - self.blinding)
        bare: NDArray[np.float64] = self.channel.sign * forecasts / share
        bare[self.sealed(positions)] = 0.0
        return bare

    def sealed(self, positions: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which steps are sent as keyed noise: events, and what was far out at the fit."""
        known = np.isin(positions, self.channel.sealed)
        return known | self.events_at(self.clock, self.events, positions)

    @staticmethod
    def events_at(
        clock: SeriesClock, events: NDArray[np.int64], positions: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return which steps lie in an event."""
        within = np.zeros(len(positions), dtype=np.bool_)
        if len(events):
            moments = positions * clock.step + clock.origin
            if clock.has_calendar:
                moments = clock.wall_clock(positions).cast(int).to_numpy()
            for first, behind in events:
                within |= (moments >= first) & (moments < behind)
        return within

    def _on_grid(
        self, column: pl.Series, rows: NDArray[np.int64], limit: float
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
        cells, rest, filled = self.channel.grain.split(column, limit=limit)
        present = (rows >= 0) & filled[rows]
        steps = np.where(present, cells[rows], self.channel.grain.center)
        return steps, np.where(present, rest[rows], np.int64(0)), present

    def _dressed(
        self,
        filtered: FilteredSeries,
        steps: NDArray[np.float64],
        present: NDArray[np.bool_],
        positions: NDArray[np.int64],
        there: NDArray[np.bool_],
    ) -> NDArray[np.float64]:
        """Put on sign, blinding, pads and what stands for missing cells."""
        first, n = self._span(positions)
        sent = self.channel.sign * filtered.sent * np.sqrt(1 - self.blinding)
        if self.blinding:
            sent = sent + np.sqrt(self.blinding) * self.noise.normal("blind", first, n)
        sealed = self.sealed(positions)
        distance = (steps - self.channel.grain.center).astype(np.int64) + _MIDDLE
        padded = self.noise.padded(np.where(present, distance, _MISSING), first)
        sent = np.where(sealed, padded, sent)
        if self.hidden:
            lost = there & ~present & ~sealed
            sent = np.where(lost, self.noise.normal("missing", first, n), sent)
            sent = np.where(there, sent, self.noise.normal("gap", first, n))
        else:
            sent = np.where(present, sent, np.nan)
        return sent

    def _bare(self, sent: NDArray[np.float64], positions: NDArray[np.int64]) -> NDArray[np.float64]:
        if self.blinding:
            first, n = self._span(positions)
            sent = sent - np.sqrt(self.blinding) * self.noise.normal("blind", first, n)
        bare: NDArray[np.float64] = self.channel.sign * sent / np.sqrt(1 - self.blinding)
        return bare

    def _around(self, positions: NDArray[np.int64]) -> NDArray[np.float64]:
        first, n = self._span(positions)
        dither = self.channel.grain.spacing * (self.noise.uniform("dither", first, n) - 0.5)
        return self.channel.around(self.clock, positions, dither)

    def _walk(
        self,
        doing: int,
        values: NDArray[np.float64],
        sent: NDArray[np.float64],
        lost: NDArray[np.bool_],
        positions: NDArray[np.int64],
        history: NDArray[np.float64],
    ) -> FilteredSeries:
        return self.channel.walk(
            doing, values=values, sent=sent, lost=lost, around=self._around(positions),
            history=history,
        )  # fmt: skip

    @staticmethod
    def _span(positions: NDArray[np.int64]) -> tuple[int, int]:
        return (int(positions[0]) if len(positions) else 0), len(positions)


def _same(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = np.abs(one - other) <= _SAME
    return same
