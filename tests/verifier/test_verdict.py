"""The verdict on a release in words: nothing counts as evidence that wasn't checked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from halfmask.claims import Claim
from halfmask.verifier import CheckedClaim, CheckedRelease, verify
from halfmask.verifier.events import Check
from halfmask.verifier.verdict import BROKEN, UNCHECKED, verdict_of, verdict_on_claim

OLD = Path(__file__).parents[1] / "claims" / "v1"


def checked(basis="counted", *, holds=True, checked=True):
    claim = Claim(model="m", parameters={}, about={}, basis=basis, evidence={})
    return CheckedClaim(claim=claim, holds=holds, checked=checked, sentence="")


def released(*claims, **more):
    return CheckedRelease(kind="k", claims=claims, problems=(), weaknesses=(), **more)


STATED = checked("stated", holds=False, checked=False)


@pytest.mark.parametrize(
    ("claim", "verdict", "evidence"),
    [
        (checked(), "holds", "counted"),
        (checked("accounted"), "holds", "accounted"),
        (checked("measured", holds=False), "doesn't hold", "measured"),
        (checked(holds=False, checked=False), "not checked", "none yet; the manifest says counted"),
        (STATED, "only stated", "stated"),
    ],
)
def test_a_claim_has_no_more_evidence_than_was_checked(claim, verdict, evidence):
    assert verdict_on_claim(claim) == (verdict, evidence)


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ([checked()], "Everything that the release claims holds."),
        ([checked(), STATED], "Everything that can be checked holds."),
        ([checked(holds=False, checked=False)], f"{UNCHECKED} Nothing wrong was found."),
        ([checked(holds=False)], f"{BROKEN} Don't hand it over."),
        ([], f"{BROKEN} Don't hand it over."),
    ],
)
def test_a_verdict_is_on_all_claims(claims, said):
    assert verdict_of(released(*claims)) == said


def test_what_lines_lack_is_not_counted():
    found = verify(OLD / "guarantees.jsonl")
    one = found.claims[0]
    assert isinstance(one, Check)
    assert verdict_on_claim(one)[0] == "holds"
    verdict, evidence = verdict_on_claim(replace(one, counted="nothing"))
    assert verdict == "not checked"
    assert evidence.startswith("Not counted")


@pytest.mark.parametrize(
    ("differences", "said"),
    [(None, "It isn't signed."), ((), "what the policy requires."), (("One.",), "isn't what the")],
)
def test_a_verdict_on_lines_says_what_it_rests_on(differences, said):
    found = replace(verify(OLD / "guarantees.jsonl"), differences=differences)
    assert said in verdict_of(found)
    broken = replace(found, problems=("One.",))
    assert verdict_of(broken) == "The output isn't what its manifest says."
