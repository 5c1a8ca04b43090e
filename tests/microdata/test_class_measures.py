"""Measures of a release's classes: in the utility, the manifest and the report."""

from __future__ import annotations

import json
from math import log2

import polars as pl
import pytest

from halfmask.microdata import Policy, protect

TABLE = pl.DataFrame(
    {
        "age": [1, 2, 5, 6, 1, 2, 5, 6],
        "town": ["a", "a", "a", "a", "b", "b", "b", "b"],
        "well": ["yes", "no", "yes", "yes", "no", "no", "no", "yes"],
    }
)


def _release(**more):
    columns = {
        "age": {
            "role": "quasi_identifier", "kind": "numeric", "hierarchy": {"intervals": [4, 8]}
        },
        "town": {"role": "quasi_identifier", "kind": "categorical"},
        "well": {"role": "insensitive", "kind": "categorical", "label": True},
    }  # fmt: skip
    return protect(
        TABLE,
        Policy(
            halfmask=1,
            columns=columns,
            guarantees=[{"model": "k-anonymity", "k": 2}],
            recoding={"name": "level"},
            **more,
        ),
    )


def test_measures_worked_by_hand():
    """Four classes of two rows: ages of one interval, one town."""
    measures = _release().utility.measures

    assert measures.ambiguity == 1
    # Each row's age is one of two, of four: one bit of two; its town is said.
    assert measures.non_uniform_entropy == pytest.approx((1 / 2 + 0) / 2)
    assert measures.kl_divergence == pytest.approx(0)
    # Ages 1 and 2 around 1.5, of 1, 2, 5 and 6 around 3.5.
    assert measures.squared_error == pytest.approx(0.5**2 / ((2.5**2 + 1.5**2) / 2))
    # Level 1 of 3: intervals of 4, of 8, and the root.
    assert measures.height == pytest.approx(1)
    assert measures.classification == pytest.approx(2 / 8)


def test_suppressed_rows_count():
    rows = pl.concat([TABLE, pl.DataFrame({"age": [None], "town": ["a"], "well": ["yes"]})])
    text = _release().source.policy.to_toml()
    text = text.replace("[columns.age]", '[columns.age]\nmissing = "suppress"')
    found = protect(rows, Policy.from_toml(text)).utility

    assert found.class_sizes.suppressed == 1
    assert found.measures.ambiguity == pytest.approx(log2((8 * 2 + 1 * 4 * 2) / 9))
    assert found.measures.classification == pytest.approx((2 + 1) / 9)


def test_measures_are_in_the_manifest_and_the_report(tmp_path):
    release = _release().write(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    page = (tmp_path / "out" / "report.html").read_text()

    stated = manifest["details"]["utility"]["measures"]
    assert stated == release.utility.measures.to_dict()
    assert set(stated) == {
        "non_uniform_entropy", "ambiguity", "kl_divergence", "squared_error", "precision",
        "height", "classification", "payout",
    }  # fmt: skip
    for name in ("Non-uniform entropy", "Ambiguity", "Squared error", "Precision"):
        assert name in page


def test_the_payout_of_the_objective_is_in_the_report():
    """Worked by hand: all rows in one class lose all, and nobody attacks; then they do."""
    terms = {"publisher_benefit": 10, "publisher_loss": 8, "adversary_gain": 8}

    def payout(cost: float, k: int) -> float | None:
        objective = {"name": "publisher-payout", **terms, "adversary_cost": cost}
        columns = {
            "age": {
                "role": "quasi_identifier", "kind": "numeric", "hierarchy": {"intervals": [4]}
            },
            "town": {"role": "quasi_identifier", "kind": "categorical"},
            "well": {"role": "identifier"},
        }  # fmt: skip
        policy = Policy(
            halfmask=1,
            columns=columns,
            guarantees=[{"model": "k-anonymity", "k": k}],
            method={"name": "full-domain", "objective": objective},
            recoding={"name": "level"},
        )
        found: float | None = protect(TABLE, policy).utility.measures.payout
        return found

    assert payout(2.0, k=8) == 0
    # Two ages of four, one town of two: a third of three bits is lost; chance 1/2, gain 4.
    assert payout(5.0, k=2) == pytest.approx(8 * 10 * 2 / 3)
    assert payout(3.0, k=2) == pytest.approx(max(8 * (10 * 2 / 3 - 4), 8 * (10 / 3 - 0)))


def test_what_cant_be_counted_is_none():
    columns = {"town": {"role": "quasi_identifier", "kind": "categorical"}}
    policy = Policy(
        halfmask=1,
        columns={**columns, "age": {"role": "identifier"}, "well": {"role": "identifier"}},
        guarantees=[{"model": "k-anonymity", "k": 2}],
    )
    measures = protect(TABLE, policy).utility.measures

    assert measures.squared_error is None
    assert measures.precision is None
    assert measures.classification is None
    assert [name for name, *_ in measures.rows] == [
        "Non-uniform entropy", "Ambiguity", "KL divergence"
    ]  # fmt: skip
