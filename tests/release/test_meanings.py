"""A claim is stated with its numbers, in words; what nobody verified is stated as it is."""

from __future__ import annotations

from typing import Any

import pytest

from halfmask.claims import Claim
from halfmask.release.meanings import meanings


def claim_of(model: str, about: dict[str, Any] | None = None, **changes: Any) -> Claim:
    fields = {"parameters": {}, "basis": "counted", "evidence": {}, **changes}
    return Claim(model=model, about=about or {}, **fields)


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        (
            claim_of("multiples", {"columns": ["age"]}, parameters={"base": 5.0}),
            "Each number of age is a multiple of 5. (multiples: base = 5.0)",
        ),
        (
            claim_of("multiples", parameters={"base": 5}),
            "Each number of the tables is a multiple of 5. (multiples: base = 5)",
        ),
        (
            claim_of("bounded", {"columns": ["pay"]}, parameters={"high": 9.5}),
            "No number of pay is above 9.5. (bounded: high = 9.5)",
        ),
        (
            claim_of("hidden-intervals", parameters={"least_share": 0.1}),
            "no hidden sum can be computed to an interval narrower than 10.00% of its end",
        ),
        (
            claim_of(
                "session-k",
                {"unit": "session", "fields": [["group", "[]", "ref"]]},
                parameters={"k": 5},
            ),
            "What a session shows in group[].ref is shown by 5 or more people or other entities",
        ),
        (
            claim_of("copied-rows", evidence={"copied_of_few": 3, "rows": 1350}),
            "3 of 1,350 drawn rows equal a row that at most 5 people have. (copied-rows)",
        ),
    ],
    ids=lambda it: it.model if isinstance(it, Claim) else "",
)
def test_numbers_stand_in_place_of_letters(claim, sentence):
    (said,) = meanings([claim, claim])

    assert sentence in said


@pytest.mark.parametrize(
    ("epsilon", "delta", "unit", "words"),
    [
        (1.0, 1e-5, "row", "one row is in the table or not"),
        (1.0, 1e-5, "row", "by a factor of 2.72 at most, and by 1e-05 more."),
        (0.5, 0.0, {"person": "patient"}, "one person is in the table or not"),
        (0.5, 0.0, {"person": "patient"}, "by a factor of 1.65 at most. "),
        (1000.0, 0.0, {"person": None}, "by a factor of e^1000.0 at most. "),
    ],
    ids=["row", "added", "person", "factor", "large"],
)  # fmt: skip
def test_a_budget_is_a_factor_that_is_never_too_small(epsilon, delta, unit, words):
    claim = claim_of(
        "differential-privacy",
        {"unit": unit, "neighbours": "one of these: added or removed"},
        parameters={"epsilon": epsilon, "delta": delta},
        basis="accounted",
    )
    assert words in meanings([claim])[0]


@pytest.mark.parametrize(
    "claim",
    [
        claim_of("groups-of-k", parameters={"k": 5}, basis="stated"),
        claim_of("copied-rows"),
        claim_of("of-another-program", parameters={"x": 1}),
        claim_of(
            "differential-privacy",
            {"neighbours": "one row is replaced"},
            parameters={"epsilon": 1.0, "delta": 0.0},
            basis="accounted",
        ),
    ],
    ids=["stated", "no-evidence", "unknown", "replaced"],
)
def test_a_claim_without_words_is_stated_as_it_is(claim):
    assert meanings([claim]) == [claim.sentence()]


def test_what_protects_nobody_is_left_out():
    claim = claim_of("released-columns", parameters={"rows": 2, "columns": 1})

    assert meanings([claim]) == []
