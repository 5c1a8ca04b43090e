"""What is wrong with a policy is said by its place, in our words, without what was given."""

from __future__ import annotations

import re
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import PolicyError
from halfmask.microdata import Policy
from microdata.policies import (  # type: ignore[import-not-found] # beside, not in a package
    TEXT,
)


def refused(before, after):
    """The error that the policy raises with one thing in it replaced."""
    assert before in TEXT
    with pytest.raises(PolicyError) as caught:
        Policy.from_toml(TEXT.replace(before, after, 1))
    error = caught.value
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None
    assert "CANARY" not in str(error)
    assert "pydantic" not in str(error)
    return str(error)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("halfmask = 1", "", "The policy lacks the key 'halfmask'"),
        ("halfmask = 1", "halfmask = 2", r"The key 'halfmask' must be 1. Got 2\."),
        ("[method]", "[methods]", "The policy has no key 'methods'.*Did you mean 'method'"),
        ("[input]\nmissing", "[input]\nmising", r"\[input\] has no key.*Did you mean 'missing'"),
        ('["?", ""]', '["CANARY", 1]', r"\[input\] missing must be text. Got 1"),
        ('missing = ["?", ""]', 'encoding = "CANARY"', "'encoding' parameter"),
        ('missing = ["?", ""]', 'delimiter = "CANARY"', r"\[input\] delimiter must be one char"),
        (
            'role = "quasi_identifier"',
            'rolle = "sensitive"',
            r"\[columns.age\] lacks the key 'role'",
        ),
        ('role = "quasi_identifier"', 'rolle = "sensitive"', "Did you mean 'role'"),
        (
            '"quasi_identifier"',
            '"quasi_identifer"',
            "Got 'quasi_identifer'.*mean 'quasi_identifier'",
        ),
        ('kind = "numeric"', 'kind = "numerical"', r"\[columns.age\] kind.*Did you mean 'numeric'"),
        ('kind = "numeric"\n', "", r"\[columns.age\]: lacks the key 'kind'"),
        ('missing = "value"', 'missing = "drop"', r"\[columns.age\] missing must be 'value'"),
        (
            "label = true",
            'label = "yes"',
            r"\[columns.income\] label must be true or false. Got text",
        ),
        ('role = "identifier"', 'role = "identifier"\nlabel = true', "an identifier and a label"),
        (
            '"identifier"',
            '"identifier"\nhierarchy = { prefix = [1] }',
            r"\[columns.ssn\]: has a hier",
        ),
        ("intervals =", "CANARY =", r"\[columns.age\] hierarchy has no such key"),
        ("intervals", "interval", r"\[columns.age\] hierarchy has no such key.*mean 'intervals'"),
        ("intervals = [5, 10, 20]", "", "exactly one of file, intervals.*Got 0"),
        ("[5, 10, 20]", "[5], prefix = [2]", "exactly one of file, intervals.*Got 2"),
        ("[5, 10, 20]", '[5], mask = "*"', "key 'mask', which goes with 'prefix'"),
        ("[5, 10, 20]", "[5, 12]", r"\[columns.age\] hierarchy: Each of the 'widths'"),
        ("[5, 10, 20]", "5", r"\[columns.age\] hierarchy.intervals must be a list. Got 5"),
        ("[5, 10, 20]", "[nan]", "must be a finite number"),
        ("intervals = [5, 10, 20]", 'dates = ["CANARY"]', "hierarchy.dates must be 'day'"),
        ("intervals = [5, 10, 20]", "groups = {CANARY = 2020-01-01}", "hierarchy.groups must be"),
        ("intervals = [5, 10, 20]", "groups = {}", "'groups' parameter of Groups"),
        ("intervals = [5, 10, 20]", 'file = "/CANARY"', "isn't given relative to the policy"),
        ("intervals = [5, 10, 20]", "file = 'C:\\CANARY'", "isn't given relative to the policy"),
        ("intervals = [5, 10, 20]", 'file = "s3://CANARY"', "isn't given relative to the policy"),
        (
            "k-anonymity",
            "k-anonimity",
            r"\[\[guarantees\]\] number 1 has no model.*mean 'k-anonymity'",
        ),
        ('model = "k-anonymity"\n', "", r"\[\[guarantees\]\] number 1 lacks the key 'model'"),
        ("k = 10", "", r"\[\[guarantees\]\] number 1 lacks the key 'k'"),
        ("k = 10", "k = 1", "number 1 k must be at least 2. Got 1. It would guarantee nothing"),
        ("k = 10", "k = true", "number 1 k must be a whole number. Got true"),
        ("k = 10", "k = 10.0", "number 1 k must be a whole number. Got 10.0"),
        ("k = 10", 'k = "10"', "number 1 k must be a whole number. Got text"),
        ("k = 10", 'k = 10\ncolumn = "job"', "number 1 has no key 'column'"),
        ("t = 0.2", "t = 1", r"number 2 t must be below 1\.0. Got 1"),
        ("t = 0.2", "t = -0.1", r"number 2 t must be at least 0"),
        ('"ordered"', '"order"', "number 2 distance must be.*Did you mean 'ordered'"),
        ('column = "job"', 'column = "jop"', "number 2: .*'jop'.*Did you mean 'job'"),
        ('column = "job"', 'column = "age"', "number 2 is about column 'age'.*isn't 'sensitive'"),
        (
            'kind = "ordinal"\nhierarchy = { order = [["trainee", "CANARY"], ["boss"]] }\n',
            'kind = "categorical"\n',
            "has no hierarchy",
        ),
        ('role = "quasi_identifier"', 'role = "sensitive"', "No column is a quasi_identifier"),
        ('name = "guided"', 'name = "guidde"', r"\[method\] has no name.*Did you mean 'guided'"),
        ('name = "guided"', 'name = "mondrian"', r"\[method\] has no key 'split_targets'"),
        ('name = "guided"', 'name = "mdav"', r"\[method\] has no key 'split_targets'"),
        ('name = "guided"', 'name = "mondrin"', r"\[method\] has no name.*Did you mean 'mondrian"),
        (
            '["income"]',
            '["incme"]',
            r"split_targets: .*Did you mean 'income' for 'incme'",
        ),
        ('["income"]', '["ssn"]', r"\[method\] split_targets names 'ssn', an identifier"),
        ("label = true\n", "", None),
        ('name = "ranges"', 'name = "range"', r"\[recoding\] has no name.*Did you mean 'ranges'"),
        (
            'name = "ranges"',
            'name = "ranges"\nnumeric = "mean"',
            r"\[recoding\] has no key 'numeric'",
        ),
        ("0.02", "1.0", r"\[suppression\] max_fraction must be below 1\.0. Got 1\.0"),
        ("0.02", "-0.1", r"\[suppression\] max_fraction must be at least 0"),
        ('"csv"', '"xlsx"', r"\[output\] format must be"),
        ("halfmask = 1", 'halfmask = 1\nCANARY = "', "isn't valid TOML at line 2, column"),
        ("[input]", "[columns.age]", "isn't valid TOML"),
    ],
)
def test_each_fault_is_said_by_place(before, after, said):
    if said is None:
        # Without a label the named columns still guide; only without both there is nothing.
        text = TEXT.replace(before, after, 1)
        assert Policy.from_toml(text).split_targets == ("income",)
        with pytest.raises(PolicyError, match="no split targets"):
            Policy.from_toml(text.replace('split_targets = ["income"]', ""))
        return

    assert re.search(said, refused(before, after), re.DOTALL)


