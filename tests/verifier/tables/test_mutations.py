"""What breaks a claim is caught, always; what breaks none passes, always."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import polars as pl
import pytest

from halfmask.verifier import tables

#: Its claims say more than `CheckedClaim`.
verify: Any = tables.verify

ROLES = {
    "age": "quasi_identifier",
    "zip": "quasi_identifier",
    "ill": "sensitive",
    "note": "insensitive",
}
AGES, ZIPS, ILLS = ["[1, 5]", "[6, 9]"], ["{a, b}", "c"], ["flu", "cough", "ulcer", "colic"]
WANTED = 300


def release_frame():
    """Four classes of four and five rows, each with all values of the sensitive column."""
    rows = [
        (age, zip_code, ILLS[(i + shift) % 4], str(i))
        for shift, (age, zip_code) in enumerate((a, z) for a in AGES for z in ZIPS)
        for i in range(4 + shift % 2)
    ]
    return pl.DataFrame(rows, schema=list(ROLES), orient="row")


def claims_of(claim):
    return [
        claim("k-anonymity", k=4),
        claim("distinct-l-diversity", "ill", l=3),
        claim("entropy-l-diversity", "ill", l=2.8),
        claim("t-closeness", "ill", t=0.3, distance="equal"),
        claim("average-risk", risk=0.25),
        claim("sample-uniqueness", share=0),
        claim("records-at-risk", share=0.05, risk=0.3),
    ]


def mutated(frame, rng):
    """Change one cell, delete one row or insert one."""
    rows = frame.rows()
    spot = rng.randrange(len(rows))
    kind = rng.choice(["cell", "deletion", "insertion"])
    if kind == "deletion":
        del rows[spot]
    elif kind == "insertion":
        rows.insert(spot, tuple(rng.choice(values()[name]) for name in frame.columns))
    else:
        row, column = list(rows[spot]), rng.randrange(4)
        row[column] = rng.choice(values()[frame.columns[column]])
        rows[spot] = tuple(row)
    return kind, pl.DataFrame(rows, schema=frame.schema, orient="row")


def values():
    new = [None, "", "other"]
    return {"age": AGES + new, "zip": ZIPS + new, "ill": ILLS + new, "note": ["0", *new]}


@pytest.mark.slow
def test_three_hundred_of_three_hundred_breaking_mutations_are_caught(make, naive, claim):
    """Hashes and evidence are made to fit the mutated table: only the recount can catch it."""
    frame, rng = release_frame(), random.Random(5)
    caught = dict.fromkeys(["cell", "deletion", "insertion"], 0)
    passed = dict.fromkeys(caught, 0)
    while sum(caught.values()) < WANTED:
        kind, after = mutated(frame, rng)
        oracle = naive(after)
        claims = [oracle.honest(each) for each in claims_of(claim)]
        expected = [oracle.keeps(each) for each in claims]

        found = verify(make(after, claims, roles=ROLES).path)

        assert [each.holds for each in found.claims] == expected
        assert found.holds == all(expected)
        tally = passed if found.holds else caught
        tally[kind] += 1

    assert min(caught.values()) > 15
    assert min(passed.values()) > 15


@pytest.mark.slow
def test_every_mutation_is_caught_by_the_hashes_alone(make, naive, claim):
    frame, rng = release_frame(), random.Random(6)
    claims = [naive(frame).honest(each) for each in claims_of(claim)]
    for _ in range(40):
        folder = make(frame, claims, roles=ROLES)
        after = mutated(frame, rng)[1]
        if after.equals(frame):
            continue
        after.write_parquet(folder.parts[0])

        found = verify(folder.path)

        assert not found.holds
        assert not found.files[0].holds
        assert "hash" in " ".join(found.problems)


@pytest.mark.parametrize("fmt", ["parquet", "csv", "arrow", "jsonl"])
def test_a_mutation_is_caught_in_every_format_with_the_old_evidence(make, naive, claim, fmt):
    frame = release_frame()
    claims = [naive(frame).honest(each) for each in claims_of(claim)]
    assert verify(make(frame, claims, roles=ROLES, fmt=fmt).path).holds

    short = verify(make(frame.slice(1), claims, roles=ROLES, fmt=fmt).path)

    assert not short.holds
    assert not short.claims[0].holds


def test_an_identity_anonymizer_turns_red(make, claim):
    """Every row as it came: the claim of k = 2 states what the identity would have to be."""
    frame = pl.DataFrame({"age": [17, 18, 19], "zip": ["a", "b", "c"]})
    lie = dataclasses.replace(
        claim("k-anonymity", k=2),
        evidence=dataclasses.replace(
            claim("k-anonymity", k=2).evidence, achieved=2, classes=1, rows=3, smallest_class=2
        ),
    )

    found = verify(make(frame, [lie], roles=ROLES).path)

    assert not found.holds
    assert found.claims[0].counted == 1


@pytest.mark.parametrize("k", [2, 3, 10])
def test_a_class_of_k_less_one_turns_red_and_one_of_k_does_not(make, naive, claim, k):
    def of(n):
        rows = [("x", "u")] * k + [("y", "u")] * n
        return pl.DataFrame(rows, schema=["age", "zip"], orient="row")

    rule = claim("k-anonymity", k=k)
    results = [
        verify(make(frame, [naive(frame).honest(rule)], roles=ROLES).path).holds
        for frame in (of(k), of(k - 1))
    ]

    assert results == [True, False]


def test_one_leaked_row_turns_red(make, naive, claim):
    frame = release_frame()
    leaked = frame.extend(
        pl.DataFrame([("17", "10115", "flu", "0")], schema=frame.schema, orient="row")
    )
    claims = [naive(leaked).honest(each) for each in claims_of(claim)]

    found = verify(make(leaked, claims, roles=ROLES).path)

    assert not any(each.holds for each in found.claims)
    assert found.claims[0].counted == 1


def test_a_claim_with_one_column_left_out_turns_red(make, naive, claim):
    """By age alone the classes are large, and every count of the claim is true."""
    frame = release_frame()
    narrow = naive(frame).honest(claim("k-anonymity", k=4, by=["age"]))

    found = verify(make(frame, [narrow], roles=ROLES).path)

    assert not found.holds
    assert found.claims[0].counted == 9
    assert "leaves out the quasi-identifier 'zip'" in found.claims[0].sentence


def test_all_claims_removed_turns_red(make):
    found = verify(make(release_frame(), [], roles=ROLES).path)

    assert not found.holds
    assert "claims nothing" in " ".join(found.problems)
