"""A claim's sentence says its basis, and no more than the claim's evidence."""

from __future__ import annotations

import pytest

from halfmask import ParameterError
from halfmask.claims import Claim
from halfmask.claims.claim import BASES

WORDS = {
    "counted": "counted in",
    "accounted": "were not seen",
    "measured": "an attack",
    "estimated": "a model of",
    "stated": "stated by the maker",
}


@pytest.mark.parametrize("basis", BASES)
def test_a_sentence_says_its_basis_and_no_other(basis):
    said = Claim(model="m", parameters={}, about={}, basis=basis, evidence={}).sentence()

    assert WORDS[basis] in said
    assert sum(each in said for each in WORDS.values()) == 1


@pytest.mark.parametrize("basis", BASES)
def test_no_sentence_names_a_mechanism_that_the_evidence_lacks(basis):
    """Groups of rows, samples and lists of charges have no scale and no noise."""
    said = Claim(model="m", parameters={}, about={}, basis=basis, evidence={"k": 5}).sentence()

    for word in ("mechanism", "sensitivity", "scale", "noise", "laplace", "gaussian", "sampl"):
        assert word not in said.lower()


def test_what_is_not_checked_is_not_said_to_be_counted():
    claim = Claim(model="m", parameters={"k": 5}, about={}, basis="counted", evidence={})

    assert (
        claim.sentence(unchecked="the table") == "m with k = 5: not checked: that takes the table."
    )


def test_a_basis_that_no_sentence_has_is_refused():
    with pytest.raises(ParameterError, match="'basis' parameter of Claim must be one of"):
        Claim(model="k-anonymity", parameters={}, about={}, basis="count", evidence={})  # type: ignore[arg-type] # tested