def test_files_that_are_no_policies_are_refused_without_their_path(tmp_path):
    broken = tmp_path / "CANARY.toml"
    broken.write_bytes(b"\xff\xfe\x00")
    for path, said in [
        (tmp_path / "CANARY", "can't be read"),
        (broken, "UTF-8"),
        (tmp_path, "read"),
    ]:
        with pytest.raises(PolicyError, match=said) as caught:
            Policy.load(path)
        assert "CANARY" not in str(caught.value)


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.just("CANARY")),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.just("CANARY-key"), inner, max_size=1)
    ),
    max_leaves=4,
)


PLACES = [
    ("input", "missing"),
    ("input", "delimiter"),
    ("columns", "age", "hierarchy"),
    ("columns", "age", "hierarchy", "intervals"),
    ("columns", "job", "hierarchy", "order"),
    ("columns", "age"),
    ("columns",),
    ("guarantees",),
    ("method", "split_targets"),
    ("method", "strict"),
    ("suppression",),
    ("recoding",),
]


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(place=st.sampled_from(PLACES), value=VALUES)
def test_whatever_is_put_anywhere_is_taken_or_refused_in_our_words(place, value):
    sections = tomllib.loads(TEXT.replace("CANARY", "clerk"))
    inner = sections
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value

    said = said_of(sections)

    # A key may be named where it isn't known, and so may a column that isn't there.
    if place != ("method", "split_targets"):
        assert "CANARY" not in said.replace("CANARY-key", "")


def said_of(sections):
    """What the policy is refused with; only a PolicyError may come."""
    try:
        Policy(**sections)
    except PolicyError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("before", "after", "hint"),
    [
        ('split_targets = ["income"]', "strict = true", "It goes with mondrian: remove it."),
        ('name = "guided"', 'name = "mdav"', "It goes with guided or full-domain: remove it"),
        (
            'distance = "ordered"',
            "k = 3",
            "It goes with k-anonymity or alpha-k-anonymity",
        ),
    ],
)
def test_a_key_of_another_kind_is_refused_with_the_one_it_goes_with(before, after, hint):
    error = refused(before, after)

    assert "has no key" in error
    assert hint in error
