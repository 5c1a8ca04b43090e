"""protect without a policy: what becomes of columns that nobody named."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from halfmask import ColumnNotFoundError, ColumnWarning, ParameterError, describe
from halfmask.microdata import make_policy, protect

PEOPLE = pl.DataFrame(
    {
        "age": [20 + i % 40 for i in range(120)],
        "email": [f"p{i}@x.org" for i in range(120)],
        "thing": [("x", "y")[i * 7 % 2] for i in range(120)],
        "illness": [("flu", "cold", "cough")[i % 3] for i in range(120)],
    }
)


def test_columns_that_identify_or_are_unsure_are_dropped_and_named():
    with pytest.warns(ColumnWarning, match=r"identify: 'email'.*unsure.*'thing'"):
        release = protect(PEOPLE, quasi_identifiers=["age"], sensitive=["illness"], k=4, l=2)

    assert release.data.columns == ["age", "illness"]
    assert [claim.model for claim in release.claims] == ["k-anonymity", "distinct-l-diversity"]
    assert release.policy.schema().identifiers == ("email", "thing")


def test_what_is_named_is_released():
    """A column that describe would drop is kept where the owner gives it a role."""
    made = make_policy(PEOPLE, quasi_identifiers=["age", "thing"], sensitive=["illness"], k=4)

    assert made.policy.schema().quasi_identifiers == ("age", "thing")
    assert made.unsure == ()


def test_a_column_that_follows_from_a_named_one_is_generalized():
    """Its role is that of its source: released unchanged it would reveal it."""
    table = PEOPLE.with_columns(group=pl.col("age") // 10).rename({"age": "aa", "group": "bb"})

    made = make_policy(table, quasi_identifiers=["aa"], sensitive=["illness"], k=4)

    assert "bb" in made.generalized


def test_known_roles_are_kept():
    found = describe(PEOPLE, roles={"age": "sensitive", "email": "insensitive"})

    assert (found["age"].role, found["email"].role) == ("sensitive", "insensitive")
    assert found["age"].certain
    with pytest.raises(ColumnNotFoundError):
        describe(PEOPLE, roles={"agee": "sensitive"})
    with pytest.raises(ParameterError):
        describe(PEOPLE, roles={"age": "secret"})  # type: ignore[dict-item] # no role


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"quasi_identifiers": ["age"]},
        {"quasi_identifiers": [], "k": 4},
        {"quasi_identifiers": "age", "k": 4},
        {"quasi_identifiers": 5, "k": 4},
        {"quasi_identifiers": ["age"], "sensitive": None, "k": 4},
        {"quasi_identifiers": ["age"], "k": 1},
        {"quasi_identifiers": ["age"], "k": 4, "l": 1},
        {"quasi_identifiers": ["age"], "sensitive": ["age"], "k": 4},
        {"quasi_identifiers": ["age"], "label": "email", "k": 4},
        {"policy": make_policy(PEOPLE, quasi_identifiers=["age"], k=2).policy, "k": 4},
    ],
)
def test_what_is_not_clear_is_refused(said):
    with pytest.raises(ParameterError):
        protect(PEOPLE, **said)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["salary", "disease"])
def test_a_column_nobody_named_whose_values_are_all_different_is_dropped(name):
    """It would single out every row unchanged, whatever its name says."""
    values = [1000 + i for i in range(120)] if name == "salary" else [f"r{i}" for i in range(120)]
    table = PEOPLE.with_columns(pl.Series(name, values))

    made = make_policy(table, quasi_identifiers=["age"], k=4)
    named = make_policy(table, quasi_identifiers=["age"], sensitive=[name], k=4)

    assert name in made.policy.schema().identifiers
    assert made.decisions["dropped, since nearly all their values differ"] == (name,)
    assert named.policy.columns[name].role == "sensitive"
    assert "illness" in made.unchanged


@pytest.mark.mostly_slow
@pytest.mark.parametrize("column", ["diagnosis", "salary", "spouse", "thing"])
@pytest.mark.parametrize("families", [10, 2], ids=["many", "few"])
def test_names_of_people_are_dropped_whatever_the_column_is_called(column, families):
    """Of 120 rows no name is unique, and the column's own name says something else."""
    given, family = (
        ("Anna", "John", "Maria", "Paul"),
        ["Smith", "Weber", *(f"Q{i}" for i in "abcdefgh")],
    )
    names = [f"{given[i % 4]} {family[i // 4 % families]}" for i in range(120)]
    table = PEOPLE.drop("thing").with_columns(pl.Series(column, names))

    made = make_policy(table, quasi_identifiers=["age"], k=4)

    assert made.policy.columns[column].role == "identifier"
    assert column in made.decisions["dropped, since they identify"]


