"""A recoding of its own for a quasi-identifier."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import halfmask as hm
from halfmask._errors import PolicyError

KEY = bytes(range(32))
POLICY = """
halfmask = 1
[columns]
age = { role = "quasi_identifier", kind = "numeric" }
town = { role = "quasi_identifier", kind = "categorical", hierarchy = GROUPS }
height = { role = "quasi_identifier", kind = "numeric" RECODING }
pay = { role = "sensitive", kind = "numeric" }
[recoding]
name = "level"
[[guarantees]]
model = "k-anonymity"
k = 5
""".replace(
    "GROUPS", '{ groups = { east = ["bree", "dale"], west = ["hobbiton", "tuckborough"] } }'
)
RECORD = ', recoding = { name = "representative" }'
TOWNS = {"bree", "dale", "hobbiton", "tuckborough", "east", "west", "*"}
CENTROID = ', recoding = { name = "centroid", numeric = "median" }'


@pytest.fixture
def people():
    """Three hundred made-up people."""
    rng = np.random.default_rng(4)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 80, 300),
            "town": rng.choice(["bree", "dale", "hobbiton", "tuckborough"], 300),
            "height": rng.integers(100, 220, 300),
            "pay": rng.integers(1, 10**6, 300),
        }
    )


def policy(recoding):
    return hm.Policy.from_toml(POLICY.replace("RECODING", recoding))


@pytest.mark.parametrize(
    ("recoding", "weakness"), [(CENTROID, None), (RECORD, "representative-is-a-record")]
)
def test_each_column_is_written_by_its_own_recoding(people, tmp_path, recoding, weakness):
    """Classes are those of the release, claims hold, and the manifest says which is whose."""
    release = hm.protect(people, policy(recoding), key=KEY).write(tmp_path / "out")
    written = release.data

    assert hm.verify(tmp_path / "out").holds
    assert set(written["town"]) <= TOWNS
    assert written["height"].dtype.is_numeric()
    assert written.group_by("age", "town", "height").len()["len"].min() >= 5
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    recodings = {it["name"]: it["recoding"] for it in manifest["details"]["columns"]}
    named = "centroid" if weakness is None else "representative"
    # Age has no hierarchy: ranges are written for it, and stated.
    assert recodings == {"age": "ranges", "town": "level", "height": named, "pay": None}
    names = [line.split(":")[0] for line in manifest["weaknesses"]]
    assert "downcoding" in names
    assert weakness is None or weakness in names
    assert (
        "written as the middle of its class" in (tmp_path / "out" / "report.html").read_text()
        or weakness
    )


def test_without_one_everything_is_as_before(people):
    """The one for all holds."""
    said = policy("")

    plain = hm.protect(people, said, key=KEY).data
    same = hm.protect(people, policy(', recoding = { name = "level" }'), key=KEY).data

    assert said.column_recodings == {}
    assert plain.equals(same)
    assert hm.Policy.from_toml(policy(CENTROID).to_toml()) == policy(CENTROID)


@pytest.mark.parametrize(
    ("recoding", "what"),
    [
        (', recoding = { name = "levels" }', r"\[columns.height\] recoding"),
        (', recoding = { name = "centroid", numeric = "mode" }', r"\[columns.height\] recoding"),
        (
            ', recoding = { name = "level", numeric = "mean" }',
            r"recoding has no key 'numeric'",
        ),
    ],
)
def test_a_recoding_that_can_not_be_is_refused_by_its_place(recoding, what):
    with pytest.raises(PolicyError, match=what):
        policy(recoding)


def test_other_columns_have_no_recoding():
    """They take a mask."""
    pay = 'pay = { role = "sensitive", kind = "numeric"'
    text = POLICY.replace("RECODING", "").replace(pay, pay + CENTROID)
    with pytest.raises(PolicyError, match=r"\[columns.pay\].*has a recoding"):
        hm.Policy.from_toml(text)
