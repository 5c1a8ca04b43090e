"""Tables in notebooks: small, escaped, and without cells of the data."""

from __future__ import annotations

import re

import polars as pl
import pytest

import halfmask as hm
from halfmask._html_table import html_table

EVIL = "<script>alert(1)</script>"
CANARY = "CANARY"


@pytest.fixture
def policy():
    return hm.Policy.from_toml(f"""
        halfmask = 1
        [columns.age]
        role = "quasi_identifier"
        kind = "numeric"
        [columns."{EVIL}"]
        role = "sensitive"
        kind = "categorical"
        hierarchy = {{ order = ["{CANARY}-a", "{CANARY}-b"] }}
        [[guarantees]]
        model = "k-anonymity"
        k = 2
        [[guarantees]]
        model = "t-closeness"
        t = 0.5
        column = "{EVIL}"
        distance = "ordered"
        """)


@pytest.fixture
def release(policy):
    values = [f"{CANARY}-a", f"{CANARY}-b"]
    people = pl.DataFrame({"age": [717_171, 717_172, 747_474, 747_475], EVIL: values * 2})
    return hm.protect(people, policy)


def cells(html):
    return re.findall(r"<td>(.*?)</td>", html)


def test_a_table_escapes_every_text():
    shown = html_table(EVIL, [EVIL], [[EVIL]], [EVIL])

    assert "<script>" not in shown
    assert shown.count("&lt;script&gt;") == 4


def test_a_policy_shows_columns_and_guarantees(policy):
    shown = policy._repr_html_()

    assert cells(shown)[:4] == ["age", "quasi_identifier", "numeric", ""]
    assert "k-anonymity (k = 2)" in shown
    assert "t = 0.5" in shown


def test_a_schema_shows_its_columns(policy):
    shown = policy.schema()._repr_html_()

    assert cells(shown)[:3] == ["age", "quasi_identifier", "numeric"]
    assert shown.count("<tr>") == 3


def test_a_release_shows_what_was_reached(release, tmp_path):
    shown = release._repr_html_()

    assert cells(shown)[:5] == ["k-anonymity", "k = 2", "", "2", "2"]
    assert "4 read, 0 suppressed" in shown
    assert "100.0% before, 50.0% after" in shown
    assert "Not written yet" in shown
    assert "verified on disk" in release.write(tmp_path / "out")._repr_html_()


def test_no_table_shows_markup_or_a_value(policy, release):
    for each in (policy, policy.schema(), release):
        shown = each._repr_html_()

        assert "<script>" not in shown
        assert CANARY not in shown
        assert "7171" not in shown
        assert len(shown) < 4_000
