"""Fit the model of one series, stage by stage, until what is left remembers nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from halfmask.encode.series._channel import (
    Channel,
    Filter,
    ScoreMap,
    candidates,
    fits,
    to_signed_power,
)
from halfmask.encode.series._least_squares import Regression, ljung_box, tested_lags
from halfmask.encode.series._noise import Veil

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.encode.series._clock import SeriesClock
    from halfmask.encode.series._quantizer import Quantizer
    from halfmask.encode.series._seasons import Seasons


_ROUNDS = 3


def carry_forward(series: NDArray[np.float64], present: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the series with the last value in place of each missing one."""
    places = np.where(present, np.arange(len(series)), -1)
    last = np.maximum.accumulate(places)
    return series[np.where(last < 0, int(present.argmax()), last)]


def past_of(
    series: NDArray[np.float64],
    present: NDArray[np.bool_],
    rows: NDArray[np.int64],
    sets: tuple[tuple[int, ...], ...],
) -> tuple[Filter, NDArray[np.float64]]:
    """Return the filter that says most of the next value, and the series as it looks back at it.

    A missing value is its forecast by the filter. A line drawn through a gap would end in a value
    that is unknown, and a filter that is fitted to it is wrong behind every gap.
    """
    filled = carry_forward(series, present)
    found = [(float(np.mean(series[rows] ** 2)), Filter.none(), filled)]
    whole = bool(present.all())
    for _ in range(1 if whole else _ROUNDS):
        tried = fits(filled, rows, sets) + fits(filled, rows, sets, differenced=True)
        if not tried:
            break
        best = min(tried, key=lambda fit: fit.aicc).filter
        if whole:
            return best, filled
        filled = _fill_gaps(best, filled, present)
        missed = float(np.mean(rest_of(best, filled, present)[rows] ** 2))
        if not np.isfinite(missed):
            break
        found.append((missed, best, filled))
    _, past, filled = min(found, key=lambda one: one[0])
    return past, filled


