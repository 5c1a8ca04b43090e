"""Hierarchies of a policy: made from values, built, or read from files beside it."""

from __future__ import annotations

import polars as pl
import pytest

from halfmask._errors import HierarchyError, PolicyError
from halfmask.data import Groups, Hierarchy, Prefix
from halfmask.microdata import Policy
from microdata.policies import (  # type: ignore[import-not-found] # beside, not in a package
    TEXT,
)


def test_a_tree_made_from_values_waits_for_the_table():
    rule = "{ groups = { low = ['trainee'], high = ['boss'] } }"
    listed = TEXT.replace('{ order = [["trainee", "CANARY"], ["boss"]] }', rule).replace(
        '"ordered"', '"hierarchical"'
    )
    made = TEXT.replace('{ order = [["trainee", "CANARY"], ["boss"]] }', "{ prefix = [1] }")

    assert Policy.from_toml(listed).guarantees()[1].order == ("trainee", "boss")
    assert Policy.from_toml(listed).schema()["job"].hierarchy == Groups(
        {"low": ["trainee"], "high": ["boss"]}
    )
    with pytest.raises(PolicyError, match="made from the values of the table"):
        Policy.from_toml(made).guarantees()


def test_built_hierarchies_are_taken_from_the_schema():
    policy = Policy.from_toml(
        TEXT.replace('{ order = [["trainee", "CANARY"], ["boss"]] }', "{ prefix = [1] }")
    )
    schema = policy.schema()
    rule = schema["job"].hierarchy
    assert isinstance(rule, Prefix)
    built = rule.build(pl.Series(["b", "a"]), column="job")
    columns = [
        column
        if column.name != "job"
        else type(column)(name="job", role="sensitive", kind="ordinal", hierarchy=built)
        for column in schema.columns
    ]

    assert policy.guarantees(type(schema)(tuple(columns)))[1].order == ("a", "b")


def test_hierarchy_files_are_looked_for_beside_the_policy(tmp_path):
    (tmp_path / "age.csv").write_text("17;young\n80;old\n", encoding="utf-8")
    text = TEXT.replace("{ intervals = [5, 10, 20] }", '{ file = "age.csv" }')
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")

    policy = Policy.load(tmp_path / "policy.toml")

    hierarchy = policy.schema()["age"].hierarchy
    assert isinstance(hierarchy, Hierarchy)
    assert hierarchy.leaves == ("17", "80")
    assert policy == Policy.from_toml(text)
    with pytest.raises(PolicyError, match="no folder"):
        Policy.from_toml(text).schema()
    with pytest.raises(HierarchyError, match="age"):
        policy.schema(tmp_path / "elsewhere")
