"""Microaggregation as the method of a policy, and as a mask of all quasi-identifiers."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from halfmask import PolicyError, mask, protect, verify
from halfmask.microdata import Policy

QUASI = ["age", "town", "pay"]
METHOD = """
[method]
name = "mdav"
"""
MASK = """
[[masks]]
name = "microaggregation"
method = "gower"
columns = ["age", "town", "pay"]
k = 6
"""
DIVERSE = """
[[guarantees]]
model = "distinct-l-diversity"
column = "ill"
l = 2
"""
POLICY = """
halfmask = 1
[columns]
age = { role = "quasi_identifier", kind = "numeric" }
town = { role = "quasi_identifier", kind = "categorical" }
pay = { role = "quasi_identifier", kind = "numeric" }
ill = { role = "sensitive", kind = "categorical" }
[[guarantees]]
model = "k-anonymity"
k = 6
[recoding]
name = "centroid"
"""


def people(n, seed):
    rng = np.random.default_rng(seed)
    gone, pay = rng.random(n) < 0.1, rng.integers(0, 5000, n).tolist()
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "town": rng.choice(list("abcdef"), n),
            "pay": [None if no else one for no, one in zip(gone, pay, strict=True)],
            "ill": rng.choice(["no", "flu", "gout", "cold"], n, p=[0.5, 0.2, 0.2, 0.1]),
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("how", [METHOD, MASK], ids=["method", "mask"])
@pytest.mark.parametrize("more", ["", DIVERSE], ids=["k", "k and l"])
def test_its_guarantees_are_counted_on_disk(tmp_path, how, more):
    """By the verifier, and in plain Python from the released rows."""
    release = protect(people(400, seed=6), Policy.from_toml(POLICY + how + more))
    release.write(tmp_path / "out")
    rows = release.data.select(QUASI).rows()

    assert verify(tmp_path / "out").holds
    assert min(rows.count(row) for row in set(rows)) >= 6
    assert len(set(rows)) > 10


@pytest.mark.slow
def test_the_method_makes_classes_of_k_to_2k_less_one_rows():
    release = protect(people(400, seed=8), Policy.from_toml(POLICY + METHOD))
    cells = release.source.cells
    assert cells is not None
    sizes = np.bincount(cells)

    assert sizes.min() >= 6
    assert sizes.max() < 12


@pytest.mark.slow
def test_mondrian_keeps_the_groups_of_the_mask_whole():
    """Strict cuts lie between values, so that rows of one group, which are equal, stay together."""
    prepared = protect(people(400, seed=7), Policy.from_toml(POLICY + MASK)).source
    masked = prepared.source.read(columns=QUASI)
    placed = masked.with_columns(cell=pl.Series(prepared.cells))

    assert placed.unique().height == masked.unique().height
    assert min(masked.group_by(QUASI).len()["len"].to_list()) >= 6


def test_a_guarantee_about_a_sensitive_column_that_is_microaggregated_is_refused():
    """One illness cost can get two averages: l-diversity would count both."""
    text = """
halfmask = 1
[columns]
age = { role = "quasi_identifier", kind = "numeric" }
cost = { role = "sensitive", kind = "numeric" }
[[guarantees]]
model = "k-anonymity"
k = 3
[[guarantees]]
model = "distinct-l-diversity"
column = "cost"
l = 2
[[masks]]
name = "microaggregation"
columns = ["cost"]
k = 3
"""
    with pytest.raises(PolicyError, match="'microaggregation' can write different values"):
        Policy.from_toml(text)


@pytest.mark.slow
@pytest.mark.real_data
def test_a_release_of_the_mask_alone_claims_its_groups(shared_data, tmp_path):
    """Tarragona without quasi-identifiers: groups of three companies, counted on disk."""
    companies = pl.read_csv(shared_data / "sdc" / "Tarragona.csv")
    policy = Policy(
        halfmask=1,
        columns={name: {"role": "insensitive", "kind": "numeric"} for name in companies.columns},
        masks=[{"name": "microaggregation", "columns": companies.columns, "k": 3}],
    )
    release = mask(companies, policy).write(tmp_path / "out")
    rows = release.data.rows()

    assert verify(tmp_path / "out").holds
    assert ("groups-of-k", {"k": 3}) in [(it.model, dict(it.parameters)) for it in release.claims]
    assert min(rows.count(row) for row in set(rows)) >= 3
