"""What is sent of public series shows no calendar; what isn't encoded, by the same tests, does."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom, chi2

from halfmask.encode import SeriesCodec
from halfmask.encode.series._least_squares import ljung_box
from halfmask.vault import Secret

SECRET = Secret.from_bytes(bytes(range(32)))

CASES = {
    "registered": ("bike_sharing_day.csv", "dteday", "registered", 7, (7, 14, 30), (7, 365.25)),
    "co2": ("mauna_loa_co2_weekly.csv", "date", "co2", 52, (10, 26, 52, 104), (52.18,)),
}


def box(x, lags):
    """Return the smallest p-value of Ljung and Box, by the formula and scipy's distribution."""
    x = x - x.mean()
    n = len(x)
    r = [x[k:] @ x[: n - k] / (x @ x) for k in range(1, max(lags) + 1)]
    parts = [rk**2 / (n - k) for k, rk in enumerate(r, start=1)]
    return min(chi2.sf(n * (n + 2) * sum(parts[:lag]), lag) for lag in lags)


def peak(x, cycles, shuffles=999):
    """Return the smallest p-value, by permutation, of a peak at a cycle's first six harmonics."""
    rng = np.random.default_rng(0)
    n = len(x)

    def height(values, length):
        power = np.abs(np.fft.rfft(values - values.mean())) ** 2
        bins = {round(k * n / length) + by for k in range(1, 7) for by in (-1, 0, 1)}
        return max(power[at] for at in bins if 0 < at < n // 2)

    found = []
    for length in cycles:
        null = [height(rng.permutation(x), length) for _ in range(shuffles)]
        found.append((1 + sum(h >= height(x, length) for h in null)) / (shuffles + 1))
    return min(found)


def dates(x, values, cycle):
    """Return hits, tries and chance of who slides the true series' profile along segments."""
    length, hits, tries = (2 if cycle > 7 else 4) * cycle + 3, 0, 0
    near = cycle // 50
    values = values[len(values) - len(x) :]
    steps = np.arange(len(values))
    flat = values - np.polyval(np.polyfit(steps, values, 2), steps)
    for start in range(0, len(x) - length + 1, length):
        outside = np.ones(len(x), dtype=bool)
        outside[start : start + length] = False
        shape = np.array([flat[outside & (steps % cycle == k)].mean() for k in range(cycle)])
        best = []
        for profile in (shape, shape - np.roll(shape, 1)):
            long = np.tile(profile, length // cycle + 2)
            best += [
                (abs(np.corrcoef(long[k : k + length], x[start : start + length])[0, 1]), k)
                for k in range(cycle)
            ]
        away = (max(best)[1] - start) % cycle
        hits += min(away, cycle - away) <= near
        tries += 1
    return hits, tries, (2 * near + 1) / cycle


@pytest.fixture(scope="module", params=CASES)
def arms(request, shared_data):
    """Return a series as it is, its differences, what is sent of it, and what is tested."""
    file, time, column, cycle, lags, cycles = CASES[request.param]
    table = pl.read_csv(shared_data / "timeseries" / file, try_parse_dates=True)
    table = table.select(time, column)
    codec = SeriesCodec(time=time, secret=SECRET).fit(table)
    sent = codec.encode(table)
    assert codec.decode(sent).equals(table)
    plain = table[column].cast(pl.Float64).interpolate().to_numpy()
    sent = sent.sort(codec.time_name_)[codec.column_names_[column]].to_numpy()
    return plain, np.diff(plain), sent, cycle, lags, cycles


@pytest.mark.real_data
def test_what_is_sent_shows_no_calendar(arms):
    """Ljung-Box and the spectrum see nothing, and no more dates are found than by chance."""
    plain, _, sent, cycle, lags, cycles = arms

    hits, tries, chance = dates(sent, plain, cycle)

    # Both tails: what a fit takes out too well stands out, too.
    assert 0.001 < box(sent, lags) < 0.999
    assert peak(sent, cycles) > 0.002
    assert hits <= binom.ppf(0.975, tries, chance)


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("arm", [0, 1], ids=["plain", "differences"])
def test_what_is_not_encoded_is_broken_by_the_same_tests(arms, arm):
    """The tests have power: they see through the series itself, and through its differences."""
    plain, _, _, cycle, lags, cycles = arms

    hits, tries, chance = dates(arms[arm], plain, cycle)

    assert box(arms[arm], lags) < 1e-6
    assert peak(arms[arm], cycles) <= 1 / 200
    assert hits > binom.ppf(0.975, tries, chance)


@pytest.mark.real_data
def test_who_has_the_series_finds_its_place_unless_it_is_blinded(shared_data):
    """The weakness innovations-match is what it says, and blinding works against it."""
    table = pl.read_csv(shared_data / "timeseries" / "bike_sharing_day.csv", try_parse_dates=True)
    table = table.select("dteday", "cnt")
    y = table["cnt"].to_numpy().astype(float)
    past = np.column_stack([np.ones(701), *(y[30 - k : 731 - k] for k in range(1, 15))])
    missed = y[30:] - past @ np.linalg.lstsq(past, y[30:], rcond=None)[0]
    windows = np.lib.stride_tricks.sliding_window_view(missed, 104)
    windows = windows - windows.mean(axis=1, keepdims=True)
    windows /= np.linalg.norm(windows, axis=1, keepdims=True)
    found = {}
    for blinding in (0.0, 0.99):
        codec = SeriesCodec(time="dteday", secret=SECRET, blinding=blinding).fit(table)
        sent = codec.encode(table)[codec.column_names_["cnt"]].to_numpy()[30:]
        starts = range(0, len(windows), 60)
        guess = [int(np.abs(windows @ sent[s : s + 104]).argmax()) for s in starts]
        found[blinding] = np.mean([g == s for g, s in zip(guess, starts, strict=True)])
        assert codec.weaknesses[0].name == "innovations-match"

    assert found[0.0] > 0.8
    assert found[0.99] <= 0.1


def test_ljung_box_is_what_its_formula_says():
    """Our statistic, by a Fourier transform, is the sum of the definition."""
    rng = np.random.default_rng(1)
    x = np.convolve(rng.normal(size=503), [1, 0.1, 0.05])

    (_, ours), (_, wider) = ljung_box(x, (5, 20))

    assert ours == pytest.approx(box(x, (5,)), rel=1e-9)
    assert wider == pytest.approx(box(x, (20,)), rel=1e-9)
