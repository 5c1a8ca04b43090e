"""Uniqueness, intervals, averaging and joined releases: each breaks what it should, and no more."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from halfmask.assess.attacks import attack
from halfmask.assess.attacks.events import (
    Averaging,
    IntervalFingerprint,
    JoinedReleases,
    TrajectoryUniqueness,
)

BAR = 0.1


def verdicts(target, unprotected, each):
    report = attack(
        target, unprotected=unprotected, attacks=[each], tolerance=BAR, min_control_effect=BAR
    )
    return {finding.outcome.measure: finding.verdict for finding in report.findings}


def first(each, target):
    return each.run(target, random_state=0)[0]


# Uniqueness


def test_points_are_unique_where_times_are_and_not_where_all_is_coarse(unprotected):
    coarse = unprotected.released.with_columns(pl.lit("p").alias("page"), pl.lit(0.0).alias("at"))
    found = verdicts(replace(unprotected, released=coarse), unprotected, TrajectoryUniqueness())
    assert set(found.values()) == {"resisted"}
    assert first(TrajectoryUniqueness(), unprotected).success.value == 1.0


@pytest.mark.parametrize("step", [30 * 86_400, 120 * 86_400])
def test_unique_traces_are_those_of_plain_loops(unprotected, step):
    rng = np.random.default_rng(0)
    found = unprotected.released.with_columns(
        pl.col("at") // step, pl.Series("page", rng.integers(0, 3, unprotected.released.height))
    )
    outcomes = TrajectoryUniqueness(points=(1, 12), resolutions=()).run(
        replace(unprotected, released=found), random_state=0
    )
    traces: dict[int, set[tuple[float, int]]] = {}
    for who, at, page in found.select("pseudonym", "at", "page").iter_rows():
        traces.setdefault(who, set()).add((at, page))
    alone = [sum(mine <= other for other in traces.values()) == 1 for mine in traces.values()]
    assert outcomes[1].success.value == np.mean(alone), "all points of each are drawn"
    assert outcomes[0].success.value <= outcomes[1].success.value


def test_coarser_times_leave_fewer_unique(unprotected):
    pages = unprotected.released.with_columns(pl.lit("p").alias("page"))
    outcomes = TrajectoryUniqueness(points=(4,), resolutions=(3600.0, 86_400.0, 5e6)).run(
        replace(unprotected, released=pages), random_state=0
    )
    curve = list(outcomes[0].details.values())
    assert curve == sorted(curve, reverse=True)
    assert curve[0] > 0.95
    assert curve[-1] < 0.5


# Intervals


def shifted(target, days, grid=1.0, seed=0):
    """Return a release whose people's times are each shifted by a number of days."""
    rng = np.random.default_rng(seed)
    number = target.released["pseudonym"].to_numpy()
    shift = rng.integers(-days, days + 1, number.max() + 1) * 86_400.0
    found = (target.released["at"].to_numpy() + shift[number]) // grid * grid
    return replace(
        target, released=target.released.with_columns(pl.Series("at", found)), time_bounds=None
    )


def test_a_shift_of_all_dates_leaves_intervals(unprotected):
    found = verdicts(shifted(unprotected, 365), unprotected, IntervalFingerprint())
    assert set(found.values()) == {"broken"}


@pytest.mark.slow
def test_intervals_are_gone_with_a_shift_onto_a_coarse_grid_and_with_anothers_times(
    unprotected, unrelated
):
    months = shifted(unprotected, 365, grid=120 * 86_400.0)
    assert set(verdicts(months, unprotected, IntervalFingerprint()).values()) == {"resisted"}
    assert set(verdicts(unrelated, unprotected, IntervalFingerprint()).values()) == {"resisted"}


@pytest.mark.slow
def test_links_by_intervals_are_those_of_plain_loops(unprotected):
    """Daily dates: what two intervals link is counted over all pairs."""
    days = shifted(unprotected, 30, grid=86_400.0)
    found = days.released.group_by("pseudonym", maintain_order=True).agg(pl.col("at").sort())
    gaps = [np.diff(at) for at in found["at"].to_list()]
    exact = unprotected.released.group_by("pseudonym", maintain_order=True)
    true = [np.diff(at) for at in exact.agg(pl.col("at").sort())["at"].to_list()]
    outcome = first(IntervalFingerprint(intervals=(2,), n_attacks=400), days)
    runs = [set(itertools.pairwise(each)) for each in gaps]
    off = np.concatenate([g - t for g, t in zip(gaps, true, strict=True)])
    low, high = np.quantile(off, [0.01, 0.99])
    shares = []
    for who, own in enumerate(true):
        for a, b in list(itertools.pairwise(own))[::4]:
            near = [
                any(low <= c - a <= high and low <= d - b <= high for c, d in other)
                for other in runs
            ]
            shares.append(near[who] / max(1, sum(near)))
    assert outcome.success.value == pytest.approx(np.mean(shares), abs=0.06)


def test_controls_fit_no_trace(unprotected):
    outcome = first(IntervalFingerprint(intervals=(3,)), unprotected)
    assert outcome.details["controls that fit one trace"] == 0.0
    assert outcome.control.value == 0.0


# Averaging


