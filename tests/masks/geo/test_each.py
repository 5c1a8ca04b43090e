"""Each geomask in a policy, from the command to the verified files."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from halfmask.cli import main

ADDRESSES = """
[maps.addresses]
file = "addresses.csv"
points = ["x", "y"]
"""
AREAS = """
[maps.districts]
file = "districts.geojson"
name = "id"
people = "people"
"""
MASKS = {
    "donut": "radius = [100, 500]",
    "donut-k": 'name = "donut"\nk = [5, 20]\naddresses = "addresses"',
    "donut-within": 'name = "donut"\nradius = [50, 200]\nwithin = "districts"',
    "donut-density": 'name = "donut"\npeople = [20, 100]\ndensity = "districts"',
    "gaussian": "sigma = 150",
    "planar-laplace": "epsilon = 1.386\nmetres = 200",
    "affine": "centre = [5, 52]\nrotation = 90\nscale = [0.9, 1.1]\nshift = 500",
    "grid": "width = 500",
    "location-swap": "radius = [50, 900]",
    "location-swap-map": 'name = "location-swap"\nradius = [50, 900]\naddresses = "addresses"',
    "voronoi": "",
    "street-nodes": 'nodes = "addresses"\nnearest = 3',
}

#: Masks that write places of the table.
REAL_PLACES = {"location-swap", "location-swap-map", "street-nodes"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a table, addresses and districts."""
    rng, found = np.random.default_rng(1), tmp_path_factory.mktemp("town")
    x, y = 5 + rng.uniform(0, 0.03, 1500).round(6), 52 + rng.uniform(0, 0.02, 1500).round(6)
    pl.DataFrame({"x": x, "y": y}).write_csv(found / "addresses.csv")
    rows = pl.DataFrame({"id": [f"p{i}" for i in range(300)], "lon": x[:300], "lat": y[:300]})
    rows = rows.with_columns(age=pl.Series(rng.integers(18, 90, 300)))
    empty = pl.col("id") == "p7"
    rows.with_columns(pl.when(~empty).then(pl.col("lon", "lat"))).write_csv(found / "rows.csv")
    squares = [
        {
            "type": "Feature",
            "properties": {"id": name, "people": 5000},
            "geometry": {
                "type": "Polygon",
                "coordinates": [[[a, 51], [b, 51], [b, 53], [a, 53], [a, 51]]],
            },
        }
        for name, a, b in [("west", 4.9, 5.015), ("east", 5.015, 5.1)]
    ]
    made = {"type": "FeatureCollection", "features": squares}
    (found / "districts.geojson").write_text(json.dumps(made))
    return found


def policy_of(name, *, columns=""):
    """Return a policy of one mask."""
    parameters = MASKS[name]
    named = "" if parameters.startswith("name") else f'name = "{name}"'
    maps = {"addresses": ADDRESSES, "districts": AREAS}
    return f"""halfmask = 1
[columns]
id = {{ role = "identifier" }}
lon = {{ role = "insensitive", kind = "numeric" }}
lat = {{ role = "insensitive", kind = "numeric" }}
age = {{ role = "quasi_identifier", kind = "numeric" }}
{columns}
{"".join(text for key, text in maps.items() if f'"{key}"' in parameters)}
[[masks]]
{named}
columns = ["lon", "lat"]
{parameters}
"""


def protect(folder, policy, *, table="rows.csv"):
    """Write a policy, make a release and verify it; return its rows and manifest."""
    number = len(list(folder.glob("*.toml")))
    path, out = folder / f"{number}.toml", folder / f"release-{number}"
    path.write_text(policy)
    assert main(["protect", str(folder / table), str(path), str(out)]) == 0
    assert main(["verify", str(out)]) == 0
    return pl.read_parquet(out / "data"), json.loads((out / "manifest.json").read_text())


@pytest.mark.parametrize("name", MASKS)
def test_each_geomask_is_released_and_verified(folder, name):
    rows = pl.read_csv(folder / "rows.csv")
    found, manifest = protect(folder, policy_of(name))

    assert found.height == 300
    assert found["lon"].null_count() == found["lat"].null_count() == 1
    assert not set(rows.select("lon", "lat").drop_nulls().rows()) & set(
        found.select("lon", "lat").rows() if name not in REAL_PLACES else []
    )
    (mask,) = manifest["details"]["masks"]
    assert mask["columns"] == ["lon", "lat"]
    assert "maps" not in mask["parameters"]
    assert "exact-other-columns" in str(manifest["weaknesses"])


def test_points_move_in_a_release_with_classes(folder):
    guarantee = '[[guarantees]]\nmodel = "k-anonymity"\nk = 10\n'
    found, manifest = protect(folder, policy_of("donut-k") + guarantee)

    assert found["lon"].null_count() == 1
    assert found.group_by("age").len()["len"].min() >= 10
    assert "donut" in json.dumps(manifest["details"]["columns"])


TRIPS = """halfmask = 1
[columns]
rider = { role = "identifier" }
ride = { role = "identifier" }
lon = { role = "identifier" }
lat = { role = "identifier" }
at = { role = "quasi_identifier", kind = "numeric", hierarchy = { intervals = [10, 20] } }
[columns.place]
role = "quasi_identifier"
kind = "geo"
points = ["lon", "lat"]
hierarchy = { cells = [1, 10] }
[[masks]]
name = "trimmed-ends"
columns = ["lon", "lat"]
trip = "ride"
time = "at"
person = "rider"
metres = 300
[[guarantees]]
model = "k-anonymity"
k = 5
"""


def test_trips_lose_their_ends_and_time_and_place_are_generalized_together(folder):
    steps = np.arange(40)
    rides = [
        {"rider": rider, "ride": f"{rider}-{day}", "at": int(i), "lon": 5 + 0.002 * i, "lat": 52.0}
        for rider in "abcdefgh"
        for day in range(3)
        for i in steps
    ]
    pl.DataFrame(rides).write_csv(folder / "rides.csv")
    found, manifest = protect(folder, TRIPS, table="rides.csv")

    assert set(found.columns) == {"at", "place"}
    assert 0 < found.height < len(rides) - 2 * 24
    assert found.group_by("at", "place").len()["len"].min() >= 5
    assert manifest["details"]["row_masks"][0]["name"] == "trimmed-ends"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("[maps.addresses]", "[maps.adresses]"), "names the map 'addresses' which isn't in"),
        (("k = [5, 20]", "k = [20, 5]"), "'k'"),
        (("k = [5, 20]", "k = [5, 2000]"), "1500 people and k is 2000"),
        (('"addresses.csv"', '"absent.csv"'), "map is not there"),
        (("[[masks]]", "[[masks]]\nmaps = 1"), "maps"),
        (('["lon", "lat"]', '["lon", "age"]'), "age"),
    ],
)
def test_bad_policies_are_refused(folder, capsys, change, said):
    (folder / "bad.toml").write_text(policy_of("donut-k").replace(*change))

    words = ["protect", folder / "rows.csv", folder / "bad.toml", folder / "none"]
    assert main(list(map(str, words))) == 1
    assert said in capsys.readouterr().err.replace(",", "")
