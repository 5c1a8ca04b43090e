"""A policy says what it means or refuses, by place, without quoting what it holds."""

from __future__ import annotations

import re

import pytest

from halfmask._errors import PolicyError
from halfmask.microdata import Policy
from microdata.policies import (  # type: ignore[import-not-found] # beside, not in a package
    TEXT,
)


def test_a_policy_without_a_guarantee_promises_nothing():
    with pytest.raises(PolicyError, match="has no \\[\\[guarantees"):
        Policy(
            halfmask=1, columns={"a": {"role": "quasi_identifier", "kind": "text"}}, guarantees=[]
        )


def test_labels_guide_where_no_column_is_named():
    policy = Policy.from_toml(TEXT.replace('split_targets = ["income"]', ""))

    assert policy.split_targets == ("income",)


def test_toml_is_read_back_as_the_same_policy():
    policy = Policy.from_toml(TEXT)

    again = Policy.from_toml(policy.to_toml())

    assert again == policy
    assert hash(again) == hash(policy)
    assert again.sha256 == policy.sha256


def test_the_hash_is_of_the_meaning():
    policy = Policy.from_toml(TEXT)
    spaced = "# a comment\n" + TEXT.replace('missing = "value"\n', "").replace("k = 10", "k   = 10")
    swapped = TEXT.replace('model = "k-anonymity"\nk = 10', 'k = 10\nmodel = "k-anonymity"')

    assert re.fullmatch("[0-9a-f]{64}", policy.sha256)
    assert Policy.from_toml(spaced).sha256 == policy.sha256
    assert Policy.from_toml(swapped).sha256 == policy.sha256
    for before, after in [
        ("k = 10", "k = 11"),
        ("CANARY", "x"),
        ('"csv"', '"arrow"'),
        ("ssn", "s"),
    ]:
        assert Policy.from_toml(TEXT.replace(before, after)).sha256 != policy.sha256


def test_no_category_shows_in_the_repr():
    policy = Policy.from_toml(TEXT)

    assert "CANARY" not in f"{policy!r} {policy}"
    assert repr(policy) == "Policy(4 columns, k-anonymity, t-closeness, guided)"


def test_the_json_schema_asks_for_what_a_policy_needs():
    assert Policy.json_schema()["required"] == ["halfmask", "columns"]


@pytest.mark.parametrize(
    ("method", "old", "new", "value"),
    [
        ("guided", "least_gain", "min_gain", 0.2),
        ("guided", "towards", "split_targets", ["income"]),
    ],
)
def test_keys_of_policies_of_0_1_are_read_as_todays(method, old, new, value):
    """Old keys set the new ones; both at once are refused, and so is one of another method."""
    text = TEXT.replace('name = "guided"\nsplit_targets = ["income"]', f'name = "{method}"\nKEYS')
    assert "KEYS" in text

    policy = Policy.from_toml(text.replace("KEYS", f"{old} = {value}"))

    assert policy == Policy.from_toml(text.replace("KEYS", f"{new} = {value}"))
    assert old not in policy.to_toml()
    with pytest.raises(PolicyError, match=f"no key '{old}'"):
        Policy.from_toml(text.replace("KEYS", f"{old} = {value}\n{new} = {value}"))
    with pytest.raises(PolicyError, match=f"no key '{old}'"):
        Policy.from_toml(text.replace(f'"{method}"\nKEYS', f'"mdav"\n{old} = {value}'))


def test_a_policy_of_0_1_keeps_its_hash():
    """Manifests of 0.1 name the hash of their policy, as 0.1 counted it for this text."""
    old = TEXT.replace('split_targets = ["income"]', 'towards = ["income"]\nleast_gain = 0.1')
    assert old != TEXT

    assert Policy.from_toml(old).sha256 == (
        "25b3c1ec38f2d12e8e31b1b0e92989e867dc50cdcc59bdfd2597cf77bd5228a4"
    )


@pytest.mark.parametrize("text", [None, b"halfmask = 1", 1])
def test_what_is_no_text_is_no_policy(text):
    with pytest.raises(PolicyError, match="read from text"):
        Policy.from_toml(text)
