"""The policy that a description proposes is TOML that says what was proposed."""

from __future__ import annotations

import tomllib

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import SchemaError
from halfmask.description.tables import describe
from halfmask.microdata import Policy

N = 60
# What Unicode calls a surrogate is no text that a file could hold.
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


def people():
    return pl.DataFrame(
        {
            "ssn": [f"{i:09d}" for i in range(N)],
            "age": [20 + i % 9 for i in range(N)],
            "disease": [f"d{i % 4}" for i in range(N)],
            "smoker": ["yes"] * (N - 3) + ["no"] * 3,
            "religion": ["one"] * N,
            "colour": [("red", "green")[i // 7 % 2] for i in range(N)],
        }
    )


@pytest.mark.slow
def test_it_is_a_whole_policy_that_says_what_was_proposed():
    description = describe(people())

    policy = tomllib.loads(description.policy_toml())

    assert policy["halfmask"] == 1
    assert set(policy) == {
        "halfmask", "columns", "guarantees", "method", "recoding", "suppression", "output",
    }  # fmt: skip
    assert policy["columns"] == {
        it.name: {"role": it.role, "kind": it.kind} for it in description.proposals
    }
    assert list(policy["columns"]) == people().columns
    assert policy["guarantees"] == [
        {"model": "k-anonymity", "k": 10},
        {"model": "distinct-l-diversity", "l": 3, "column": "disease"},
        # Three rows can't give each group a smoker's opposite, and one value can't be diverse.
    ]
    assert 'No l-diversity is proposed for "smoker"' in _unwrapped(description.policy_toml())


def _unwrapped(text):
    return " ".join(line.removeprefix("# ") for line in text.splitlines())


@pytest.mark.parametrize(
    ("counts", "l"),
    [
        # Of groups of ten, each can have two rows that aren't of the l - 1 most frequent values.
        ([80, 20], 2),
        ([81, 19], None),
        ([40, 40, 20], 3),
        ([60, 21, 19], 2),
        ([90, 4, 3, 3], None),
        # Missing is a value of its own, as the guarantee counts it.
        ([50, None], 2),
    ],
)
def test_l_is_what_the_values_can_carry(counts, l):
    cells = [
        None if count is None else f"d{number}"
        for number, count in enumerate(counts)
        for _ in range(50 if count is None else count)
    ]
    frame = pl.DataFrame({"age": [20 + i % 50 for i in range(100)], "disease": cells})

    asked = tomllib.loads(describe(frame).policy_toml())["guarantees"]

    assert [each["l"] for each in asked if "l" in each] == ([] if l is None else [l])


def test_the_method_may_be_changed_by_its_name_alone():
    """Nothing that goes with one method only stands in the proposal."""
    text = describe(people()).policy_toml()

    for name in ("mdav", "mondrian"):
        policy = Policy.from_toml(text.replace('name = "mondrian"', f'name = "{name}"'))
        assert policy.method.name == name


def test_each_column_has_its_reasons_above_it():
    description = describe(people())
    text = description.policy_toml()

    for it in description.proposals:
        head = text[: text.index(f"[columns.{it.name}]")].rsplit("\n\n", 1)[-1]
        said = " ".join(line.removeprefix("# ") for line in head.splitlines())
        assert all(reason in said for reason in it.reasons)


def test_comments_that_offer_a_choice_are_valid_when_they_are_taken():
    text = describe(people().with_columns(zip=pl.lit("12345"))).policy_toml()
    offered = (
        "# [input]",
        "# missing =",
        "# hierarchy =",
        "# [[guar",
        "# model =",
        "# t =",
        "# column =",
    )

    taken = "\n".join(
        line[2:] if line.startswith((*offered, "# distance =")) else line
        for line in text.splitlines()
    )

    policy = tomllib.loads(taken)
    assert policy["columns"]["age"]["hierarchy"] == {"intervals": [5, 10, 20]}
    assert policy["columns"]["zip"]["hierarchy"] == {"zip3": "census-2000"}
    assert policy["guarantees"][-1]["model"] == "t-closeness"
    assert "?" in policy["input"]["missing"]


@pytest.mark.slow
@given(st.lists(names, min_size=1, max_size=4, unique=True))
def test_any_name_of_a_column_is_quoted_right(columns):
    frame = pl.DataFrame({name: [1, 2, 3] for name in columns})
    try:
        text = describe(frame).policy_toml()
    except SchemaError:
        return  # names that no table may have are refused at the door

    assert list(tomllib.loads(text)["columns"]) == columns


@pytest.mark.parametrize("name", ["a.b", 'a "b"', "a\nb", "a\\", "]", "#", "ä", "a\tb", "'''"])
def test_awkward_names(name):
    frame = pl.DataFrame({name: ["x", "y"] * 30, "disease": ["p", "q"] * 30})

    assert list(tomllib.loads(describe(frame).policy_toml())["columns"]) == [name, "disease"]


def test_a_sensitive_column_with_an_awkward_name_is_named_in_its_guarantee():
    name = 'disease "x".\n[[guarantees]]'
    policy = tomllib.loads(describe(pl.DataFrame({name: ["p", "q"] * 30})).policy_toml())

    assert policy["guarantees"][1]["column"] == name
    assert len(policy["guarantees"]) == 2


@pytest.mark.slow
def test_how_dates_are_written_stands_under_input():
    days = [f"{i % 28 + 1}.3.19{i % 70 + 10}" for i in range(N)]
    moments = [f"2020-01-{i % 28 + 1:02d}T10:00:00Z" for i in range(N)]
    table = people().with_columns(birth_date=pl.Series(days), seen=pl.Series(moments))

    policy = tomllib.loads(describe(table).policy_toml())

    assert policy["input"] == {
        "date_formats": {"birth_date": "%d.%m.%Y"},
        "dtypes": {"seen": "datetime_utc"},
    }
    assert policy["columns"]["birth_date"]["kind"] == "datetime"


def test_a_comment_holds_a_name_with_control_characters():
    """TOML has none of them in comments, so a reason that quotes a name would break the file."""
    rows = pl.DataFrame({"age\x07": [i % 50 for i in range(200)]})
    rows = rows.with_columns(copy=pl.col("age\x07") + 1)

    text = describe(rows, roles={"age\x07": "quasi_identifier"}).policy_toml()

    assert "It follows from `age\\x07`" in text
    assert set(tomllib.loads(text)["columns"]) == {"age\x07", "copy"}
