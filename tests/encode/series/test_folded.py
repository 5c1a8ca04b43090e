"""Fitted rows, folded at a cycle of their calendar, look like noise: no peak, and no hole."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

from halfmask.encode import SeriesCodec
from halfmask.encode.series._least_squares import ljung_box
from halfmask.vault import Secret

SECRET = Secret.from_bytes(bytes(range(32)))
VIEWS = ("levels", "sizes", "squares", "products")


def prices(seed=0):
    """Return daily prices of a random walk: no rows on weekends."""
    rng = np.random.default_rng(seed)
    days = pl.date_range(dt.date(2019, 1, 1), dt.date(2021, 9, 26), eager=True)
    days = days.filter(days.dt.weekday() < 6)
    moves = 0.01 * rng.standard_t(5, len(days))
    return pl.DataFrame({"at": days, "y": np.round(100 * np.exp(np.cumsum(moves)), 2)})


def demand():
    """Return ten weeks of half-hours, by day and by weekday, with an outage and single holes."""
    rng = np.random.default_rng(1)
    n = 10 * 336
    first = pl.select(pl.datetime(2021, 1, 4)).to_series()[0]
    last = first + dt.timedelta(minutes=30 * (n - 1))
    at = pl.datetime_range(first, last, "30m", eager=True)
    steps, noise, rest = np.arange(n), rng.normal(size=n), np.zeros(n)
    for t in range(1, n):
        rest[t] = 0.9 * rest[t - 1] + noise[t]
    weekend = (steps // 48) % 7 > 4
    y = 1000 + (200 - 60 * weekend) * np.sin(2 * np.pi * steps / 48) - 90 * weekend + 15 * rest
    table = pl.DataFrame({"at": at, "y": np.round(y, 1)})
    kept = (rng.random(n) > 0.02) & ((steps < 500) | (steps > 530))
    return table.filter(pl.Series(kept))


def monthly():
    """Return 40 years of months with a season that grows with the level."""
    rng = np.random.default_rng(2)
    at = pl.date_range(dt.date(1960, 1, 1), dt.date(1999, 12, 1), "1mo", eager=True)
    steps = np.arange(len(at))
    level = np.exp(5 + 0.002 * steps + 0.2 * np.sin(2 * np.pi * steps / 12))
    return pl.DataFrame({"at": at, "y": np.rint(level * np.exp(0.05 * rng.normal(size=len(at))))})


KINDS = {"prices": (prices, (5, 7)), "demand": (demand, (48, 336)), "monthly": (monthly, (3, 12))}


def sent_of(table, **settings):
    """Return what leaves, step by step; it comes back."""
    codec = SeriesCodec(time="at", secret=SECRET, **settings).fit(table)
    encoded = codec.encode(table)
    assert codec.decode(encoded).equals(table)
    return encoded.sort(codec.time_name_)[codec.column_names_["y"]].to_numpy()


def seen(x, view):
    """Return a series as an attacker looks at it."""
    if view == "products":
        return x[1:] * x[:-1]
    return {"levels": x, "sizes": np.abs(x), "squares": x**2}[view]


def folded(x, period):
    """Return the F statistic of the means at each place of a period."""
    place = np.arange(len(x)) % period
    counts = np.bincount(place, minlength=period)
    means = np.bincount(place, x, minlength=period) / counts
    between = (counts * (means - x.mean()) ** 2).sum() / (period - 1)
    return between / (((x - means[place]) ** 2).sum() / (len(x) - period))


def both_tails(x, period, view, shuffles=999):
    """Return the two-sided p-value of a fold, among folds of shuffled rows."""
    rng = np.random.default_rng(0)
    found = folded(seen(x, view), period)
    null = np.array([folded(seen(rng.permutation(x), view), period) for _ in range(shuffles)])
    return 2 * (1 + min((null >= found).sum(), (null <= found).sum())) / (shuffles + 1)


@pytest.fixture(scope="module")
def sent():
    """Return what leaves of each kind of series."""
    return {kind: sent_of(make()) for kind, (make, _) in KINDS.items()}


@pytest.mark.slow
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("kind", KINDS)
def test_folds_look_like_noise(sent, kind, view):
    """F was 1e-16 for demand at 336 half-hours, and 21 for squares of prices at 7 days."""
    for period in KINDS[kind][1]:
        assert both_tails(sent[kind], period, view) > 0.004


def test_the_same_folds_see_what_is_not_encoded():
    """They have power: over peaks of levels and of sizes, and over a hole."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=700)
    monday = np.arange(700) % 7 == 0
    means = np.array([x[k::7].mean() for k in range(7)])

    assert both_tails(x + 0.6 * monday, 7, "levels") < 0.004
    assert both_tails(x * (1 + monday), 7, "sizes") < 0.004
    assert both_tails(x - means[np.arange(700) % 7], 7, "levels") < 0.004
    assert both_tails(x, 7, "levels") > 0.004


@pytest.mark.slow
def test_mondays_are_not_found_in_segments(sent):
    """It was found in 86 % of segments of 91 steps, by the variance, where chance is 14 %."""
    hits = tries = 0
    for seed in range(2):
        x = sent["prices"] if not seed else sent_of(prices(seed))
        first_monday = 6  # 2019-01-01 was a Tuesday
        for start in range(0, len(x) - 90, 13):
            sizes = [np.square(x[start + k : start + 91 : 7]).mean() for k in range(7)]
            hits += (start + int(np.argmax(sizes))) % 7 == first_monday
            tries += 1
    # Segments overlap: a seventh of them stand for all.
    assert hits / tries <= binom.ppf(0.999, tries // 7, 1 / 7) / (tries // 7)


def test_memory_is_that_of_noise_and_not_less():
    """At the lags that filters look back at Ljung and Box's p was near 1: a hole, too."""
    found = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        noise, y = rng.normal(size=400), np.zeros(400)
        for t in range(1, 400):
            y[t] = 0.4 * y[t - 1] + noise[t]
        table = pl.DataFrame({"at": np.arange(400), "y": np.round(y, 3)})
        x = sent_of(table, name=f"s{seed}")
        found.append([p for _, p in ljung_box(x, (1, 2, 3))])
    means = np.mean(found, axis=0)

    # Ten uniform numbers have a mean between 0.2 and 0.8 in all but 1 of 1000 cases.
    assert ((means > 0.2) & (means < 0.8)).all()


def test_claims_tell_how_much_later_rows_remember():
    """A fit to half of a growing season leaves memory in the other half, and says how much."""
    steps = np.arange(600)
    rng = np.random.default_rng(5)
    swelling = (1 + (steps / 150) ** 2) * np.sin(2 * np.pi * steps / 12)
    table = pl.DataFrame({"at": steps, "y": np.round(50 + 9 * swelling + rng.normal(size=600), 2)})
    flat = table.with_columns(pl.Series("y", np.round(rng.normal(size=600), 2)))

    told = []
    for rows in (table, flat):
        codec = SeriesCodec(time="at", periods=[12], secret=SECRET).fit(rows)
        told.append(max(abs(value) for _, value in codec.plan_.channels[0].later))
        weakness = {it.name: it.known_plaintext for it in codec.weaknesses}["later-rows-remember"]
        claim = next(it for it in codec.claims if "behind the fitted" in it.learner)
        assert "an autocorrelation of" in weakness
        assert "an autocorrelation of" in claim.condition

    assert told[0] > 0.3
    assert told[1] < 0.25
