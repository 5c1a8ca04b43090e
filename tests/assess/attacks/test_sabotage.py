"""Sabotage: whatever weakens the anonymizer turns an attack on classes from resisted to broken."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

import halfmask as hm
from halfmask.anonymize import Ranges
from halfmask.assess.attacks import AttackReport, TableTarget, attack
from halfmask.assess.attacks.classes import (
    BackgroundKnowledge,
    Downcoding,
    Homogeneity,
    Skewness,
)
from halfmask.assess.attacks.releases import Intersection

KNOWN = ("age", "zip")
K, L, T = 60, 3, 0.12


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    """Return people whose illness depends on where they live, and on nothing else of theirs."""
    rng = np.random.default_rng(21)
    n = 6000
    zipcode = rng.integers(0, 3000, n)
    ill = np.where(rng.random(n) < 0.4, zipcode % 6, rng.integers(0, 6, n))
    return pl.DataFrame(
        {"age": rng.integers(0, 3000, n), "zip": zipcode, "ill": [f"s{v}" for v in ill]}
    )


def anonymizer(*guarantees, **settings) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return hm.Anonymizer(
        guarantees=list(guarantees), quasi_identifiers=list(KNOWN), **settings
    ).fit_transform


SOUND = anonymizer(
    hm.KAnonymity(k=K),
    hm.DistinctLDiversity(l=L, column="ill"),
    hm.TCloseness(t=T, column="ill"),
)


def one_row_leaks(rows: pl.DataFrame) -> pl.DataFrame:
    """Return a sound release in which every tenth row was forgotten."""
    forgotten = np.arange(rows.height) % 10 == 0
    released = SOUND(rows)
    return released.select(
        pl.when(pl.lit(pl.Series(forgotten))).then(rows[name]).otherwise(name).alias(name)
        if name in KNOWN
        else pl.col(name)
        for name in released.columns
    )


def below_k(rows: pl.DataFrame) -> pl.DataFrame:
    """Return classes of two: cells that a tree of other rows would have left below k."""
    order = rows.with_row_index("row").sort("zip", "age")["row"].to_numpy()
    number = np.empty(rows.height, dtype=np.int64)
    number[order] = np.arange(rows.height) // 2
    return rows.with_columns(age=pl.lit(0), zip=pl.Series(number))


SABOTAGED: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "identity": lambda rows: rows,
    "k=1": anonymizer(hm.KAnonymity(k=1)),
    "k=2 in place of 60": anonymizer(hm.KAnonymity(k=2)),
    "classes below k": below_k,
    "one row in ten forgotten": one_row_leaks,
    "one column forgotten": lambda rows: SOUND(rows).with_columns(zip=rows["zip"]),
    "no t-closeness": anonymizer(hm.KAnonymity(k=6), hm.DistinctLDiversity(l=L, column="ill")),
}


def report(release: Callable[[pl.DataFrame], pl.DataFrame], rows: pl.DataFrame) -> AttackReport:
    raw = TableTarget(released=rows, original=rows, quasi_identifiers=KNOWN, secrets=("ill",))
    target = TableTarget(
        released=release(rows), original=rows, quasi_identifiers=KNOWN, secrets=("ill",)
    )
    return attack(
        target, unprotected=raw, attacks=[Homogeneity(), BackgroundKnowledge(), Skewness()]
    )


def test_a_sound_release_resists(people):
    found = report(SOUND, people)
    assert [finding.verdict for finding in found.findings] == ["resisted"] * 3
    assert found.resisted


@pytest.mark.parametrize("sabotage", SABOTAGED)
def test_a_weakened_anonymizer_turns_an_attack_broken(sabotage, people):
    found = report(SABOTAGED[sabotage], people)
    assert "broken" in [finding.verdict for finding in found.findings]
    assert not found.resisted


@pytest.mark.slow
def test_labels_of_ranges_that_are_too_narrow_are_broken(people):
    """Classes of three with their ends written out: two of three cells are somebody's value."""

    def verdict(k: int) -> str:
        released = anonymizer(hm.KAnonymity(k=k), recoding=Ranges())(people)
        target, raw = (
            TableTarget(released=table, original=people, quasi_identifiers=KNOWN)
            for table in (released, people)
        )
        return attack(target, unprotected=raw, attacks=[Downcoding()]).findings[0].verdict

    assert verdict(3) == "broken"
    assert verdict(200) == "resisted"


def test_a_second_release_without_a_ledger_is_broken(people):
    """Each is fine by itself: diverse classes of other columns."""
    protect = {
        name: hm.Anonymizer(
            guarantees=[hm.KAnonymity(k=4), hm.DistinctLDiversity(l=3, column="ill")],
            quasi_identifiers=[name],
            recoding=hm.Ranges(),
        )
        for name in KNOWN
    }
    later, earlier = (
        protect[name].fit_transform(people).drop(other) for name, other in (KNOWN, KNOWN[::-1])
    )
    target, raw = (
        TableTarget(
            released=now,
            original=people,
            quasi_identifiers=KNOWN,
            secrets=("ill",),
            earlier=(before, people),
        )
        for now, before in ((later, earlier), (people, people))
    )
    found = attack(
        target,
        unprotected=raw,
        attacks=[Intersection(candidates=(1,), n_people=6000), Homogeneity()],
    )
    assert [finding.verdict for finding in found.findings] == ["broken", "resisted"]
