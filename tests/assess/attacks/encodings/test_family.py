"""Every attack breaks rows as they are and unkeyed encodings, and nothing that is independent."""

from __future__ import annotations

import hashlib

import numpy as np
import polars as pl
import pytest

from halfmask.assess.attacks import EncodingTarget, attack
from halfmask.assess.attacks.encodings import ATTACKS, DateRecovery, FoldedCycle, KnownPlaintext
from halfmask.encode import SeriesCodec
from halfmask.vault import Secret

TABLES = [
    make(known=30, n_rows=400) if make is KnownPlaintext else make()
    for make in ATTACKS
    if make not in {DateRecovery, FoldedCycle}
]


def _sha(word):
    return hashlib.sha256(word.encode()).hexdigest()


def _unkeyed(rows):
    """Hash names and categories without a key, and scale numbers by what anybody may guess."""
    columns = []
    for column in rows.iter_columns():
        if column.dtype == pl.String:
            coded = column.map_elements(_sha, return_dtype=pl.String)
        else:
            coded = column.cast(pl.Float64) * 3 + 1
        columns.append(coded.alias("c" + _sha(column.name)[:16]))
    return pl.DataFrame(columns)


def _with_holes():
    """Return rows of which three answers in ten are missing: hardly two miss the same ones."""
    rng = np.random.default_rng(3)
    cells = pl.DataFrame({f"x{i}": rng.normal(size=800) for i in range(14)})
    return cells.select(
        pl.when(pl.Series(rng.random(800) < 0.7)).then(name).alias(name) for name in cells.columns
    )


@pytest.mark.slow
@pytest.mark.parametrize("each", TABLES, ids=lambda each: each.name)
def test_identity_and_unkeyed_encodings_are_broken(each, rows, sample):
    if each.name == "encodings/null-patterns":
        rows = sample = _with_holes()
    unkeyed = _unkeyed(rows)
    target = EncodingTarget(encoded=unkeyed, original=rows, population=sample, later=unkeyed)
    for one in (target.unprotected(), target):
        report = attack(one, unprotected=one.unprotected(), attacks=[each])
        assert {finding.verdict for finding in report.findings} == {"broken"}


