"""Claims as a person reads them."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from halfmask.claims import ClassClaim, Evidence
from halfmask.cli._claims import claim_text, level, show_claims
from halfmask.verifier.tables import ClaimCheck


def check(**changed):
    claim: dict[str, Any] = {
        "model": "t-closeness",
        "parameters": {"t": 0.2, "distance": "equal"},
        "column": "ill",
        "quasi_identifiers": ("age",),
        "evidence": Evidence(achieved=0.15, classes=1234, rows=9999, smallest_class=5),
    }
    stated = ClassClaim(**{name: changed.pop(name, value) for name, value in claim.items()})
    said: dict[str, Any] = {
        "claim": stated.stated(),
        "stated": stated,
        "counted": 0.1873456,
        "counted_wildcard": 0.1873456,
        "classes": 1234,
        "smallest_class": 5,
        "holds": True,
        "sentence": "It is so.",
    }
    return ClaimCheck(**said | changed)


def shown(*claims):
    file = io.StringIO()
    show_claims(claims, Console(file=file, width=200, markup=False))
    return file.getvalue()


@pytest.mark.parametrize(
    ("number", "said"),
    [(10, "10"), (0.1873456, "0.1873"), (None, "-"), (123456.0, "123,456"), (float("inf"), "inf")],
)
def test_levels_have_as_many_digits_as_matter(number, said):
    assert level(number) == said


def test_a_promise_is_a_few_words():
    assert claim_text(check()) == "t-closeness of ill, t = 0.2, distance = equal"
    assert claim_text(check(model="k-anonymity", column=None, parameters={"k": 5})) == (
        "k-anonymity, k = 5"
    )


def test_a_column_of_a_stranger_does_not_steer_the_terminal():
    assert "\x1b" not in claim_text(check(column="\x1b[2J"))


def test_what_was_stated_and_counted_stand_side_by_side():
    said = shown(check())

    assert "0.15" in said
    assert "0.1873" in said
    assert "1,234" in said
    assert "wildcard" not in said
    assert "It is so." not in said


def test_a_worse_count_with_wildcards_is_told():
    assert "(missing as wildcard: 0.3)" in shown(check(counted_wildcard=0.3))


def test_a_claim_that_does_not_hold_says_why():
    assert "It is not so." in shown(check(holds=False, sentence="It is not so."))
