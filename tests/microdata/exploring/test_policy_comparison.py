"""Policies side by side: classes, masks and synthetic rows, on the same measures."""

from __future__ import annotations

import json

import polars as pl
import pytest

from halfmask._errors import ParameterError, PolicyError
from halfmask.microdata import Policy, protect
from halfmask.microdata.exploring import compare_policies
from halfmask.microdata.exploring._policy_comparison import RAW

KEY = bytes(32)
COLUMNS = """
halfmask = 1
[columns]
name = { role = "identifier" }
age = { role = "quasi_identifier", kind = "numeric" }
town = { role = "quasi_identifier", kind = "categorical" }
ill = { role = "sensitive", kind = "categorical" }
"""
CLASSES = COLUMNS + '[[guarantees]]\nmodel = "k-anonymity"\nk = 5\n'
MASKS = """
halfmask = 1
[columns]
name = { role = "identifier" }
age = { role = "insensitive", kind = "numeric", mask = { name = "round", base = 10 } }
town = { role = "identifier" }
ill = { role = "insensitive", kind = "categorical" }
"""
POLICIES = {
    "classes": Policy.from_toml(CLASSES),
    "bounds": Policy.from_toml(CLASSES + '[recoding]\nname = "ranges"\nform = "bounds"\n'),
    "masks": Policy.from_toml(MASKS),
    "none": Policy.from_toml(CLASSES.replace("k = 5", "k = 999")),
}
PRIVATE = """
halfmask = 1
[columns]
age = { role = "sensitive", kind = "numeric" }
[synthesis]
kind = "full"
epsilon = 1.0
delta = 1e-6
[synthesis.domain.age]
edges = [0, 40, 120]
whole = true
"""
PEOPLE = pl.DataFrame(
    {
        "name": [f"CANARY-{row}" for row in range(240)],
        "age": [18 + row * row % 61 for row in range(240)],
        "town": [f"CANARY-{row * 7 % 5}" for row in range(240)],
        "ill": [f"CANARY-{row * row // 5 % 4}" for row in range(240)],
    }
)


@pytest.fixture(scope="module")
def found():
    return compare_policies(PEOPLE, POLICIES, key=KEY)


def test_each_policy_has_the_numbers_of_its_release(found):
    release = protect(PEOPLE, POLICIES["classes"], key=KEY)
    said = found.measures["classes"]

    assert list(found.measures) == [RAW, *POLICIES]
    assert said["rows released"] == release.rows["out"]
    assert said["information loss"] == release.utility.loss.loss
    assert said["highest risk of a class"] == release.risk.after.prosecutor.highest.value
    assert said["guarantees"] == "k-anonymity (k = 5)"
    assert found.measures["masks"]["masks"] == "round"
    assert (found.measures["masks"]["columns"], said["columns"]) == (2, 3)


def test_bounds_in_two_columns_are_the_range_that_they_are(found):
    first, second = found.measures["classes"], found.measures["bounds"]

    assert second["columns"] == 3
    assert second["distance of age"] == first["distance of age"]


def test_all_are_measured_on_the_columns_that_all_release(found):
    for name in ("classes", "masks"):
        assert {"distance of age", "distance of ill"} <= set(found.measures[name])
        assert "distance of town" not in found.measures[name]
    assert found.measures["classes"]["distance of ill"] == 0


def test_a_policy_that_cannot_be_kept_has_the_reason_alone(found):
    assert list(found.measures["none"]) == ["refused"]
    assert "reaches 240" in found.measures["none"]["refused"]


def test_attacks_have_a_control_and_succeed_more_often_on_the_raw_table(found):
    raw, masked = found.measures[RAW], found.measures["masks"]

    assert raw["linkability"] >= raw["linkability (control)"]
    assert raw["ill guessed"] > masked["ill guessed"]
    assert {each for each in raw if each.endswith("(control)")} <= set(masked)


def test_no_cell_is_shown_or_written(found, tmp_path):
    found.write(tmp_path / "out")
    files = {it.name: it.read_text() for it in (tmp_path / "out").iterdir()}

    assert set(files) == {"comparison.csv", "comparison.json"}
    shown = [*files.values(), repr(found), found._repr_html_()]
    assert not any("CANARY" in each for each in shown)
    said = json.loads(files["comparison.json"])["policies"]
    assert said["classes"]["rows released"] == 240


@pytest.mark.slow
def test_synthetic_rows_stand_beside_classes():
    synthetic = Policy.from_toml(COLUMNS + '[synthesis]\nkind = "full"\n')
    found = compare_policies(PEOPLE, {**POLICIES, "drawn": synthetic}, key=KEY)
    said = found.measures["drawn"]

    assert (said["kind"], said["rows left out"]) == ("synthetic", None)
    assert said["distance of a column"] > 0
    assert "linkability" in said
    assert said.keys() >= found.measures["masks"].keys()


@pytest.mark.parametrize(
    ("kind", "policy"),
    [("masked", MASKS), ("synthetic", COLUMNS + '[synthesis]\nkind = "full"\n')],
    ids=["masked", "synthetic"],
)
def test_releases_are_attacked_once_alike_and_not_by_their_kind(monkeypatch, kind, policy):
    def measured_too(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(f"halfmask.microdata.{kind}._assess", measured_too)
    policies = {"classes": POLICIES["classes"], "other": Policy.from_toml(policy)}
    found = compare_policies(PEOPLE, policies, key=KEY)

    assert found.measures["other"]["kind"] == kind
    assert "linkability" in found.measures["other"]


@pytest.mark.parametrize(
    ("others", "error"),
    [
        ({}, ParameterError),
        ({RAW: POLICIES["masks"]}, ParameterError),
        ({"other": POLICIES["masks"].changed(input={"missing": ["?"]})}, PolicyError),
        ({"private": Policy.from_toml(PRIVATE)}, PolicyError),
    ],
    ids=["one", "name", "input", "epsilon"],
)
def test_what_cannot_be_compared_is_refused(others, error):
    with pytest.raises(error):
        compare_policies(PEOPLE, {"masks": POLICIES["masks"], **others})
