"""``[[masks]]`` in a policy with guarantees: what is judged is what is written."""

from __future__ import annotations

import datetime as dt
import json

import polars as pl
import pytest
from tests.microdata.table_masks import Drawn, Share, Smallest

import halfmask as hm
from halfmask._errors import PolicyError
from halfmask.masks import TABLE_MASKS
from halfmask.microdata import Policy

KEY = bytes(range(32))
TEXT = """
halfmask = 1
[columns]
name = { role = "identifier" }
age = { role = "quasi_identifier", kind = "numeric", mask = { name = "round", base = 10 } }
town = { role = "quasi_identifier", kind = "categorical" }
pay = { role = "sensitive", kind = "numeric" }
MORE
[[guarantees]]
model = "k-anonymity"
k = 2
"""


@pytest.fixture(autouse=True)
def masks(monkeypatch):
    for each in (Smallest, Drawn, Share):
        monkeypatch.setitem(TABLE_MASKS, each.name, each)


@pytest.fixture
def people():
    return pl.DataFrame(
        {
            "name": [f"n{i}" for i in range(40)],
            "age": [20 + i for i in range(40)],
            "town": ["A", "B"] * 20,
            "pay": list(range(40)),
        }
    )


def policy(more="", text=TEXT):
    return Policy.from_toml(text.replace("MORE", more))


def test_classes_are_made_of_masked_quasi_identifiers(people, tmp_path):
    """A number is rounded, and then the classes are found; both stand in the manifest."""
    release = hm.protect(people, policy(), key=KEY).write(tmp_path / "out")

    ages = {part for it in release.data["age"] for part in str(it).strip("[]").split(", ")}
    assert {float(it) for it in ages} == {20, 30, 40, 50, 60}
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    age = next(it for it in manifest["details"]["columns"] if it["name"] == "age")
    assert (age["mask"], age["mask_parameters"], age["recoding"]) == (
        "round",
        {"base": 10.0},
        "ranges",
    )
    assert hm.verify(tmp_path / "out").holds


def test_masks_of_several_columns_and_of_rows_come_before_the_classes(people, tmp_path):
    """In the policy's order, and the report names them."""
    said = policy(
        '[[masks]]\nname = "share"\nshare = 0.5\n[[masks]]\nname = "smallest"\ncolumns = ["pay"]'
    )

    release = hm.protect(people, said, key=KEY).write(tmp_path / "out")

    assert 0 < release.rows["in"] < 40
    assert release.data["pay"].n_unique() == 1
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["details"]["row_masks"] == [{"name": "share", "share": 0.5}]
    assert "masked: smallest" in (tmp_path / "out" / "report.html").read_text()
    assert hm.verify(tmp_path / "out").holds


def test_a_policy_with_table_masks_is_written_and_read_back():
    """In order, and its hash is of what it says."""
    said = policy('[[masks]]\nname = "smallest"\ncolumns = ["pay"]')

    assert said.table_masks == (Smallest(columns=("pay",)),)
    assert Policy.from_toml(said.to_toml()) == said
    assert said.sha256 != policy().sha256
    assert [it.name for it in said.masks_of("age")] == ["round"]
    assert [it.name for it in said.masks_of("pay")] == ["smallest"]
    assert '"const": "smallest"' in json.dumps(Policy.json_schema())


FAULTS = {
    '[[guarantees]]\nmodel = "distinct-l-diversity"\nl = 2\ncolumn = "pay"\n'
    '[[masks]]\nname = "local-suppression"\ncolumns = ["pay", "town"]\nk = 2': "different values",
    '[[masks]]\nname = "microaggregation"\ncolumns = ["pay"]\nk = 3\n'
    '[[masks]]\nname = "sampling"\nfraction = 0.5': "'sampling' drops rows after 'microagg",
    '[[masks]]\nname = "smallest"\ncolumns = ["wage"]': "number 1: .*'wage'",
    '[[masks]]\nname = "smallest"\ncolumns = ["name"]': "'name', an identifier",
    '[[masks]]\nname = "smallest"\ncolumns = ["age"]': "'round' and 'smallest' both change .*'age'",
    '[[masks]]\nname = "smallest"\ncolumns = "pay"': "columns must be a list. Got text",
    '[[masks]]\nname = "drawn"\ncolumns = ["town"]': "'town', whose values are randomised",
    '[[masks]]\nname = "round"\nbase = 10': "write it as the 'mask' of the column",
    '[[masks]]\nname = "smalest"\ncolumns = ["pay"]': r"no name (.|\n)*mean 'smallest'",
    '[[masks]]\ncolumns = ["pay"]': "lacks the key 'name'",
    '[[guarantees]]\nmodel = "distinct-l-diversity"\nl = 2\ncolumn = "pay"\n'
    '[[masks]]\nname = "drawn"\ncolumns = ["pay"]': "'pay', whose values are randomised",
}


