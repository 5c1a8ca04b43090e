"""The verifier against a naive count, row by row, over every model, format and kind of column."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halfmask.verifier import tables as room

#: Its claims say more than `CheckedClaim`.
verify: Any = room.verify

ROLES = {"age": "quasi_identifier", "zip": "quasi_identifier", "ill": "sensitive"}
TREE = [["flu", "lung", "*"], ["cough", "lung", "*"], ["ulcer", "gut", "*"], ["colic", "gut", "*"]]
ILLS = [row[0] for row in TREE]

# Hypothesis shares the folder maker between examples; each makes a folder of its own.
SHARED = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def tables(ills, *, nulls=True):
    missing = [None] if nulls else []
    row = st.tuples(
        st.sampled_from(["[1, 5]", "[6, 9]", *missing]),
        st.sampled_from(["{a, b}", "c", *missing]),
        st.sampled_from([*ills, *missing]),
    )
    schema = {
        "age": pl.String,
        "zip": pl.String,
        "ill": pl.Int64 if ills == [1, 2, 30] else pl.String,
    }
    return st.lists(row, min_size=1, max_size=24).map(
        lambda rows: pl.DataFrame(rows, schema=schema, orient="row")
    )


def check(make, naive, claims, frame, *, trees=None, fmt="parquet", kinds=None, n_parts=1):
    """Assert that the verifier counts what the naive oracle counts, and judges as it does."""
    tree = None if trees is None else trees["ill"]
    oracle = naive(frame, tree)
    honest = [oracle.honest(each) for each in claims]
    folder = make(frame, honest, roles=ROLES, fmt=fmt, trees=trees, kinds=kinds, n_parts=n_parts)

    found = verify(folder.path)

    assert found.problems == ()
    for each, seen in zip(honest, found.claims, strict=True):
        assert seen.counted == pytest.approx(oracle.worst(each, wildcard=False), abs=1e-12)
        assert seen.counted_wildcard == pytest.approx(oracle.worst(each, wildcard=True), abs=1e-12)
        assert seen.classes == each.evidence.classes
        assert seen.smallest_class == each.evidence.smallest_class
        assert seen.holds == oracle.keeps(each), seen.sentence
    return found


def diversity_claims(claim):
    return [
        claim("k-anonymity", k=2),
        claim("k-anonymity", k=4),
        claim("distinct-l-diversity", "ill", l=2),
        claim("entropy-l-diversity", "ill", l=1.8),
        claim("recursive-cl-diversity", "ill", c=2, l=2),
        claim("recursive-cl-diversity", "ill", c=1.5, l=3),
        claim("t-closeness", "ill", t=0.2, distance="equal"),
        claim("largest-risk", risk=0.5),
        claim("largest-risk", risk=0.2),
        *(
            claim(
                "profitability-prosecutor",
                publisher_benefit=benefit,
                publisher_loss=5,
                adversary_gain=9,
                adversary_cost=2.5,
            )
            for benefit in (3, 1)
        ),
        claim("profitability-prosecutor-no-attack", adversary_gain=3, adversary_cost=2),
        claim("profitability-prosecutor-no-attack", adversary_gain=3, adversary_cost=0.3),
        claim("average-risk", risk=0.4),
        claim("average-risk", risk=0.2),
        claim("sample-uniqueness", share=0.3),
        claim("sample-uniqueness", share=0),
        claim("records-at-risk", share=0.4, risk=0.4),
        claim("records-at-risk", share=0.2, risk=0.33),
        *(
            claim(
                "population-uniqueness",
                basis="estimated",
                share=share,
                population=60,
                estimator="zayatz",
            )
            for share in (0.3, 0.05)
        ),
        claim("alpha-k-anonymity", "ill", alpha=0.5, k=2),
        claim("alpha-k-anonymity", "ill", alpha=0.3, k=3),
        claim("delta-disclosure-privacy", "ill", delta=0.7),
        claim("basic-beta-likeness", "ill", beta=1),
        claim("basic-beta-likeness", "ill", beta=0.25),
        claim("enhanced-beta-likeness", "ill", beta=1),
    ]


@pytest.mark.slow
@SHARED
@given(data=st.data())
def test_all_models_are_counted_as_the_oracle_counts_them(data, make, naive, claim):
    frame = data.draw(tables(ILLS))
    fmt = data.draw(st.sampled_from(["parquet", "csv", "arrow", "jsonl"]))
    parts = data.draw(st.integers(1, min(3, frame.height)))
    if frame.height < 2 * parts or fmt == "jsonl":
        parts = 1

    check(make, naive, diversity_claims(claim), frame, fmt=fmt, n_parts=parts)


@SHARED
@given(data=st.data())
def test_numbers_are_ordered_as_numbers(data, make, naive, claim):
    frame = data.draw(tables([1, 2, 30]))
    fmt = data.draw(st.sampled_from(["parquet", "csv", "arrow"]))
    claims = [claim("t-closeness", "ill", t=t, distance="ordered") for t in (0.1, 0.25)]

    check(make, naive, claims, frame, fmt=fmt, kinds={"ill": "numeric"})


@pytest.mark.slow
@SHARED
@given(frame=tables(ILLS))
def test_order_and_tree_come_from_the_support_file(frame, make, naive, claim):
    rows = [row for row in TREE if row[0] in frame["ill"].to_list()]
    if not rows:
        return
    kinds = ("ordered", "hierarchical")
    claims = [
        claim("t-closeness", "ill", support="support/0.csv", t=0.2, distance=each) for each in kinds
    ]

    check(make, naive, claims, frame, trees={"ill": rows})
