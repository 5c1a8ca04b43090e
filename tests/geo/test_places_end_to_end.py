"""A table with places is released: counted on disk by plain Python, drawn, and masked."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

import halfmask as hm
from halfmask.geo import PointMap, Points
from halfmask.geo.nearest import Neighbours
from halfmask.microdata import Policy

shapely = pytest.importorskip("shapely")

KEY = bytes(range(32))
K = 10
RULES = {
    "cells": "{ cells = [1, 5, 25] }",
    "hexagons": "{ hexagons = [8, 6, 4] }",
    "areas": '{ areas = "districts", people = "dwellings", least = [60] }',
    "quadtree": '{ quadtree = 1, people = "dwellings", least = [20, 200] }',
}
GENERALIZED = """
halfmask = 1
[columns.home]
role = "quasi_identifier"
kind = "geo"
points = ["longitude", "latitude"]
hierarchy = {rule}
[columns.age]
role = "quasi_identifier"
kind = "numeric"
[columns.sex]
role = "quasi_identifier"
kind = "categorical"
[columns.illness]
role = "sensitive"
kind = "categorical"
[columns.ref]
role = "insensitive"
kind = "numeric"
[[guarantees]]
model = "k-anonymity"
k = 10
[method]
name = "{method}"
{more}
[output]
format = "csv"
[maps.dwellings]
file = "dwellings.csv"
points = ["x", "y"]
people = "households"
[maps.districts]
file = "districts.geojson"
name = "code"
parents = ["town"]
"""


def people(n: int = 1200, seed: int = 48) -> pl.DataFrame:
    """Return people of two towns."""
    rng = np.random.default_rng(seed)
    middle = np.array([[4.90, 52.37], [5.12, 52.09]])[rng.integers(0, 2, n)]
    places = middle + rng.normal(size=(n, 2)) * [0.03, 0.02]
    return pl.DataFrame(
        {
            "ref": np.arange(n),
            "longitude": places[:, 0].round(6),
            "latitude": places[:, 1].round(6),
            "age": rng.integers(18, 90, n),
            "sex": rng.choice(["f", "m"], n),
            "illness": rng.choice(["flu", "cold", "ache"], n),
        }
    )


def write_maps(folder, table):
    """Write dwellings at the homes and near them, and districts of a tenth of a degree."""
    rng = np.random.default_rng(1)
    homes = table.select(x="longitude", y="latitude")
    near = homes.to_numpy() + rng.normal(size=(table.height, 2)) * 0.002
    both = np.concatenate((homes.to_numpy(), near)).round(6)
    pl.DataFrame(
        {"x": both[:, 0], "y": both[:, 1], "households": rng.integers(1, 4, len(both))}
    ).write_csv(folder / "dwellings.csv")
    features = []
    for i in range(8):
        for j in range(8):
            west, south = 4.7 + 0.1 * i, 51.9 + 0.1 * j
            ring = [[west, south], [west + 0.1, south], [west + 0.1, south + 0.1]]
            ring += [[west, south + 0.1], [west, south]]
            features.append(
                {
                    "type": "Feature",
                    "properties": {"code": f"{i}{j}", "town": "north" if j > 3 else "south"},
                    "geometry": {"type": "Polygon", "coordinates": [ring]},
                }
            )
    (folder / "districts.geojson").write_text(
        json.dumps({"type": "FeatureCollection", "features": features}), encoding="utf-8"
    )


def rows_of(out):
    """Read the released rows with the standard library alone."""
    files = [it for it in out.rglob("*.csv") if "places" not in it.parts]
    texts = [file.read_text("utf-8").splitlines() for file in files]
    return [row for lines in texts for row in csv.DictReader(lines)]


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("rule", "method", "more"),
    [
        *((rule, "mondrian", "") for rule in RULES),
        ("cells", "guided", 'split_targets = ["illness"]'),
        ("cells", "full-domain", "[suppression]\nmax_fraction = 0.2"),
        ("areas", "full-domain", "[suppression]\nmax_fraction = 0.2"),
    ],
)
def test_k_holds_over_the_place_with_the_other_columns(tmp_path, rule, method, more):
    table = people()
    write_maps(tmp_path, table)
    policy = GENERALIZED.format(rule=RULES[rule], method=method, more=more)
    (tmp_path / "policy.toml").write_text(policy, encoding="utf-8")
    out = tmp_path / "out"

    hm.protect(table, Policy.load(tmp_path / "policy.toml"), key=KEY).write(out)

    assert hm.verify(out).holds
    rows = rows_of(out)
    assert rows
    assert not {"longitude", "latitude"} & set(rows[0])
    sizes = Counter((row["home"], row["age"], row["sex"]) for row in rows)
    assert min(sizes.values()) >= K
    assert len({row["home"] for row in rows}) > 1
    drawn = json.loads((out / "places" / "home.geojson").read_text(encoding="utf-8"))
    shapes = {it["properties"]["label"]: it["geometry"] for it in drawn["features"]}
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count('class="after area"') == sum(it is not None for it in shapes.values())
    assert not any(str(it) in page for it in table["longitude"])
    known = {row["ref"]: row for row in table.cast({"ref": pl.String}).iter_rows(named=True)}
    for row in rows:
        if shapes.get(row["home"]) is None:
            continue  # the root is everywhere
        home = shapely.Point(known[row["ref"]]["longitude"], known[row["ref"]]["latitude"])
        # A hexagon isn't quite the sum of its own smaller ones.
        room = 0.1 if rule == "hexagons" else 1e-9
        assert shapely.geometry.shape(shapes[row["home"]]).distance(home) <= room


def test_counts_of_addresses_are_those_of_all_pairs():
    rng = np.random.default_rng(3)
    places = rng.normal(size=(2000, 2)) * 800
    households = rng.integers(1, 4, 2000).astype(float)
    homes = Points(x=places[:, 0], y=places[:, 1], unit="metres")
    masked = homes.moved(rng.normal(size=2000) * 200, rng.normal(size=2000) * 200)

    found = Neighbours(PointMap(points=homes, people=households)).actual_k(homes, masked)

    for number in range(2000):
        at = masked.x[number], masked.y[number]
        reach = np.hypot(at[0] - places[number, 0], at[1] - places[number, 1]) * (1 + 1e-12)
        near = np.hypot(places[:, 0] - at[0], places[:, 1] - at[1]) <= reach
        assert found[number] == households[near].sum()


TRIPS = """
halfmask = 1
person = "person"
[columns]
person = { role = "identifier" }
trip = { role = "identifier" }
longitude = { role = "identifier" }
latitude = { role = "identifier" }
ref = { role = "insensitive", kind = "numeric" }
[columns.at]
role = "quasi_identifier"
kind = "datetime"
[columns.spot]
role = "quasi_identifier"
kind = "geo"
points = ["longitude", "latitude"]
hierarchy = { cells = [1, 5, 25] }
[[guarantees]]
model = "k-anonymity"
k = 5
[[masks]]
name = "trimmed-ends"
columns = ["longitude", "latitude"]
person = "person"
trip = "trip"
time = "at"
metres = 300
"""


def trips(n_people: int = 60) -> pl.DataFrame:
    """Return three trips of each person, from home to work."""
    rng = np.random.default_rng(5)
    rows = []
    for person in range(n_people):
        home, work = ([4.9, 52.37] + rng.normal(size=2) * it for it in (0.03, 0.01))
        for day in range(3):
            start = datetime(2024, 5, 1 + day, 7, int(rng.integers(0, 60)), tzinfo=UTC)
            for step in range(8):
                at = home + (work - home) * step / 7
                rows.append((person, 10 * person + day, start + timedelta(minutes=step), *at))
    names = ["person", "trip", "at", "longitude", "latitude"]
    return pl.DataFrame(rows, schema=names, orient="row").with_row_index("ref")


@pytest.mark.slow
def test_trips_lose_their_ends_and_keep_k_people_over_time_and_place(tmp_path):
    table = trips()
    release = hm.protect(table, Policy.from_toml(TRIPS), key=KEY)
    release.write(tmp_path / "out", persons=tmp_path / "persons.parquet")

    assert hm.verify(tmp_path / "out", persons=tmp_path / "persons.parquet").holds
    kept = release.data.join(table.drop("at"), on="ref")
    assert 100 < kept.height < table.height
    people = defaultdict(set)
    for row in kept.iter_rows(named=True):
        people[row["at"], row["spot"]].add(row["person"])
    assert min(map(len, people.values())) >= 5
    for trip in table.partition_by("person"):
        ends = trip.group_by("trip").agg(pl.all().first(), pl.all().last().name.suffix("_last"))
        own = kept.filter(pl.col("person") == trip["person"][0])
        for name in ("", "_last"):
            for x, y in ends.select(f"longitude{name}", f"latitude{name}").iter_rows():
                east = (own["longitude"] - x) * 111_320 * np.cos(np.radians(y))
                assert ((east**2 + ((own["latitude"] - y) * 111_250) ** 2) ** 0.5 > 295).all()
