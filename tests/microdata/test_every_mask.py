"""Masks of every kind in one policy, written in each format and verified on disk."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest

import halfmask as hm

KEY = bytes(range(32))
SCHOOLS = ["none", "primary", "secondary", "doctor"]
POLICY = """
halfmask = 1
[columns]
town = { role = "quasi_identifier", kind = "categorical" }
pay = { role = "sensitive", kind = "numeric", mask = { name = "round", digits = 2 } }
debt = { role = "sensitive", kind = "numeric", mask = { name = "random-rounding", base = 0.5 } }
born = { role = "insensitive", kind = "datetime", mask = MONTH }
seen = { role = "insensitive", kind = "datetime", mask = { name = "coarsened-dates", to = "hour" } }
name = { role = "insensitive", kind = "text", mask = { name = "redact", text = "[removed]" } }
note = { role = "insensitive", kind = "text", mask = { name = "redact", sign = "x" } }
job = { role = "insensitive", kind = "categorical", mask = PRAM }
sex = { role = "insensitive", kind = "categorical" }
age = { role = "insensitive", kind = "numeric" }
height = { role = "insensitive", kind = "numeric" }
weight = { role = "insensitive", kind = "numeric" }
shoe = { role = "insensitive", kind = "numeric" }
region = { role = "insensitive", kind = "geo" }
district = { role = "insensitive", kind = "geo" }
[columns.school]
role = "insensitive"
kind = "categorical"
mask = { name = "ordinal-tails", high = "secondary", order = ORDER }
[[masks]]
name = "rank-swapping"
columns = ["age"]
max_rank_distance = 0.1
by = ["town"]
[[masks]]
name = "data-shuffling"
columns = ["height"]
given = ["age"]
[[masks]]
name = "correlated-noise"
columns = ["weight", "shoe"]
variance_ratio = 0.2
decimals = 1
[[masks]]
name = "record-swapping"
columns = ["region", "district"]
risk = ["age"]
k = 2
swap_rate = 0.2
[[masks]]
name = "stratified-pram"
columns = ["sex"]
by = ["town"]
matrix = { f = { f = 0.8, m = 0.2 }, m = { m = 1 } }
invariant = true
[[guarantees]]
model = "k-anonymity"
k = 50
"""
POLICY = (
    POLICY.replace("MONTH", '{ name = "coarsened-dates", to = "month" }')
    .replace("PRAM", '{ name = "pram", keep = { cook = 0.5, judge = 0.9 } }')
    .replace("ORDER", str(SCHOOLS))
)


@pytest.fixture
def people():
    """Three hundred made-up people."""
    rng = np.random.default_rng(3)
    n = 300
    return pl.DataFrame(
        {
            "town": rng.choice(["bree", "dale"], n),
            "pay": rng.integers(1000, 99999, n),
            "debt": rng.random(n) * 900,
            "born": [
                dt.date(1950, 1, 1) + dt.timedelta(days=int(it))
                for it in rng.integers(0, 20_000, n)
            ],
            "seen": [
                dt.datetime(2024, 1, 1) + dt.timedelta(minutes=int(it))  # noqa: DTZ001 # local
                for it in rng.integers(0, 100_000, n)
            ],
            "name": [f"canary-{i}" for i in range(n)],
            "note": ["canary"] * n,
            "job": rng.choice(["cook", "judge"], n),
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 80, n),
            "height": rng.integers(150, 199, n),
            "weight": np.round(rng.normal(75, 9, n), 1),
            "shoe": rng.integers(34, 49, n),
            "region": rng.choice(["north", "south"], n),
            "district": rng.choice(["d1", "d2", "d3"], n),
            "school": rng.choice(SCHOOLS, n),
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("fmt", ["parquet", "csv"])
def test_a_release_of_masks_alone_is_verified(people, tmp_path, fmt):
    """Without guarantees, by the claims of the masks; what was swapped is all there."""
    alone = POLICY[: POLICY.index("[[guarantees]]")].replace("quasi_identifier", "insensitive")
    policy = hm.Policy.from_toml(alone + f'[output]\nformat = "{fmt}"\n')

    hm.mask(people, policy, key=KEY).write(tmp_path / "out")

    assert hm.verify(tmp_path / "out").holds
    read = pl.read_parquet if fmt == "parquet" else pl.read_csv
    found = read(next((tmp_path / "out" / "data").glob(f"*.{fmt}")))
    for name in ("age", "height", "region"):
        assert sorted(found[name]) == sorted(people[name])


@pytest.mark.parametrize("fmt", ["parquet", "csv"])
def test_a_release_of_every_mask_is_verified(people, tmp_path, fmt):
    """What each mask guarantees holds in the file."""
    policy = hm.Policy.from_toml(POLICY + f'[output]\nformat = "{fmt}"\n')
    assert hm.Policy.from_toml(policy.to_toml()) == policy

    release = hm.protect(people, policy, key=KEY).write(tmp_path / "out")

    assert hm.verify(tmp_path / "out").holds
    found = release.data
    assert all(float(it) == float(f"{it:.1e}") for it in found["pay"])
    assert all(it * 2 == round(it * 2) for it in found["debt"])
    assert {it.day for it in found["born"]} == {1}
    assert {(it.minute, it.second) for it in found["seen"]} == {(0, 0)}
    assert set(found["name"]) == {"[removed]"}
    assert set(found["note"]) == {"xxxxxx"}
    assert set(found["school"]) == {"none", "primary", "secondary"}
    for name in ("age", "height", "region"):
        assert sorted(found[name]) == sorted(people[name])
    assert all(it == round(it, 1) for it in (*found["weight"], *found["shoe"]))
    assert set(found["sex"]) == {"f", "m"}
    for name in ("manifest.json", "report.html"):
        assert "canary" not in (tmp_path / "out" / name).read_text()