def noisy(target, *, keyed, sd=300.0):
    """Return a release with noise on homes: once for each person, or for each event."""
    rng = np.random.default_rng(8)
    number = target.released["pseudonym"].to_numpy()
    noise = rng.normal(0, sd, number.max() + 1)[number] if keyed else rng.normal(0, sd, len(number))
    home = target.released["home"].to_numpy() + noise
    return replace(target, released=target.released.with_columns(pl.Series("home", home)))


def test_independent_noise_averages_out_and_keyed_noise_does_not(unprotected):
    drawn, keyed = noisy(unprotected, keyed=False), noisy(unprotected, keyed=True)
    assert verdicts(drawn, unprotected, Averaging())["error taken off by averaging"] == "broken"
    found = verdicts(keyed, unprotected, Averaging())
    assert found["error taken off by averaging"] == "resisted"
    assert found["values read by their mean"] == "resisted"
    outcome = Averaging().run(drawn, random_state=0)[1]
    assert outcome.success.value == pytest.approx(1 - 1 / np.sqrt(12), abs=0.04)
    assert Averaging().run(keyed, random_state=0)[1].success.value == 0.0


def test_a_value_without_noise_is_read(unprotected):
    assert verdicts(unprotected, unprotected, Averaging()) == {
        "values read by their mean": "broken"
    }


def test_the_worst_grouping_has_groups_enough(unprotected):
    """A few people whose noise averages out aren't reported among many whose noise stays."""
    keyed = noisy(unprotected, keyed=True)
    number = keyed.released["pseudonym"].to_numpy()
    original = keyed.original.with_columns(home=pl.Series(number * 2.0), size=pl.lit(0))
    rng = np.random.default_rng(0)
    some = number < 20
    size = pl.Series("size", np.where(some, rng.normal(0, 9, len(number)), np.nan))
    found = keyed.released.with_columns(size, pl.Series("home", number * 2.0 + number % 7))
    outcomes = Averaging().run(replace(keyed, original=original, released=found), random_state=0)
    assert [each.success.trials for each in outcomes] == [400, 400]
    assert outcomes[1].success.value == 0.0


def test_numbers_that_change_are_no_repeats(unprotected):
    assert "stay the same" in Averaging().missing_inputs(replace(unprotected, numbers=("size",)))
    assert Averaging().missing_inputs(unprotected) == ""


# Joined releases


@pytest.fixture(scope="module")
def twice(unprotected):
    """Return every other event in each of two releases under one pseudonym."""
    n = unprotected.original.height
    one, other = np.arange(0, n, 2), np.arange(1, n, 2)
    return replace(
        unprotected,
        released=unprotected.released[one],
        owners=one,
        later=(unprotected.released[other], other),
    ).unprotected()


def renamed(target, seed):
    """Return a target whose later release has pseudonyms of another key."""
    frame, owners = target.later
    other = np.random.default_rng(seed).permutation(10_000)[frame["pseudonym"].to_numpy()]
    return replace(
        target, later=(frame.with_columns(pl.Series("pseudonym", other + 10_000)), owners)
    )


@pytest.mark.slow
def test_one_key_for_two_releases_joins_them_and_two_keys_do_not(twice):
    assert set(verdicts(renamed(twice, 1), twice, JoinedReleases()).values()) == {"resisted"}
    outcome = first(JoinedReleases(), twice)
    assert outcome.success.value == 1.0
    assert outcome.details["pseudonyms"] == 1.0


def test_the_same_events_in_both_join_them_under_any_keys(twice):
    frame = twice.released
    same = renamed(replace(twice, later=(frame, twice.owners)), 1)
    outcome = first(JoinedReleases(), same)
    assert outcome.details["rows"] == outcome.details["times"] == outcome.success.value == 1.0
    assert outcome.details["pseudonyms"] == 0.0


def test_profiles_of_items_join_releases_of_different_times(twice):
    """People who keep to three pages of their own are known by them."""
    rng = np.random.default_rng(2)
    number = twice.original["user"].str.slice(1).cast(pl.Int64).to_numpy()
    pages = pl.Series("page", number * 2 + rng.integers(0, 3, len(number)))
    original = twice.original.with_columns(pages)
    found = [
        frame.with_columns(pages[owners].alias("page"))
        for frame, owners in ((twice.released, twice.owners), twice.later)
    ]
    target = replace(
        twice, original=original, released=found[0], later=(found[1], twice.later[1]), control=None
    )
    assert first(JoinedReleases(), renamed(target, 3)).details["items of page"] > 0.5


def test_people_of_one_release_alone_are_the_control(twice):
    frame, owners = twice.later
    some = frame["pseudonym"].to_numpy() % 2 == 0
    half = replace(twice, later=(frame.filter(pl.Series(some)), owners[some]))
    outcome = first(JoinedReleases(), half)
    assert outcome.success.trials == 200
    assert outcome.control.trials == 200
    assert outcome.control.value < 0.02


@pytest.mark.slow
def test_what_is_lacking_is_told(unprotected):
    bare = replace(unprotected, pseudonym="", time="", items=(), numbers=())
    assert "pseudonym" in IntervalFingerprint().missing_inputs(replace(unprotected, pseudonym=""))
    for each in (TrajectoryUniqueness(), IntervalFingerprint(), Averaging(), JoinedReleases()):
        assert each.missing_inputs(bare)
    report = attack(bare, unprotected=bare)
    assert {name for name, _ in report.skipped} == {
        "events/uniqueness", "events/intervals", "events/averaging", "events/joined-releases",
    }  # fmt: skip
