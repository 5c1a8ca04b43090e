"""What a policy wants of one table."""

from __future__ import annotations

import polars as pl
import pytest

from halfmask._errors import ColumnNotFoundError
from halfmask.data import Hierarchy, open_table
from halfmask.guarantees import KAnonymity
from halfmask.microdata import Policy
from halfmask.microdata.opening import people_of, protection_of, schema_on

POLICY = Policy.from_toml(
    """
    halfmask = 1
    suppression = { max_fraction = 0.25 }
    guarantees = [{ model = "k-anonymity", k = 2 }]
    [columns]
    age = { role = "quasi_identifier", kind = "numeric" }
    ill = { role = "sensitive", kind = "text", hierarchy = { prefix = [1] } }
    """
)
PEOPLE = pl.DataFrame({"age": [1, 2, 3], "ill": ["ab", "ac", "bd"]})


def test_rules_of_sensitive_columns_become_trees_on_the_values_that_occur():
    schema = schema_on(POLICY, open_table(PEOPLE))

    tree = schema["ill"].hierarchy
    assert isinstance(tree, Hierarchy)
    assert sorted(tree.leaves) == ["ab", "ac", "bd"]


def test_the_protection_asks_for_what_the_policy_says():
    protection = protection_of(POLICY, schema_on(POLICY, open_table(PEOPLE)))

    assert protection.guarantees == (KAnonymity(k=2),)
    assert protection.max_suppression_fraction == 0.25
    assert protection.method.name == "mondrian"


def test_a_population_needs_the_quasi_identifiers():
    schema = schema_on(POLICY, open_table(PEOPLE))

    assert people_of(PEOPLE, POLICY, schema).columns == ["age"]
    with pytest.raises(ColumnNotFoundError, match="the population"):
        people_of(PEOPLE.select("ill"), POLICY, schema)