@pytest.mark.parametrize(("more", "what"), FAULTS.items())
def test_masks_that_can_not_be_are_refused(more, what):
    """By the place and the column."""
    with pytest.raises(PolicyError, match=what):
        policy(more)


def test_masks_alone_make_no_classes(people):
    """Sections about classes are refused, and protect makes a masked release."""
    text = TEXT.partition("[[guarantees]]")[0].replace("MORE", "")
    said = Policy.from_toml(text)

    assert said.is_masks_alone
    assert hm.protect(people, said).kind.name == "masked"
    for section in ('[method]\nname = "mondrian"', "[suppression]\nmax_fraction = 0.1"):
        with pytest.raises(PolicyError, match="about classes"):
            Policy.from_toml(text + section)


ORDERS = {
    '[[masks]]\nname = "sampling"\nfraction = 0.5\n[[masks]]\nname = "free-text"\n'
    'columns = ["note"]\nnames_from = ["name"]': "'sampling' drops rows before 'free-text'",
    '[columns.who]\nrole = "insensitive"\nkind = "text"\nmask = { name = "redact", text = "x" }\n'
    '[[masks]]\nname = "shifted-dates"\ncolumns = ["day"]\nperson = "who"\nmax_days = 9': "'re",
    '[columns.who]\nrole = "insensitive"\nkind = "text"\nmask = { name = "token" }\n'
    '[[masks]]\nname = "shifted-dates"\ncolumns = ["day"]\nperson = "who"\nmax_days = 9\n'
    'domain = "people"\nscope = "vault"': "same scope",
}


@pytest.mark.parametrize(("more", "what"), ORDERS.items())
def test_orders_of_masks_that_would_leak_are_refused(more, what):
    """Names of dropped rows in kept texts; one shift for all people, or another a release."""
    text = """
    halfmask = 1
    [columns]
    name = { role = "identifier" }
    note = { role = "insensitive", kind = "text" }
    day = { role = "insensitive", kind = "datetime" }
    """

    with pytest.raises(PolicyError, match=what):
        Policy.from_toml(text + more)


def test_a_token_of_the_person_keeps_the_shifts_apart():
    """Rows of one person stay rows of one person."""
    text = """
    halfmask = 1
    [columns]
    who = { role = "insensitive", kind = "text", mask = { name = "token" } }
    day = { role = "insensitive", kind = "datetime" }
    [[masks]]
    name = "shifted-dates"
    columns = ["day"]
    person = "who"
    max_days = 900
    """
    day = dt.date(2020, 1, 1)
    table = pl.DataFrame({"who": ["a", "a", "b", "c"], "day": [day] * 4})

    found = hm.mask(table, Policy.from_toml(text), key=KEY).data

    assert found.group_by("who").agg(pl.col("day").n_unique())["day"].to_list() == [1, 1, 1]
    assert found["day"].n_unique() == 3


def test_categories_in_parameters_do_not_stand_in_the_manifest(tmp_path):
    """A category that is coded away is in no file of the release."""
    text = """
    halfmask = 1
    [columns.size]
    role = "insensitive"
    kind = "ordinal"
    [columns.job]
    role = "insensitive"
    kind = "categorical"
    [columns.size.mask]
    name = "ordinal-tails"
    order = ["low", "mid", "CANARY"]
    high = "mid"
    [columns.job.mask]
    name = "pram"
    matrix = { a = { a = 0.5, b = 0.5 }, b = { a = 0.5, b = 0.5 }, CANARY = { a = 1.0 } }
    """
    table = pl.DataFrame({"size": ["low", "mid", "CANARY"], "job": ["a", "b", "CANARY"]})

    hm.mask(table, Policy.from_toml(text), key=KEY).write(tmp_path / "out")

    assert hm.verify(tmp_path / "out").holds
    for name in ("manifest.json", "report.html"):
        assert "CANARY" not in (tmp_path / "out" / name).read_text()