@pytest.mark.parametrize("column", ["city", "birthplace"])
def test_towns_that_are_called_as_people_are_places(column):
    towns = [
        ("San Jose", "San Diego", "Sao Paulo", "Santa Maria", "Linz")[i % 5] for i in range(120)
    ]
    table = PEOPLE.with_columns(pl.Series(column, towns))

    assert column in make_policy(table, quasi_identifiers=["age"], k=4).generalized


PHONES = [f"+49 170 55{i:04}" for i in range(120)]
FREE = [f"Patient number {i} came in on foot and left again in the evening" for i in range(120)]


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("phone", PHONES),
        ("x", PHONES),
        ("email", PEOPLE["email"]),
        ("illness", PEOPLE["email"]),
        ("illness", ["Anna Smith", "Paul Weber", "Maria Lopez"] * 40),
    ],
    ids=["phone", "its form", "mail", "form before name", "names"],
)
def test_an_identifier_named_as_sensitive_is_refused(column, values):
    """It would be released unchanged."""
    table = PEOPLE.with_columns(pl.Series(column, values))

    with pytest.raises(ParameterError, match=f"{column!r} is named as sensitive.*identifies"):
        make_policy(table, quasi_identifiers=["age"], sensitive=[column], k=4)


@pytest.mark.slow
@pytest.mark.parametrize("values", [PEOPLE["email"], PHONES], ids=["mail", "phone"])
def test_an_identifier_named_as_a_quasi_identifier_is_warned_of(values):
    """Sets of a class would list the addresses; `describe` would have dropped the column."""
    table = PEOPLE.with_columns(x=pl.Series(values))

    with pytest.warns(ColumnWarning, match="'x' is named as a quasi-identifier and seems") as said:
        made = make_policy(table, quasi_identifiers=["age", "x"], k=4)

    assert made.policy.schema().quasi_identifiers == ("age", "x")
    assert not any("@x.org" in str(each.message) or "+49" in str(each.message) for each in said)


@pytest.mark.slow
def test_a_sensitive_column_that_may_identify_is_warned_of():
    table = PEOPLE.with_columns(pl.Series("x", FREE))

    with pytest.warns(ColumnWarning, match="'x' is named as sensitive.*may identify"):
        made = make_policy(table, quasi_identifiers=["age"], sensitive=["x"], k=4)
    assert made.policy.columns["x"].role == "sensitive"


@pytest.mark.slow
def test_names_that_can_be_read_once_are_kept():
    """A generator that a check had read would name no column."""
    names: Any = (iter(["illness"]), iter(["thing"]))

    one = make_policy(PEOPLE, quasi_identifiers=names[0], sensitive=names[1], k=4)

    assert one.policy.columns["illness"].role == "quasi_identifier"
    assert one.policy.columns["thing"].role == "sensitive"


@pytest.mark.mostly_slow
@pytest.mark.parametrize("rare", [1, 3, 12, 60])
def test_each_column_that_is_named_as_sensitive_gets_l_diversity(rare):
    """However rare its other values are; the column that nobody named is told apart."""
    risk = pl.Series("risk", ["high" if i < rare else "low" for i in range(120)])
    table = PEOPLE.with_columns(risk)

    made = make_policy(table, quasi_identifiers=["age"], sensitive=["risk"], k=4)

    found = {it.column: it.parameters for it in made.policy.guarantees() if it.column}
    assert found["risk"] == {"l": 2}
    assert made.decisions["given l-diversity, as sensitive"] == ("illness",)
    assert "illness" in found
    asked = make_policy(table, quasi_identifiers=["age"], sensitive=["risk", "illness"], k=4, l=2)
    assert "given l-diversity, as sensitive" not in asked.decisions


@pytest.mark.parametrize(
    "cells", [["a"] * 120, [None] * 120, [None] + ["a"] * 119], ids=["one", "none", "or missing"]
)
def test_a_sensitive_column_with_one_value_is_refused(cells):
    """Each row reveals it. A missing cell counts as a value, as in every class."""
    table = PEOPLE.with_columns(pl.Series("risk", cells, dtype=pl.String))
    if cells[0] is None and cells[1] is not None:
        made = make_policy(table, quasi_identifiers=["age"], sensitive=["risk"], k=4)
        assert "risk" in {it.column for it in made.policy.guarantees()}
        return
    with pytest.raises(ParameterError, match="'risk' is named as sensitive, and has fewer than 2"):
        make_policy(table, quasi_identifiers=["age"], sensitive=["risk"], k=4)
