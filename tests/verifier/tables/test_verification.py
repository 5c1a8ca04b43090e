"""What the verifier found, as a value, an exit and JSON."""

from __future__ import annotations

import json
import math

import pytest

from halfmask._errors import VerificationError
from halfmask.claims import ClassClaim, Evidence
from halfmask.verifier import CheckedRelease, FileCheck
from halfmask.verifier.tables import ClaimCheck


def check(*, holds=True, counted=5.0):
    stated = ClassClaim(
        model="k-anonymity",
        parameters={"k": 5},
        column=None,
        quasi_identifiers=("age",),
        evidence=Evidence(achieved=5.0, classes=2, rows=10, smallest_class=5),
    )
    return ClaimCheck(
        claim=stated.stated(),
        stated=stated,
        counted=counted,
        counted_wildcard=counted,
        classes=2,
        smallest_class=5,
        holds=holds,
        sentence="It holds." if holds else "It does not hold.",
    )


def found(*claims, problems=()):
    return CheckedRelease(
        kind="microdata",
        claims=claims,
        files=(FileCheck(name="data/part-00000.csv", n_rows=10, holds=True),),
        problems=tuple(problems),
        weaknesses=(),
        rows=10,
    )


def test_it_holds_where_every_claim_does_and_nothing_is_wrong():
    found(check()).raise_if_broken()

    assert found(check()).holds


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (found(), "bear out"),
        (found(check(), check(holds=False)), "It does not hold."),
        (found(check(), problems=["A file is strange."]), "A file is strange."),
    ],
)
def test_it_is_broken_by_a_claim_a_problem_or_no_claim(broken, said):
    assert not broken.holds
    with pytest.raises(VerificationError, match=said) as error:
        broken.raise_if_broken()
    assert "It holds." not in str(error.value)


def test_it_is_strict_json():
    text = json.dumps(found(check(counted=math.inf, holds=False)).to_dict(), allow_nan=False)

    assert json.loads(text)["claims"][0]["counted"] == "inf"
    assert json.loads(text)["files"] == [{"name": "data/part-00000.csv", "rows": 10, "holds": True}]
