"""What encoded time series tell, and what forecasts of them are worth: bike sharing and CO2.

Three arms each: the series as it is, its differences, and what `SeriesCodec` sends. The first two
must be broken by the same tests, or a test that the third passes says nothing.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import binom, chi2

from halfmask.encode import SeriesCodec
from halfmask.vault import Secret

Numbers = NDArray[np.float64]
FOLDER = Path(__file__).resolve().parents[4] / "shared" / "data" / "timeseries"
LEVEL = 0.01


@dataclass(frozen=True)
class Series:
    """A public series on equal steps, and what is tested of it."""

    name: str
    table: pl.DataFrame
    time: str
    column: str
    every: str
    lags: tuple[int, ...]
    #: Cycles in steps whose frequencies are looked at.
    cycles: dict[str, float]
    #: What an attacker wants to know: the cycle, a segment and how near a hit is, in blocks, and
    #: how many steps a block has, whose mean is looked at.
    dates: dict[str, tuple[int, int, int, int]]


def series() -> list[Series]:
    hour = pl.read_csv(FOLDER / "bike_sharing_hour.csv.gz", try_parse_dates=True).select(
        (pl.col("dteday").cast(pl.Datetime("us")) + pl.duration(hours=pl.col("hr"))).alias("time"),
        "cnt",
    )
    day = pl.read_csv(FOLDER / "bike_sharing_day.csv", try_parse_dates=True)
    co2 = pl.read_csv(FOLDER / "mauna_loa_co2_weekly.csv", try_parse_dates=True)
    return [
        Series(
            "bike sharing, hourly", hour, "time", "cnt", "1h", (24, 48, 168, 336),
            {"day": 24, "week": 168, "year": 8766},
            {"hour of the week": (168, 709, 0, 1), "day of the year": (365, 91, 7, 24)},
        ),
        Series(
            "bike sharing, daily", day.select("dteday", "cnt"), "dteday", "cnt", "1d", (7, 14, 30),
            {"week": 7, "year": 365.25}, {"day of the year": (365, 91, 7, 1)},
        ),
        # The total hardly differs between weekdays; registered riders' does, and shows the week.
        Series(
            "bike sharing, registered, daily", day.select("dteday", "registered"), "dteday",
            "registered", "1d",
            (7, 14, 30), {"week": 7, "year": 365.25},
            {"day of the week": (7, 31, 0, 1)},
        ),
        Series(
            "CO2, weekly", co2, "date", "co2", "1w", (10, 26, 52, 104), {"year": 52.18},
            {"week of the year": (52, 109, 1, 1)},
        ),
    ]  # fmt: skip


def plain(one: Series) -> Numbers:
    """Return the series on all of its steps, a line drawn through what is missing."""
    upsampled = one.table.sort(one.time).upsample(one.time, every=one.every)
    return upsampled[one.column].cast(pl.Float64).interpolate().to_numpy().copy()


def encoded(one: Series, *, seed: int, blinding: float = 0.0) -> Numbers:
    """Return what leaves."""
    secret = Secret.from_bytes(seed.to_bytes(32, "big"))
    codec = SeriesCodec(time=one.time, every=one.every, secret=secret, blinding=blinding)
    sent = codec.fit(one.table).encode(one.table)
    if not codec.decode(sent).equals(one.table):
        raise AssertionError("the series does not come back")
    return sent.sort(codec.time_name_)[codec.column_names_[one.column]].to_numpy().copy()


def later(one: Series, *, seed: int) -> Numbers:
    """Return what leaves of the last fifth of the rows, by a codec of those before."""
    secret = Secret.from_bytes(seed.to_bytes(32, "big"))
    cut = int(0.8 * one.table.height)
    codec = SeriesCodec(time=one.time, every=one.every, secret=secret).fit(one.table[:cut])
    sent = codec.encode(one.table[cut:], state=codec.state_).sort(codec.time_name_)
    return sent[codec.column_names_[one.column]].to_numpy().copy()


def arms(one: Series, *, seed: int) -> dict[str, Numbers]:
    values = plain(one)
    return {"plain": values, "differences": np.diff(values), "encoded": encoded(one, seed=seed)}


def ljung_box(x: Numbers, lags: tuple[int, ...]) -> list[float]:
    """Return p-values, with as many degrees of freedom as lags: who looks on has no model."""
    x = x - x.mean()
    n = len(x)
    r = np.array([x[k:] @ x[: n - k] for k in range(1, lags[-1] + 1)]) / (x @ x)
    q = n * (n + 2) * np.cumsum(r**2 / (n - np.arange(1, lags[-1] + 1)))
    return [float(chi2.sf(q[lag - 1], lag)) for lag in lags]


def peaks(x: Numbers, cycles: dict[str, float], *, shuffles: int, seed: int) -> dict[str, float]:
    """Return, for each cycle, how often shuffled values have as high a peak at its harmonics.

    The statistic is the largest periodogram ordinate within one bin of the first six harmonics.
    """
    rng = np.random.default_rng(seed)
    n = len(x)
    places = {}
    for name, length in cycles.items():
        bins = [round(k * n / length) + by for k in range(1, 7) for by in (-1, 0, 1)]
        places[name] = np.array([at for at in bins if 0 < at < n // 2])

    def heights(values: Numbers) -> dict[str, float]:
        power = np.abs(np.fft.rfft(values - values.mean())) ** 2
        return {name: float(power[at].max()) for name, at in places.items()}

    seen = heights(x)
    more = dict.fromkeys(cycles, 1)
    for _ in range(shuffles):
        null = heights(rng.permutation(x))
        for name, height in null.items():
            more[name] += height >= seen[name]
    return {name: count / (shuffles + 1) for name, count in more.items()}


def fisher(x: Numbers) -> float:
    """Return Fisher's g test's p-value: is any ordinate too large (Fisher 1929, Bonferroni)."""
    power = np.abs(np.fft.rfft(x - x.mean()))[1 : (len(x) - 1) // 2 + 1] ** 2
    g, m = power.max() / power.sum(), len(power)
    return float(min(1.0, m * (1 - g) ** (m - 1)))


def dates_found(
    x: Numbers, values: Numbers, want: tuple[int, int, int, int], *, sizes: bool
) -> tuple[int, int, float]:
    """Return hits, tries and chance of who slides a profile of the calendar along a segment.

    The profile is the true series' mean over all other cycles' same step, a drift taken out; with
    ``sizes`` it is that of the absolute differences, and so is what it is slid along. Differences
    of the profile are tried, too, and the better of both counts.
    """
    cycle, length, near, block = want
    if block > 1:
        x, values = (blocks(it, block, sizes=sizes) for it in (x, values))
    offset = len(values) - len(x)
    hits = tries = 0
    for start in range(0, len(x) - length + 1, length):
        segment = x[start : start + length]
        outside = np.ones(len(values), dtype=bool)
        outside[start : start + length + offset] = False
        shapes = profiles(values, outside, cycle, sizes=sizes)
        if shapes is None:
            continue
        if sizes:
            segment = np.abs(segment - np.median(segment))
        best, found = -1.0, 0
        for shape in shapes:
            long = np.tile(shape, length // cycle + 2)
            windows = np.lib.stride_tricks.sliding_window_view(long, length)[:cycle]
            match = np.abs(correlations(windows, segment))
            if match.max() > best:
                best, found = float(match.max()), int(match.argmax())
        away = (found - (start + offset)) % cycle
        hits += min(away, cycle - away) <= near
        tries += 1
    return hits, tries, (2 * near + 1) / cycle


def blocks(values: Numbers, size: int, *, sizes: bool) -> Numbers:
    """Return the means of blocks, or their spreads, counted from the end."""
    whole = values[len(values) % size :].reshape(-1, size)
    return whole.std(axis=1) if sizes else whole.mean(axis=1)


def correlations(windows: Numbers, segment: Numbers) -> Numbers:
    centred = windows - windows.mean(axis=1, keepdims=True)
    target = segment - segment.mean()
    size = np.sqrt((centred**2).sum(axis=1) * (target @ target))
    found: Numbers = centred @ target / np.maximum(size, 1e-300)
    return found


def profiles(
    values: Numbers, outside: NDArray[np.bool_], cycle: int, *, sizes: bool
) -> list[Numbers] | None:
    steps = np.arange(len(values))
    drift = np.polyfit(steps[outside], values[outside], 2)
    flat = values - np.polyval(drift, steps)
    if sizes:
        flat = np.abs(np.diff(flat, prepend=flat[0]))
    counts = np.bincount(steps[outside] % cycle, minlength=cycle)
    if (counts == 0).any():
        return None
    shape = np.bincount(steps[outside] % cycle, flat[outside], minlength=cycle) / counts
    wide = max(1, cycle // 60)  # a long cycle is known by few rows a step: smooth it
    kernel = np.ones(wide) / wide
    shape = np.convolve(np.concatenate([shape[-wide:], shape, shape[:wide]]), kernel, "same")
    shape = shape[wide:-wide]
    return [shape, shape - np.roll(shape, 1)]


def place_found(x: Numbers, values: Numbers, *, length: int, tries: int, seed: int) -> float:
    """Return how often who has the true series finds where in it a segment lies.

    They fit an autoregression of 200 lags (or a tenth of the rows) and slide its residuals.
    """
    lags = np.arange(1, min(200, len(values) // 10) + 1)
    steps = np.arange(lags[-1], len(values))
    past = np.column_stack([np.ones(len(steps)), *(values[steps - lag] for lag in lags)])
    weights = np.linalg.lstsq(past, values[steps], rcond=None)[0]
    missed = values[steps] - past @ weights
    missed = np.clip(missed / missed.std(), -4, 4)
    windows = np.lib.stride_tricks.sliding_window_view(missed, length)
    rng = np.random.default_rng(seed)
    starts = rng.integers(0, len(windows), tries)
    hits = 0
    for start in starts:
        segment = x[start + lags[-1] : start + lags[-1] + length]
        hits += int(np.abs(correlations(windows, segment)).argmax() == start)
    return hits / tries


def bar(value: object, goal: str, *, holds: bool) -> dict[str, Any]:
    return {"value": value, "goal": goal, "holds": bool(holds)}


def measure(*, quick: bool, seed: int) -> dict[str, Any]:
    """Return the bars of encoded series, and their tables."""
    from quality.encodings.forecasts import forecast_bars  # noqa: PLC0415 # sklearn loads late

    bars: dict[str, Any] = {}
    lines = [
        "| series | arm | Ljung-Box, least p | peak, least p | Fisher's g, p | dates found |",
        "|---|---|---|---|---|---|",
    ]
    for one in series():
        print(one.name, file=sys.stderr)
        values = plain(one)
        for arm, x in arms(one, seed=seed).items():
            lines.append(_tested(one, arm, x, values, bars, quick=quick, seed=seed))
        lines.append(_behind(one, bars, quick=quick, seed=seed))
    tables = ["\n".join(lines), known_series(bars, quick=quick, seed=seed)]
    tables.append(forecast_bars(bars, FOLDER, quick=quick, seed=seed))
    bars["tables"] = "\n\n".join(tables)
    return bars


def _tested(
    one: Series,
    arm: str,
    x: Numbers,
    values: Numbers,
    bars: dict[str, Any],
    *,
    quick: bool,
    seed: int,
) -> str:
    p = min(ljung_box(x, one.lags))
    high = peaks(x, one.cycles, shuffles=499 if quick else 1999, seed=seed)
    g = fisher(x)
    cells, all_chance, broken_by = [], True, []
    for what, want in one.dates.items():
        for sizes in (False, True):
            hits, tries, chance = dates_found(x, values, want, sizes=sizes)
            if not tries:
                continue
            # Four attacks: each at the 95 % level of all of them.
            most = int(binom.ppf(1 - 0.05 / 4, tries, chance))
            all_chance &= hits <= most
            broken_by += [what] if hits > most else []
            how = f"{what}, by sizes" if sizes else what
            cells.append(f"{how} {hits}/{tries} (chance {chance:.3f}, up to {most})")
    least = min(high.values())
    if arm == "encoded":
        lags = "/".join(map(str, one.lags))
        bars[f"{one.name}: Ljung-Box, lags {lags}"] = bar(p, "every p > 0.05", holds=p > 0.05)
        level = LEVEL / len(high)
        bars[f"{one.name}: peaks at {', '.join(high)}"] = bar(
            least, f"every p > {level:.4f}", holds=least > level
        )
        bars[f"{one.name}: dates by the calendar"] = bar(
            "; ".join(cells), "hits within chance's 95 % interval", holds=all_chance
        )
    else:
        # By one attack for each date where the series is as it is, by one at all for differences.
        enough = set(broken_by) == set(one.dates) if arm == "plain" else bool(broken_by)
        broken = p < 1e-6 and least <= 0.005 and enough
        bars[f"{one.name}: {arm} broken by the same tests"] = bar(
            "; ".join(cells), "p < 1e-6, peaks, dates above chance", holds=broken
        )
    return f"| {one.name} | {arm} | {p:.3g} | {least:.3g} | {g:.3g} | {'; '.join(cells)} |"


def _behind(one: Series, bars: dict[str, Any], *, quick: bool, seed: int) -> str:
    """Add what rows behind the fit show: the model is as good as the future is like the past."""
    x = later(one, seed=seed)
    p = min(ljung_box(x, one.lags))
    cycles = {name: length for name, length in one.cycles.items() if 2 * length <= len(x)}
    high = peaks(x, cycles, shuffles=499 if quick else 1999, seed=seed)
    least = min(high.values(), default=1.0)
    bars[f"{one.name}: rows behind the fit, Ljung-Box"] = bar(p, "every p > 0.05", holds=p > 0.05)
    bars[f"{one.name}: rows behind the fit, peaks at {', '.join(high) or 'none'}"] = bar(
        least, f"every p > {LEVEL}", holds=least > LEVEL
    )
    numbers = " | ".join(f"{number:.3g}" for number in (p, least, fisher(x)))
    return f"| {one.name} | encoded, rows behind the fit | {numbers} | |"


def known_series(bars: dict[str, Any], *, quick: bool, seed: int) -> str:
    """Add what who has the very series finds, by blinding."""
    lines = [
        "| series | steps of a segment | blinding | its place found |",
        "|---|---|---|---|",
    ]
    for one in series():
        values = plain(one)
        length = 168 if one.every == "1h" else 104
        rates = {}
        for blinding in (0.0, 0.9, 0.99) if quick else (0.0, 0.5, 0.9, 0.97, 0.99):
            x = encoded(one, seed=seed, blinding=blinding)
            tries = 20 if quick else 100
            rates[blinding] = place_found(x, values, length=length, tries=tries, seed=seed)
            lines.append(f"| {one.name} | {length} | {blinding} | {rates[blinding]:.2f} |")
        bars[f"{one.name}: place in the true series"] = bar(
            rates[0.0], "chance; what leaves without blinding", holds=rates[0.0] <= 0.02
        )
        bars[f"{one.name}: place in the true series, blinding 0.99"] = bar(
            rates[0.99], "at most 0.05", holds=rates[0.99] <= 0.05
        )
    return "\n".join(lines)
