"""A claim's sentence says its basis."""

from __future__ import annotations

import pytest

from halfmask.claims import Claim


@pytest.mark.parametrize(
    ("basis", "words"),
    [
        ("counted", "counted in"),
        ("accounted", "was not seen"),
        ("measured", "an attack"),
        ("estimated", "a model of"),
    ],
)
def test_a_sentence_says_its_basis_and_no_other(basis, words):
    said = Claim(model="m", parameters={}, about={}, basis=basis, evidence={}).sentence()

    assert words in said
    assert (
        sum(each in said for each in ("counted in", "was not seen", "an attack", "a model of")) == 1
    )
