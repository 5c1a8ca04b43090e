"""The verifier and the guarantees share no code, and agree on every table."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from halfmask.claims import ClassClaim as Claim
from halfmask.claims import Evidence
from halfmask.data import Hierarchy
from halfmask.guarantees import guarantee_from, measure
from halfmask.verifier import tables

#: Its claims say more than `CheckedClaim`.
verify: Any = tables.verify

ROLES = {
    "age": "quasi_identifier",
    "zip": "quasi_identifier",
    "ill": "sensitive",
    "pay": "sensitive",
}
TREE = [["flu", "lung", "*"], ["cough", "lung", "*"], ["ulcer", "gut", "*"], ["colic", "gut", "*"]]
MODELS: list[tuple[str, dict[str, object]]] = [
    ("k-anonymity", {"k": 3}),
    ("distinct-l-diversity", {"l": 2, "column": "ill"}),
    ("entropy-l-diversity", {"l": 1.5, "column": "ill"}),
    ("recursive-cl-diversity", {"c": 3, "l": 2, "column": "ill"}),
    ("t-closeness", {"t": 0.25, "column": "ill", "distance": "equal"}),
    ("t-closeness", {"t": 0.25, "column": "ill", "distance": "ordered"}),
    ("t-closeness", {"t": 0.25, "column": "ill", "distance": "hierarchical"}),
    ("t-closeness", {"t": 0.25, "column": "pay", "distance": "ordered"}),
    ("largest-risk", {"risk": 0.33}),
    ("average-risk", {"risk": 0.33}),
    ("sample-uniqueness", {"share": 0.1}),
    ("records-at-risk", {"share": 0.2, "risk": 0.33}),
    ("population-uniqueness", {"share": 0.2, "population": 100}),
    (
        "profitability-prosecutor",
        {"publisher_benefit": 2, "publisher_loss": 5, "adversary_gain": 9, "adversary_cost": 1},
    ),
    ("profitability-prosecutor-no-attack", {"adversary_gain": 5, "adversary_cost": 2}),
    ("population-uniqueness", {"share": 0.2, "sampling_fraction": 0.05, "estimator": "zayatz"}),
    ("alpha-k-anonymity", {"alpha": 0.5, "k": 3, "column": "ill"}),
    ("delta-disclosure-privacy", {"delta": 0.7, "column": "ill"}),
    ("basic-beta-likeness", {"beta": 1, "column": "ill"}),
    ("enhanced-beta-likeness", {"beta": 1, "column": "pay"}),
    # Quotients, whose floats lie on either side of them.
    ("largest-risk", {"risk": 1 / 3}),
    ("average-risk", {"risk": 1 / 3}),
    ("records-at-risk", {"share": 1 / 3, "risk": 1 / 3}),
    ("alpha-k-anonymity", {"alpha": 2 / 3, "k": 3, "column": "ill"}),
    (
        "profitability-prosecutor",
        {
            "publisher_benefit": 2,
            "publisher_loss": 5,
            "adversary_gain": 10,
            "adversary_cost": 10 / 3,
        },
    ),
    ("profitability-prosecutor-no-attack", {"adversary_gain": 5, "adversary_cost": 5 / 3}),
]
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["[1, 5]", "[6, 9]", None]),
        st.sampled_from(["z", "y"]),
        st.sampled_from([*(row[0] for row in TREE), None]),
        st.sampled_from([1.5, 10.0, 200.0, None]),
    ),
    min_size=1,
    max_size=40,
)
THIRDS = [("[1, 5]", "z", "flu", 1.5)] * 2 + [("[1, 5]", "z", "ulcer", 1.5)]


def asks_for_tree(parameters):
    return parameters.get("column") == "ill" and parameters.get("distance", "equal") != "equal"


@pytest.mark.slow
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=ROWS)
@example(rows=THIRDS)
@example(rows=THIRDS + [("[6, 9]", "y", "flu", 10.0)] * 3)
def test_what_the_guarantees_count_is_what_the_verifier_counts(rows, make):
    schema = {"age": pl.String, "zip": pl.String, "ill": pl.String, "pay": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    held = [row for row in TREE if row[0] in frame["ill"].to_list()]
    if not held:
        return
    tree = Hierarchy.from_rows(held, column="ill")
    guarantees = [
        guarantee_from(
            model, parameters | ({"hierarchy": tree} if asks_for_tree(parameters) else {})
        )
        for model, parameters in MODELS
    ]
    judged = measure(frame, quasi_identifiers=["age", "zip"], guarantees=guarantees)
    claims = [
        Claim(
            model=each.guarantee.model,
            parameters=each.guarantee.parameters,
            column=each.guarantee.column,
            quasi_identifiers=("age", "zip"),
            evidence=Evidence(
                achieved=min(each.achieved, 1e300),
                classes=each.classes,
                rows=each.rows,
                smallest_class=1,
            ),
            support="support/0.csv" if each.guarantee.column == "ill" else None,
            basis=each.guarantee.basis,
        )
        for each in judged
    ]

    found = verify(
        make(
            frame,
            claims,
            roles=ROLES,
            kinds={"pay": "numeric"},
            trees={
                "ill": [
                    list(row) for row in zip(*map(tree.labels, range(tree.height)), strict=True)
                ]
            },
        ).path
    )

    assert found.problems == ()
    for each, seen in zip(judged, found.claims, strict=True):
        assert seen.counted == pytest.approx(each.achieved, abs=1e-12), each.guarantee
        assert seen.classes == each.classes
        if seen.counted_wildcard == seen.counted:
            assert seen.holds == each.holds