def rest_of(
    past: Filter, series: NDArray[np.float64], present: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return what a filter misses of each value, its own words in place of missing ones."""
    filled = series if present.all() else _fill_gaps(past, series, present)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.clip(filled - past.along(filled), -1e100, 1e100)


def _fill_gaps(
    past: Filter, series: NDArray[np.float64], present: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the series with what a filter says in place of each missing value."""
    from halfmask.kernels.encoding.series import SEND, walk  # noqa: PLC0415 # loads the compiler

    n, reach, none = len(series), max(past.reach, 1), Filter.none()
    histories = np.zeros((3, reach + n))
    around = np.zeros((5, n))
    around[1] = 1.0
    line = np.array([-1.0, 1.0])
    walk(
        SEND, series.copy(), np.zeros(n), (~present).astype(np.int8), around,
        np.array([1.0, 1.0, 0.0, past.constant, 0.0, 1.0]), past.lags, past.weights,
        none.lags, none.weights, none.lags, none.weights, line, line, histories, np.empty((3, n)),
    )  # fmt: skip
    return histories[0, reach:]


_POWERS = (1.0, 0.5, 0.0)
# Rows that a model is fitted to: the last ones of a longer series.
_MAX_ROWS = 200_000
# Values beyond this many robust spreads pull a level no harder.
_WINSOR = 4.0
_MAD = 1.4826
# No more than this share of the rows is sealed for being far out.
_MAX_SEALED = 0.01
# A longer filter is tried below this p-value: what is sealed later and other lags need room.
_WHITE_ENOUGH = 0.25
# What noise adds to what a filter misses is a few hundredths of it: a larger share runs away.
_NOISIER = 1.5
# Where 0 lies further away than so many steps, a logarithm hardly bends, and loses steps.
_FAR_ZERO = 2.0**44
# Series of fewer values than this have a level and a spread, and nothing else.
_FEW = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting:
    """What a series' model is fitted to."""

    clock: SeriesClock
    seasons: Seasons
    grain: Quantizer
    positions: NDArray[np.int64]
    steps: NDArray[np.float64]
    present: NDArray[np.bool_]
    far: float
    noise: NDArray[np.float64]

    def channel(self) -> Channel:
        """Return the fitted model, without its sign and its sealed events."""
        stages = _Stages(self)
        channel = stages.channel()
        rows = np.flatnonzero(self.present)
        if not np.isfinite(self.far) or len(rows) < _FEW:
            return channel
        size = np.abs(stages.residuals - np.median(stages.residuals[rows]))
        spread = _MAD * float(np.median(size[rows])) or 1.0
        most = max(1, int(_MAX_SEALED * len(rows)))
        furthest = rows[np.argsort(-size[rows], kind="stable")[:most]]
        out = furthest[size[furthest] > self.far * spread]
        if not len(out):
            return channel
        present = self.present.copy()
        present[out] = False
        again = _Stages(replace(self, present=present), power=channel.power).channel()
        return replace(again, sealed=np.sort(self.positions[out]))


class _Stages:
    """The stages of one fit; each fits the rest of the one before."""

    def __init__(self, fitting: Fitting, *, power: float | None = None) -> None:
        self._it = fitting
        self._power = power
        self._n = len(fitting.steps)
        self._rows = np.flatnonzero(fitting.present)[-_MAX_ROWS:].astype(np.int64)
        self._sets = candidates(len(self._rows), fitting.seasons.lengths)
        self.residuals = np.empty(0)

        def design(chunk: NDArray[np.int64]) -> NDArray[np.float64]:
            return fitting.seasons.design(fitting.clock, fitting.positions[chunk])

        self._calendar = Regression(design, self._rows, self._n)

    def channel(self) -> Channel:
        """Go through all stages."""
        rows, calendar = self._rows, self._calendar
        power, scale, center = self._bend()
        turned = to_signed_power((self._it.steps - center) / scale, power)
        level = self._level(turned)
        width, wide = self._width(turned - calendar.along(level))
        past, v = past_of(
            (turned - calendar.along(level)) / wide, self._it.present, rows, self._sets
        )
        mirror = _mirror(past, v)
        missed = v - past.along(np.concatenate([mirror, v]))[len(mirror) :]
        spread, rho = self._width(missed)
        sizes, shift = self._sizes(missed, rho)
        volatile = self._volatile(sizes)
        expected = np.clip(volatile.along(sizes), -3, 3)
        self.residuals = missed / (rho * np.exp(expected))
        scores = ScoreMap.of(self.residuals[rows])
        channel = Channel(
            grain=self._it.grain, power=power, scale=scale, center=center,
            seasons=self._it.seasons, level=level, width=width, spread=spread,
            tilt=np.zeros(calendar.width), past=past, volatile=volatile, polish=Filter.none(),
            shift=shift, tau=1.0, scores=scores, before=np.zeros((3, 1)), sign=1.0,
            sealed=np.empty(0, np.int64), whiteness=(),
        )  # fmt: skip
        channel, g = self._as_noise(replace(channel, before=_before(channel, mirror)))
        polish, tau, whiteness = self._polish(g, past)
        channel = replace(channel, polish=polish, tau=tau, whiteness=whiteness)
        return replace(channel, before=_before(channel, mirror))

    def _as_noise(self, channel: Channel) -> tuple[Channel, NDArray[np.float64]]:
        """Return the model with its tilt, and scores that have the calendar of noise."""
        it, calendar, g = self._it, self._calendar, self._walked(channel)
        if len(self._rows) < _FEW:
            return channel, np.where(it.present, g, 0.0)
        veil = Veil.of(g, it.noise, self._rows, calendar)
        # Nothing is drawn yet: scores are filtered once more, as spread as noise.
        flat = replace(channel, veil=replace(veil, drawn=0 * veil.drawn))
        g = self._walked(flat)
        tilt = self._calendar.weights(g)
        rest = g - calendar.along(tilt)
        veil = replace(veil, drawn=veil.drawn * float(np.std(rest[self._rows])))
        g = np.where(it.present, rest + calendar.along(veil.drawn), 0.0)
        return replace(channel, tilt=tilt, veil=veil), g

    def _walked(self, channel: Channel) -> NDArray[np.float64]:
        """Return the scores as they will be: what is missing is predicted there, not drawn."""
        from halfmask.kernels.encoding.series import SEND  # noqa: PLC0415 # loads the compiler

        # The steps are dithered already.
        around = channel.around(self._it.clock, self._it.positions, np.zeros(self._n))
        filtered = channel.walk(
            SEND, values=self._it.steps, sent=np.zeros(self._n), lost=~self._it.present,
            around=around, history=channel.before,
        )  # fmt: skip
        return filtered.sent

    def _bend(self) -> tuple[float, float, float]:
        """Choose power, scale and centre, by a rough model's likelihood (Box and Cox 1964)."""
        rows, grain = self._rows, self._it.grain
        steps = self._it.steps[rows]
        spread = float(np.std(steps)) or 1.0
        low = max(1.0 * grain.spacing, 0.05 * float(np.median(np.abs(steps - grain.zero))))
        choices = {power: (power, low, grain.zero) for power in _POWERS}
        choices[1.0] = (1.0, spread, grain.center)
        if self._power is not None:
            return choices[self._power]
        if len(rows) < _FEW or abs(grain.zero) > _FAR_ZERO:
            return choices[1.0]
        return max(choices.values(), key=lambda choice: self._likelihood(*choice))

    def _likelihood(self, power: float, scale: float, center: float) -> float:
        y = (self._it.steps - center) / scale
        turned = to_signed_power(y, power)
        rest = turned - self._calendar.along(self._level(turned))
        _, wide = self._width(rest)
        known = carry_forward(rest / wide, self._it.present)
        best = min(fits(known, self._rows, [(1, 2, 3)]), key=lambda fit: fit.aicc)
        slope = (power - 1) * np.log1p(np.abs(y)) - np.log(scale)
        return -best.aicc / 2 + float(np.sum((slope - np.log(wide))[self._rows]))

    def _level(self, target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weights of the level, on which single values pull only so hard."""
        if len(self._rows) < _FEW:
            return self._flat(float(np.median(target[self._rows])))
        fitted = self._calendar.along(self._calendar.weights(target))
        rest = (target - fitted)[self._rows]
        bound = _WINSOR * _MAD * float(np.median(np.abs(rest)))
        return self._calendar.weights(fitted + np.clip(target - fitted, -bound, bound))

    def _width(self, rest: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the weights of the log spread, and the spread at each step."""
        rows = self._rows
        typical = max(float(np.sqrt(np.mean(rest[rows] ** 2))), 1e-12)
        if len(rows) < _FEW:
            return self._flat(np.log(typical)), np.full(self._n, typical)
        weights = self._calendar.weights(np.log(np.abs(rest) + 0.02 * typical))
        spread = np.exp(self._calendar.along(weights))
        factor = float(np.sqrt(np.mean((rest[rows] / spread[rows]) ** 2))) or 1.0
        weights[0] += np.log(factor)
        return weights, spread * factor

    def _flat(self, value: float) -> NDArray[np.float64]:
        weights = np.zeros(self._calendar.width)
        weights[0] = value
        return weights

    def _volatile(self, sizes: NDArray[np.float64]) -> Filter:
        """Return what past sizes say of the next."""
        from halfmask.kernels.encoding.series import FLOOR  # noqa: PLC0415 # loads the compiler

        found = fits(sizes, self._rows, self._sets, constant=False)
        best = min(found, key=lambda fit: fit.aicc).filter if found else Filter.none()
        if not self._helps(best, sizes):
            return Filter.none()
        return self._noisy(best, best.lags, sizes, np.log(np.abs(self._it.noise) + FLOOR))

    def _noisy(
        self,
        best: Filter,
        lags: NDArray[np.int64],
        series: NDArray[np.float64],
        noise: NDArray[np.float64],
    ) -> Filter:
        """Return a filter whose rest has as much memory at its lags as noise has, and not none.

        Least squares leave no correlation at the lags that they look back at: a hole that shows
        which they are. What the same lags would say of noise is left in.
        """
        if not len(lags):
            return best
        rows, sets = self._rows, [tuple(int(lag) for lag in lags)]
        rest = rest_of(best, series, self._it.present)[rows]
        noise = (noise - noise[rows].mean()) * float(np.std(rest) / np.std(noise[rows]))
        own = fits(series, rows, sets, constant=False)
        drawn = fits(series, rows, sets, constant=False, target=noise)
        if not own or not drawn:
            return best
        weights = own[0].filter.weights - drawn[0].filter.weights
        noisy = Filter(lags=lags, weights=weights, constant=0.0)
        left = rest_of(noisy, series, self._it.present)[rows]
        return noisy if np.mean(left**2) <= _NOISIER * np.mean(rest**2) else best

    def _helps(self, past: Filter, series: NDArray[np.float64]) -> bool:
        """Return whether a filter misses less than none does, over gaps too."""
        missed = rest_of(past, series, self._it.present)[self._rows]
        return bool(np.mean(missed**2) <= np.mean(series[self._rows] ** 2))

    def _sizes(
        self, missed: NDArray[np.float64], rho: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], float]:
        from halfmask.kernels.encoding.series import FLOOR  # noqa: PLC0415 # loads the compiler

        sizes = np.log(np.abs(missed) / rho + FLOOR)
        shift = -float(np.mean(sizes[self._rows]))
        return np.where(self._it.present, sizes + shift, 0.0), shift

    def _polish(
        self, g: NDArray[np.float64], past: Filter
    ) -> tuple[Filter, float, tuple[tuple[int, float], ...]]:
        """Return what past scores say of the next: as much as makes the rest white."""
        lags = tested_lags(len(self._rows), self._it.seasons.lengths)
        found = sorted(fits(g, self._rows, self._sets, constant=False), key=lambda fit: fit.aicc)
        ladder = [fit.filter for fit in found[:1]] or [Filter.none()]
        longer = [fit.filter for fit in found if len(fit.filter.lags) > len(ladder[0].lags)]
        ladder += sorted(longer, key=lambda it: len(it.lags))
        ladder = [it for it in ladder if self._helps(it, g)] or [Filter.none()]
        tested = []
        for polish in ladder:
            rest = rest_of(polish, g, self._it.present)
            rest = np.where(self._it.present, rest, np.nan)
            tested.append((polish, ljung_box(rest, lags)))
            if all(p > _WHITE_ENOUGH for _, p in tested[-1][1]):
                break
        best, whiteness = max(tested, key=lambda one: min((p for _, p in one[1]), default=1.0))
        best = self._noisy(best, np.union1d(best.lags, past.lags), g, self._it.noise)
        rest = rest_of(best, g, self._it.present)
        tau = max(float(np.std(rest[self._rows])) if len(self._rows) > 1 else 1.0, 1e-6)
        return best, tau, whiteness


def _before(channel: Channel, mirror: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what the first step looks back at: mirrored levels, and sizes and scores of 0."""
    before = np.zeros((3, channel.reach))
    if len(mirror):
        before[0, -len(mirror) :] = mirror
    return before


def _mirror(past: Filter, v: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a past for the first step: the first values in a mirror, turned if that fits better.

    A stationary series goes on in a plain mirror, a rising one turned around its first value.
    """
    reach = past.reach
    if len(v) <= reach:
        return np.full(reach, v[0])
    ahead = v[1 : reach + 1][::-1]

    def missed(level: NDArray[np.float64]) -> float:
        whole = np.concatenate([level, v[:reach]])
        return float(np.sum((whole - past.along(whole))[reach:] ** 2))

    return min((ahead, 2 * v[0] - ahead), key=missed)
