"""Policies of databases: what is named, and faults that are told by their place."""

from __future__ import annotations

import pytest
from tests.databases.copying import POLICY

from halfmask._errors import PolicyError
from halfmask.databases import DatabasePolicy

HEAD = "halfmask-database = 1\n"


def test_rules_are_words_or_masks():
    policy = DatabasePolicy.from_toml(POLICY)

    people = policy.tables["people"].columns
    assert [people[it].word for it in ("id", "name", "boss")] == [None, "drop", "reference"]
    assert policy.masks()["people", "email"].name == "token"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "tables"),
        ('[tables.t.columns]\na = "kepe"', "[tables.t.columns.a]: is no word for a column."),
        ("[tables.t.columns]\na = {}", "[tables.t.columns.a]: must be a word or have a mask."),
        ('[tables.t.columns]\na = { word = "keep" }', "has no key 'word'"),
        ('[tables.t.columns]\na = { domain = "d" }', "[tables.t.columns.a] has no key 'domain'"),
        ('[tables.t.columns]\na = { mask = { name = "tokn" } }', "a] mask has no name"),
        ('[tables.t]\ndrop = true\n[tables.t.columns]\na = "keep"', "must name its columns"),
        ("[tables.t]", "must name its columns, or be dropped"),
        ("[tables.t]\ndrop = true\nfraction = 1", "[tables.t] has no key 'fraction'"),
        ('[tables.t]\ndrop = true\n[subset]\ntable = "t"', "[subset]: says of no row"),
        ('[tables.t]\ndrop = true\n[subset]\ntable = "t"\nfraction = 1', "below 1"),
        ('[tables.t]\ndrop = true\n[subset]\ntable = "t"\nlimit = 0', "at least 1"),
        (
            '[tables.t]\ndrop = true\n[subset]\ntable = "t"\nlimit = 2\nfraction = 0.5',
            "has a fraction and a limit",
        ),
    ],
)
def test_a_fault_is_told_by_its_place(text, says):
    with pytest.raises(PolicyError) as caught:
        DatabasePolicy.from_toml(HEAD + text)

    assert says in caught.value.what


def test_a_policy_of_one_table_is_refused_by_its_kind():
    with pytest.raises(PolicyError, match="a policy of a database is wanted"):
        DatabasePolicy.from_toml("halfmask = 1")


def test_the_hash_follows_from_the_content():
    changed = POLICY.replace("digits = 16", "digits = 20")
    comment = POLICY.replace("[tables.towns", "# towns\n[tables.towns")

    same, other = (DatabasePolicy.from_toml(it).sha256 for it in (comment, changed))

    assert DatabasePolicy.from_toml(POLICY).sha256 == same != other
