"""Known events: pseudonyms alone are undone by two events, what is unrelated by none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from halfmask._errors import ParameterError
from halfmask.assess.attacks import attack
from halfmask.assess.attacks.events import KnownEvents
from halfmask.assess.attacks.events._known_events import Board, drawn_facts
from halfmask.assess.attacks.events._linking_setup import LinkingSetup

TOLERANCE = 0.1


def board_of(target, seed=0, **settings):
    setup = LinkingSetup.of(target, np.random.default_rng(seed), **settings)
    return setup, Board.of(setup)


def naive(setup, facts, noise):
    """Return top trace, lead, matches of each target, by loops that share nothing."""
    left, answers = setup.released, []
    decay = max(noise, 1.0)
    for target in range(len(facts.entity)):
        score, fits = np.zeros(left.owned.n), np.zeros(left.owned.n, dtype=int)
        for fact in range(facts.offsets[target], facts.offsets[target + 1]):
            best: dict[int, float] = {}
            fit: set[int] = set()
            for row in range(len(left.item)):
                behind = left.time[row] - facts.time[fact]
                off = max(setup.low - noise - behind, behind - setup.high - noise, 0.0)
                if left.item[row] != facts.item[fact] or off > 3 * decay:
                    continue
                terms, inside = [np.exp(-off / decay)], off == 0
                gaps = np.abs(left.numbers[row] - facts.numbers[fact])
                for gap, scale, reach in zip(gaps, setup.scales, setup.reaches, strict=True):
                    terms.append(1.0 if gap == 0 else np.exp(-gap / scale) if scale else 0.0)
                    inside = inside and gap <= reach
                which = left.owned.trace[row]
                best[which] = max(best.get(which, 0.0), float(np.mean(terms)))
                fit |= {which} if inside else set()
            support = sum(value >= 0.5 for value in best.values())
            for which, value in best.items():
                score[which] += facts.weight[fact] / np.log(1 + max(support, 1)) * value
            for which in fit:
                fits[which] += 1
        first, second = np.sort(score)[::-1][:2]
        matching = np.flatnonzero(fits >= facts.needed[target])
        answers.append(
            (int(score.argmax()), (first - second) / score.std(), len(matching), matching)
        )
    return answers


@pytest.mark.parametrize(
    ("noise", "wrong", "rows"), [(0.0, 0, 1), (40_000.0, 1, 1), (9e6, 1, None)]
)
def test_scores_are_those_of_plain_loops(unprotected, noise, wrong, rows):
    rng = np.random.default_rng(5)
    month = (pl.col("at") / 3e6).floor().cast(pl.String)
    original = unprotected.original.head(600).with_columns(visit=pl.col("user") + month)
    found = unprotected.released.head(600).with_columns(
        pl.col("at") // 40_000 * 40_000, pl.col("size") + pl.Series(rng.normal(0, 30, 600))
    )
    target = replace(
        unprotected, released=found, original=original, event="visit", control=None,
        owners=None, time_bounds=None,
    )  # fmt: skip
    setup, board = board_of(target, sizes=rows is None)
    facts = drawn_facts(
        setup.people, n_events=3, n_wrong=wrong, rows=rows, consecutive=False,
        time_noise=noise, most=20, rng=rng,
    )  # fmt: skip
    got = board.scores(facts, time_noise=noise)
    for k, (top, lead, n_fit, matching) in enumerate(naive(setup, facts, noise)):
        assert got.lead[k] == pytest.approx(lead, abs=1e-9)
        assert got.n_fit[k] == n_fit
        if lead > 1e-9:
            assert got.top[k] == top
        if n_fit == 1:
            assert got.sole[k] == matching[0]


@pytest.mark.slow
def test_pseudonyms_are_undone_and_noise_is_not(unprotected, unrelated):
    report = attack(
        unrelated, unprotected=unprotected, attacks=[KnownEvents()],
        tolerance=TOLERANCE, min_control_effect=TOLERANCE,
    )  # fmt: skip
    assert {finding.verdict for finding in report.findings} == {"resisted"}
    assert len(report.findings) == 12
    for finding in report.findings:
        assert finding.positive_control is not None
        assert finding.positive_control.success.value > 0.97
        assert finding.outcome.success.value < 0.03


def test_what_is_not_protected_is_broken(unprotected):
    report = attack(unprotected, unprotected=unprotected, attacks=[KnownEvents(known=(2,))])
    assert {finding.verdict for finding in report.findings} == {"broken"}


def test_too_few_people_prove_nothing(unprotected, unrelated):
    report = attack(
        unrelated, unprotected=unprotected, attacks=[KnownEvents(known=(2,), n_attacks=60)]
    )
    assert {finding.verdict for finding in report.findings} == {"not shown"}
    assert all("needs at least" in finding.why_not_shown for finding in report.findings)


@pytest.mark.slow
def test_an_attack_without_power_is_invalid(unrelated):
    report = attack(unrelated, unprotected=unrelated, attacks=[KnownEvents(known=(2,))])
    assert {finding.verdict for finding in report.findings} == {"INVALID"}


def test_people_outside_are_the_control_and_hit_no_trace(unprotected):
    for outcome in KnownEvents(known=(4,)).run(unprotected, random_state=0):
        assert outcome.control.value < 0.03
        assert outcome.details["controls matched"] == 0.0


def test_tokens_are_not_compared_with_what_they_stand_for(unprotected):
    tokens = unprotected.released.with_columns(pl.col("page").rank("dense"))
    setup, _ = board_of(replace(unprotected, released=tokens))
    assert len(np.unique(setup.people.item)) == 1
    assert len(np.unique(board_of(unprotected)[0].people.item)) > 100
    outcomes = KnownEvents(known=(2,)).run(replace(unprotected, released=tokens), random_state=0)
    assert outcomes[0].success.value > 0.9, "times and numbers are left"


def test_rows_of_nobody_are_in_the_way_and_not_attacked(unprotected):
    some = pl.Series(np.arange(unprotected.original.height) % 2 == 0)
    nobody = unprotected.original.with_columns(
        pl.when(some).then("user").otherwise(None).alias("user")
    )
    target = replace(unprotected, original=nobody)
    setup, _ = board_of(target)
    assert (setup.people.entity == -1).sum() == unprotected.original.height // 2
    facts = drawn_facts(
        setup.people, n_events=2, n_wrong=0, rows=1, consecutive=False, time_noise=0.0,
        most=10_000, rng=np.random.default_rng(0),
    )  # fmt: skip
    assert (facts.entity >= 0).all()
    assert KnownEvents(known=(2,)).run(target, random_state=0)[0].success.value > 0.97
    alone, _ = board_of(target.unprotected())
    people = unprotected.original.filter(some)["user"].n_unique()
    assert alone.released.owned.n == people + unprotected.original.height // 2


@pytest.mark.parametrize("blank", ["", "  ", "false"])
def test_blanks_and_truth_values_are_nobody(unprotected, blank):
    some = pl.Series(np.arange(unprotected.original.height) % 2 == 0)
    named = unprotected.original.with_columns(
        pl.when(some).then("user").otherwise(pl.lit(blank)).alias("user")
    )
    setup, _ = board_of(replace(unprotected, original=named))
    assert (setup.people.entity == -1).sum() == unprotected.original.height // 2


def test_numbers_of_many_digits_are_known_exactly(unprotected):
    """As floats all sizes would be one."""
    tables = {"released": unprotected.released, "original": unprotected.original}
    sizes = {
        name: table.with_columns((pl.col("size").cast(pl.Int64) + 2**60).alias("size"))
        for name, table in tables.items()
    }
    setup, _ = board_of(replace(unprotected, control=None, **sizes))
    known, plain = setup.people.numbers[:, 0], unprotected.original["size"].to_numpy()
    assert np.array_equal(np.diff(known), np.diff(plain.astype(float)))


def test_without_a_pseudonym_single_events_are_looked_for(unprotected):
    setup, _ = board_of(replace(unprotected, pseudonym=""))
    assert setup.released.owned.n == unprotected.released.height
    outcomes = KnownEvents(known=(2,)).run(replace(unprotected, pseudonym=""), random_state=0)
    unique = [o for o in outcomes if o.measure == "unique matches, 2 events known"]
    assert unique[0].success.value == 0.0, "two events never are one"


def test_a_trace_of_two_people_is_right_by_half(unprotected):
    pairs = unprotected.released.with_columns(pl.Series("pseudonym", np.arange(4800) // 12 // 2))
    outcomes = KnownEvents(known=(4,)).run(replace(unprotected, released=pairs), random_state=0)
    assert outcomes[0].success.value == pytest.approx(0.5, abs=0.01)


def test_how_many_rows_are_left_is_no_fact_where_rows_were_held_back(unprotected):
    original = unprotected.original.with_columns(visit=pl.Series(np.arange(4800) // 4))
    target = replace(unprotected, original=original, event="visit", control=None)
    assert board_of(target, sizes=True)[0].people.numbers.shape[1] == 3
    kept = np.flatnonzero(np.arange(4800) % 4 != 1)
    fewer = replace(target, released=target.released[kept], owners=kept)
    assert board_of(fewer, sizes=True)[0].people.numbers.shape[1] == 2


def test_consecutive_events_follow_each_other(unprotected):
    setup, _ = board_of(unprotected)
    facts = drawn_facts(
        setup.people, n_events=4, n_wrong=0, rows=1, consecutive=True, time_noise=0.0,
        most=50, rng=np.random.default_rng(0),
    )  # fmt: skip
    for k, who in enumerate(facts.entity):
        own = np.sort(setup.people.time[setup.people.entity == who])
        found = facts.time[facts.offsets[k] : facts.offsets[k + 1]]
        start = np.searchsorted(own, found[0])
        assert found.tolist() == own[start : start + 4].tolist()


def test_the_same_seed_gives_the_same(unprotected):
    each = KnownEvents(known=(2,))
    assert repr(each.run(unprotected, random_state=1)) == repr(
        each.run(unprotected, random_state=1)
    )


@pytest.mark.parametrize(
    "settings", [{"known": (0,)}, {"wrong": 1.5}, {"rows": 0}, {"time_noise": -1.0}, {"fewest": 0}]
)
def test_settings_are_checked(settings):
    with pytest.raises(ParameterError):
        KnownEvents(**settings)
