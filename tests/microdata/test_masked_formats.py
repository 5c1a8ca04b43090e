"""Every technique that can be counted in one policy: claimed, and verified in each format."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import halfmask as hm
from halfmask.claims import read_manifest, write_manifest
from halfmask.microdata import Policy

TEXT = """
halfmask = 1
[output]
format = "FORMAT"
[columns]
town = { role = "quasi_identifier", kind = "categorical" }
sex = { role = "quasi_identifier", kind = "categorical" }
age = { role = "quasi_identifier", kind = "numeric", mask = { name = "round", base = 10 } }
pay = { role = "sensitive", kind = "numeric", mask = { name = "tails", low = 20, high = 900 } }
debt = { role = "sensitive", kind = "numeric", mask = { name = "random-rounding", base = 0.5 } }
born = { role = "insensitive", kind = "datetime", mask = MONTH }
seen = { role = "insensitive", kind = "datetime", mask = { name = "coarsened-dates", to = "hour" } }
name = { role = "insensitive", kind = "text", mask = { name = "redact", text = "REDACTED" } }
code = { role = "insensitive", kind = "text", mask = { name = "token" } }
a = { role = "insensitive", kind = "numeric" }
b = { role = "insensitive", kind = "numeric" }
[[masks]]
name = "stratified-sampling"
by = ["town"]
fraction = 0.5
[[masks]]
name = "microaggregation"
columns = ["a", "b"]
k = 3
[[masks]]
name = "local-suppression"
columns = ["sex", "town", "age"]
k = 3
cost = { sex = 2.0 }
"""
MONTH = '{ name = "coarsened-dates", to = "month" }'
MODELS = [
    *("released-columns", "multiples", "bounded", "multiples", "truncated-dates"),
    *("truncated-dates", "one-value", "token-format", "groups-of-k"),
    "k-anonymity-with-suppression",
]


@pytest.fixture(scope="module")
def people():
    rng, n = np.random.default_rng(3), 200
    born = [dt.date(1950, 1, 1) + dt.timedelta(days=int(it)) for it in rng.integers(0, 20_000, n)]
    start = dt.datetime(2024, 1, 1)  # noqa: DTZ001 # local
    seen = [start + dt.timedelta(minutes=int(it)) for it in rng.integers(0, 99_999, n)]
    debt = [None if i % 17 == 0 else round(it, 2) for i, it in enumerate(rng.random(n) * 900)]
    return pl.DataFrame(
        {
            "town": rng.choice(["bree", "dale", "esgaroth", "rohan"], n, p=[0.5, 0.3, 0.18, 0.02]),
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 90, n),
            "pay": rng.integers(0, 1000, n),
            "debt": debt,
            "born": born,
            "seen": seen,
            "name": [f"CANARY-{i}" for i in range(n)],
            "code": [f"CANARY-{i}" for i in range(n)],
            "a": rng.normal(size=n),
            "b": rng.normal(size=n),
        }
    )


def policy(fmt="parquet", text="[removed]"):
    given = {"MONTH": MONTH, "FORMAT": fmt, "REDACTED": text}
    found = TEXT
    for word, value in given.items():
        found = found.replace(word, value)
    return Policy.from_toml(found)


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("fmt", "text"), [("parquet", "[removed]"), ("csv", "x"), ("arrow", ""), ("jsonl", "x")]
)
def test_all_techniques_are_claimed_and_counted(people, tmp_path, fmt, text):
    hm.mask(people, policy(fmt, text), key=bytes(32)).write(tmp_path / "out")

    found = hm.verify(tmp_path / "out")
    assert found.holds
    assert [each.claim.model for each in found.claims] == MODELS
    manifest = (tmp_path / "out" / "manifest.json").read_text(encoding="utf-8")
    assert "CANARY" not in manifest


@pytest.mark.slow
def test_each_claim_is_due(people, tmp_path):
    """Without any one of them, but that of microaggregation, the release doesn't hold."""
    hm.mask(people, policy(), key=bytes(32)).write(tmp_path / "out")
    whole = read_manifest(tmp_path / "out")

    for i, model in enumerate(MODELS):
        left = (*whole.claims[:i], *whole.claims[i + 1 :])
        write_manifest(replace(whole, claims=left), tmp_path / "out")
        assert hm.verify(tmp_path / "out").holds is (model == "groups-of-k"), model
