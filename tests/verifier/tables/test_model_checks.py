"""Which levels keep a promise, and which evidence is too good: at the very threshold."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import VerificationError
from halfmask.claims import Evidence
from halfmask.verifier import CheckedRelease
from halfmask.verifier.tables import verify
from halfmask.verifier.tables._counting import KEY_LIMIT, RowKeys, pack
from halfmask.verifier.tables._findings import Finding, compare
from halfmask.verifier.tables._model_checks import level_rule_of

OF_SIZES = {"k-anonymity", "largest-risk", "average-risk", "sample-uniqueness", "records-at-risk"}
OF_SIZES |= {"profitability-prosecutor", "profitability-prosecutor-no-attack"}
GAME = {"publisher_benefit": 0.3, "publisher_loss": 3, "adversary_gain": 3, "adversary_cost": 0}


@pytest.mark.parametrize(
    ("model", "parameters", "kept", "missed"),
    [
        ("k-anonymity", {"k": 5}, 5, 4),
        ("distinct-l-diversity", {"l": 3}, 3, 2),
        ("entropy-l-diversity", {"l": 3.0}, 3 - 1e-12, 3 - 1e-6),
        ("recursive-cl-diversity", {"c": 0.7, "l": 2}, 0.7 - 1e-12, 7 / 10),
        ("recursive-cl-diversity", {"c": 0.1, "l": 2}, 0.1 - 1e-12, 1 / 10),
        ("t-closeness", {"t": 0.2, "distance": "equal"}, 0.2 + 1e-12, 0.2 + 1e-6),
        ("alpha-k-anonymity", {"alpha": 0.3, "k": 2}, 3 / 10, 0.3 + 1e-12),
        ("largest-risk", {"risk": 0.1}, 1 / 10, 1 / 9),
        ("largest-risk", {"risk": 0.09}, 1 / 12, 1 / 11),
        ("profitability-prosecutor", GAME, 0.3 - 1e-12, 0.3),
        (
            "profitability-prosecutor-no-attack",
            {"adversary_gain": 3, "adversary_cost": 0.3},
            3 / 11,
            3 / 10,
        ),
        ("average-risk", {"risk": 0.3}, 3 / 10, 0.3 + 1e-12),
        ("sample-uniqueness", {"share": 0.3}, 3 / 10, 0.3 + 1e-12),
        ("records-at-risk", {"share": 0.3, "risk": 0.2}, 3 / 10, 0.3 + 1e-12),
        ("delta-disclosure-privacy", {"delta": 0.5}, 0.5 - 1e-12, 0.5 + 1e-6),
        ("basic-beta-likeness", {"beta": 0.2}, 0.2 + 1e-12, 0.2 + 1e-6),
        ("enhanced-beta-likeness", {"beta": 0.2}, 0.2 + 1e-12, 0.2 + 1e-6),
    ],
)
def test_the_threshold_itself(claim, model, parameters, kept, missed):
    column = None if model in OF_SIZES else "ill"
    rule = level_rule_of(claim(model, column, **parameters))

    assert rule.keeps(kept)
    assert not rule.keeps(missed)
    assert rule.states_no_better(missed, missed)


@pytest.mark.parametrize(
    ("model", "kept", "missed"),
    [
        ("alpha-k-anonymity", {"alpha": 0.75, "k": 4}, {"alpha": 0.74, "k": 4}),
        ("alpha-k-anonymity", {"alpha": 0.75, "k": 4}, {"alpha": 0.75, "k": 5}),
        ("delta-disclosure-privacy", {"delta": 0.7}, {"delta": 0.69}),
        ("basic-beta-likeness", {"beta": 0.5}, {"beta": 0.49}),
        ("enhanced-beta-likeness", {"beta": 0.5}, {"beta": 0.49}),
    ],
)
def test_a_table_is_held_to_its_claim(make, naive, claim, model, kept, missed):
    """Values at 3 to 1 and 1 to 3 in classes of 4, half and half in the table."""
    frame = pl.DataFrame({"age": ["a"] * 4 + ["b"] * 4, "zip": "z", "ill": [*"xxxyxyyy"]})
    roles = {"age": "quasi_identifier", "zip": "quasi_identifier", "ill": "sensitive"}
    oracle = naive(frame)

    held, broken = verify(
        make(
            frame,
            [oracle.honest(claim(model, "ill", **each)) for each in (kept, missed)],
            roles=roles,
        ).path
    ).claims

    assert held.holds
    assert not broken.holds


def test_a_value_that_fills_a_class_breaks_enhanced_beta(make, naive, claim):
    frame = pl.DataFrame({"age": ["a"] * 4 + ["b"] * 4, "zip": "z", "ill": [*"xxxxxxyy"]})
    roles = {"age": "quasi_identifier", "zip": "quasi_identifier", "ill": "sensitive"}
    claims = [claim(f"{kind}-beta-likeness", "ill", beta=1) for kind in ("basic", "enhanced")]

    basic, enhanced = verify(
        make(frame, [naive(frame).honest(each) for each in claims], roles=roles).path
    ).claims

    assert basic.holds
    assert not enhanced.holds
    assert enhanced.to_dict()["counted"] == "inf"


def test_the_worse_of_both_counts_decides(claim):
    """No model of today can be worse with wildcards; one of tomorrow may."""
    promised = claim("k-anonymity", k=5)
    evidence = Evidence(achieved=5, classes=1, rows=5, smallest_class=5)
    finding = Finding(counted=5, wildcard=4, classes=1, rows=5, smallest=5)

    compare(
        finding,
        type(promised)(**_fields(promised) | {"evidence": evidence}),
        level_rule_of(promised),
    )

    assert finding.reasons == ["the guarantee isn't kept when missing cells are wildcards"]


def _fields(value):
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def test_nothing_verified_is_nothing_that_holds():
    nothing = CheckedRelease(kind="microdata", claims=(), problems=(), weaknesses=(), rows=0)

    assert not nothing.holds
    with pytest.raises(VerificationError):
        nothing.raise_if_broken()


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=30))
def test_keys_of_several_words_are_exact_and_lead_back(rows):
    """The words stand near the limit, so that no two fit one key."""
    matrix = np.array(rows, dtype=np.int64)
    words = [matrix[:, i] + (KEY_LIMIT - 4) for i in range(3)]

    keys = RowKeys.of(words, [KEY_LIMIT] * 3).with_room_for(2**60)

    agree = (matrix[:, None, :] == matrix[None, :, :]).all(axis=2)
    assert ((keys.keys[:, None] == keys.keys[None, :]) == agree).all()
    assert all(
        (back == word).all() for back, word in zip(keys.words_of(keys.keys), words, strict=True)
    )


@given(st.lists(st.integers(1, KEY_LIMIT), min_size=1, max_size=30))
def test_packed_words_hold_every_column_once_and_stay_in_bounds(spans):
    packing = pack(spans)

    assert [i for packed in packing for i in packed] == list(range(len(spans)))
    for packed in packing:
        product = 1
        for i in packed:
            product *= spans[i]
        assert product <= KEY_LIMIT


@pytest.mark.parametrize("column", ["entropy-l-diversity", "distinct-l-diversity"])
def test_even_values_reach_their_number(make, naive, claim, column):
    """Three equally frequent values: exp(log 3) isn't 3 in floats, and the promise is kept."""
    frame = pl.DataFrame({"age": ["a"] * 9, "zip": ["z"] * 9, "ill": ["x", "y", "z"] * 3})
    roles = {"age": "quasi_identifier", "zip": "quasi_identifier", "ill": "sensitive"}
    rule = naive(frame).honest(claim(column, "ill", l=3))

    assert verify(make(frame, [rule], roles=roles).path).holds
