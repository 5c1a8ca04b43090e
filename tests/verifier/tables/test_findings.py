"""What the verifier says: names, parameters and counts."""

from __future__ import annotations

from halfmask.verifier.tables._findings import Finding, sentence_of


def test_a_claim_that_holds_says_what_was_counted(claim):
    finding = Finding(counted=7.0, wildcard=7.0, classes=3, rows=30, smallest=7)

    assert sentence_of(claim("k-anonymity", k=5), finding).startswith(
        "k-anonymity with k = 5 over "
    )
    assert sentence_of(claim("k-anonymity", k=5), finding).endswith(
        "quasi-identifiers holds: the worst of 3 classes reaches 7."
    )


def test_a_claim_that_does_not_says_every_reason(claim):
    finding = Finding(
        counted=0.5, wildcard=0.25, classes=3, rows=30, smallest=7, reasons=["one", "two"]
    )

    said = sentence_of(claim("t-closeness", "ill", t=0.2, distance="equal"), finding)

    assert "of column 'ill'" in said
    assert "does not hold" in said
    assert "reaches 0.5, and 0.25 with missing cells as wildcards (one; two)." in said


def test_a_claim_that_was_not_counted_states_no_level(claim):
    said = sentence_of(claim("k-anonymity", k=5), Finding(reasons=["it names no columns"]))

    assert "reaches" not in said
    assert said.endswith("does not hold (it names no columns).")