@pytest.mark.parametrize("n", [4, 5, 30, 99])
def test_of_a_short_table_half_of_the_rows_are_known(rows, n):
    """It knew 50 rows of tables that have fewer, and failed."""
    short = rows[:n]
    target = EncodingTarget(encoded=_unkeyed(short), original=short)

    found = KnownPlaintext(known=50).run(target, random_state=0)

    known = min(50, n // 2)
    assert {it.measure.rpartition(", ")[2] for it in found} == {f"{known} known rows"}


@pytest.mark.slow
@pytest.mark.parametrize("each", TABLES, ids=lambda each: each.name)
def test_a_table_that_has_nothing_to_do_with_the_rows_is_not_broken(each, random_table):
    report = attack(random_table, unprotected=random_table.unprotected(), attacks=[each])
    for finding in report.findings:
        assert finding.outcome.excess.bounds(finding.error)[0] <= finding.allowed


def test_an_attack_says_what_it_lacks(rows):
    bare = EncodingTarget(encoded=rows.select("code"), original=rows.select("code"))
    missing_inputs = {make.name: make().missing_inputs(bare) for make in ATTACKS}
    assert missing_inputs["encodings/frequency-matching"] == "a sample of the population"
    assert missing_inputs["encodings/secret-reuse"] == "a second upload"
    assert missing_inputs["encodings/null-patterns"] == "missing cells"
    assert missing_inputs["encodings/date-recovery"] == "periods of a calendar"
    assert missing_inputs["encodings/folded-cycle"] == "periods of a calendar"
    assert missing_inputs["encodings/known-plaintext"] == ""


@pytest.mark.slow
def test_the_same_seed_gives_the_same_findings_and_no_detail_holds_a_cell(encoded):
    """Names of columns may stand in a report at home, a category may not."""
    target = encoded(learner="trees")
    for each in TABLES:
        first, again = (each.run(target, random_state=3) for _ in range(2))
        assert [one.success.value for one in first] == [one.success.value for one in again]
        for outcome in first:
            words = {word for name in outcome.details for word in name.split()}
            assert not words & {"yes", "no", "u", "v", "w", "x"}
            assert all(isinstance(value, float) for value in outcome.details.values())


@pytest.mark.parametrize("shift", [0, 3])
def test_dates_come_back_from_a_season_and_not_from_noise(shift):
    rng = np.random.default_rng(0)
    n, week = 2100, np.arange(2100) % 7
    sold = 10 * np.sin(2 * np.pi * week / 7) + 5 * (week == 2) + rng.normal(size=n)
    original = pl.DataFrame({"sold": sold})
    as_sent = original.select(pl.col("sold") * (-2.0) + shift)
    noise = pl.DataFrame({"a": rng.normal(size=n)})
    found = {}
    for name, sent in (("sent", as_sent), ("noise", noise)):
        target = EncodingTarget(encoded=sent, original=original, periods=(7,))
        report = attack(target, unprotected=target.unprotected(), attacks=[DateRecovery()])
        found[name] = report.findings[0]

    assert found["sent"].verdict == "broken"
    assert found["sent"].outcome.success.value > 0.95
    assert found["noise"].outcome.success.value < 0.4


def test_dates_come_back_from_sizes_that_left():
    """An encoding that hides levels and leaves Mondays larger is dated by its own first half."""
    rng = np.random.default_rng(1)
    n = 2100
    original = pl.DataFrame({"sold": rng.normal(size=n).cumsum()})
    restless = pl.DataFrame({"a": rng.normal(size=n) * (1 + 1.5 * (np.arange(n) % 7 == 0))})
    target = EncodingTarget(encoded=restless, original=original, periods=(7,))

    found = DateRecovery(cycles=13).run(target, random_state=0)[0]

    assert found.success.value > 0.7


def _hours(n, rng):
    return (np.arange(n) % 24), rng.normal(size=n)


@pytest.mark.parametrize("trace", ["peak", "hole", "sizes", "none"])
def test_a_cycle_is_told_by_its_peaks_and_by_its_holes(trace):
    """Means of each hour that are 0 to the last digit stand out as much as those that differ."""
    rng = np.random.default_rng(2)
    hour, noise = _hours(24 * 200, rng)
    profile = rng.normal(size=24)[hour]
    means = np.array([noise[hour == k].mean() for k in range(24)])
    sent = {
        "peak": noise + profile,
        "hole": noise - means[hour],
        "sizes": noise * np.exp(profile / 2),
        "none": noise,
    }[trace]
    rows = pl.DataFrame({"a": sent})
    target = EncodingTarget(encoded=rows, original=rows, periods=(24,))

    found = {
        it.measure.rpartition(" ")[2]: it.success.value
        for it in FoldedCycle().run(target, random_state=0)
    }

    if trace == "none":
        assert max(found.values()) < 0.4
    else:
        assert found["sizes" if trace == "sizes" else "levels"] > 0.9
    if trace in {"peak", "hole"}:
        verdicts = attack(target, attacks=[FoldedCycle()]).findings
        assert "broken" in {it.verdict for it in verdicts}


def test_fitted_rows_of_a_series_codec_show_no_cycle():
    """What leaves of a daily cycle, by this attack: as much as noise."""
    rng = np.random.default_rng(3)
    hour, noise = _hours(24 * 40, rng)
    table = pl.DataFrame(
        {"t": np.arange(len(hour)), "y": np.round(9 * rng.normal(size=24)[hour] + noise, 2)}
    )
    codec = SeriesCodec(time="t", periods=[24], secret=Secret.from_bytes(bytes(32))).fit(table)
    sent = codec.encode(table).sort(codec.time_name_).select(codec.column_names_["y"])
    target = EncodingTarget(encoded=sent, original=table.select("y"), periods=(24,))

    for finding in attack(
        target, unprotected=target.unprotected(), attacks=[FoldedCycle()]
    ).findings:
        assert finding.outcome.excess.bounds(finding.error)[0] <= finding.allowed
        assert finding.verdict != "broken"
