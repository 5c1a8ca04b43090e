"""Intersection of two releases, against people looked up one by one."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import halfmask as hm
from halfmask.assess.attacks import TableTarget, attack
from halfmask.assess.attacks.classes import Intersection

secret = st.sampled_from(["flu", "hiv", "cold", None])
people = st.lists(st.tuples(st.integers(0, 3), secret), min_size=2, max_size=10)
released = st.lists(st.tuples(st.integers(0, 2), secret), min_size=10, max_size=10)


def frame(rows) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"q": pl.Int64, "ill": pl.String}, orient="row")


@pytest.mark.slow
@given(people, people, released, released)
def test_counts_agree_with_people_looked_up_one_by_one(right_of, now, before, later, earlier):
    """Equal rows are matched by their order; released values may be anything."""
    later, earlier = later[: len(now)], earlier[: len(before)]
    target = TableTarget(
        released=frame(later),
        original=frame(now),
        quasi_identifiers=("q",),
        secrets=("ill",),
        earlier=(frame(earlier), frame(before)),
    )
    left = list(enumerate(before))
    certain = trials = 0
    least_k = []
    for i, person in enumerate(now):
        twin = next((place for place in left if place[1] == person), None)
        if twin is None:
            continue
        left.remove(twin)
        trials += 1
        one = [value for q, value in later if q == later[i][0]]
        other = [value for q, value in earlier if q == earlier[twin[0]][0]]
        certain += set(one) & set(other) == {person[1]}
        least_k.append(sum(min(one.count(v), other.count(v)) for v in set(one)))
    each = Intersection()
    if each.missing_inputs(target):
        assert trials == 0 or len({value for _, value in now}) < 2
        return
    outcome = each.run(target, random_state=0)[0]
    assert (right_of(outcome), outcome.success.trials) == (certain, trials)
    assert outcome.details["least_k"] == min(least_k)


def hospital(seed: int, everybody: pl.DataFrame, known: tuple[str, ...], guarantees):
    rng = np.random.default_rng(seed)
    rows = everybody[np.sort(rng.choice(everybody.height, 2000, replace=False))]
    protect = hm.Anonymizer(guarantees=guarantees, quasi_identifiers=known)
    unknown = {"age", "zip"} - set(known)
    return protect.fit_transform(rows).drop(unknown), rows


def target(guarantees, *, overlap: bool = True) -> TableTarget:
    """Return what two hospitals with common patients released, each on its own."""
    rng = np.random.default_rng(11)
    n = 3000
    everybody = pl.DataFrame(
        {
            "age": rng.integers(0, 3000, n),
            "zip": rng.integers(0, 3000, n),
            "ill": [f"s{v}" for v in rng.integers(0, 20, n)],
        }
    )
    known = ("age", "zip")
    later = hospital(1, everybody, known, guarantees)
    if overlap:
        earlier = hospital(2, everybody, ("zip",), guarantees)
    else:
        # What everybody gets: one class, which no intersection makes smaller.
        rows = everybody[:2000]
        earlier = rows.with_columns(age=pl.lit(0), zip=pl.lit(0)), rows
    return TableTarget(
        released=later[0],
        original=later[1],
        quasi_identifiers=known,
        secrets=("ill",),
        earlier=earlier,
    )


def raw(of: TableTarget) -> TableTarget:
    assert of.earlier is not None
    return TableTarget(
        released=of.original,
        original=of.original,
        quasi_identifiers=of.quasi_identifiers,
        secrets=of.secrets,
        earlier=(of.earlier[1], of.earlier[1]),
    )


def test_two_diverse_releases_of_common_people_are_broken():
    """Ganta 2008, section 4: each alone tells of nobody, both together of many."""
    both = target([hm.KAnonymity(k=4), hm.DistinctLDiversity(l=3, column="ill")])
    found = attack(both, unprotected=raw(both), attacks=[Intersection()]).findings[0]
    assert found.verdict == "broken"
    assert found.outcome.details["later_alone"] == 0.0
    assert found.outcome.details["earlier_alone"] == 0.0
    assert found.outcome.details["least_k"] < 4


def test_a_second_release_that_says_nothing_is_resisted():
    both = target([hm.KAnonymity(k=4), hm.DistinctLDiversity(l=3, column="ill")], overlap=False)
    found = attack(both, unprotected=raw(both), attacks=[Intersection()]).findings[0]
    assert found.verdict == "resisted"
    assert found.outcome.details["least_k"] >= 4


def test_what_is_lacking_is_said():
    rows = frame([(0, "flu"), (1, "hiv")])
    others = frame([(7, "flu"), (8, "hiv")])

    def missing_inputs(earlier):
        return Intersection().missing_inputs(
            TableTarget(
                released=rows,
                original=rows,
                quasi_identifiers=("q",),
                secrets=("ill",),
                earlier=earlier,
            )
        )

    assert missing_inputs(None) == "an earlier release"
    assert missing_inputs((rows[:1], rows)).startswith("an earlier release with a row for each")
    assert missing_inputs((rows.drop("ill"), rows)) == "a secret that both releases have"
    assert missing_inputs((others, others)) == "people who are in both releases"
    assert missing_inputs((rows, rows)) == ""
