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
    "planar-laplace": "epsilon = 0.01",
    "affine": "centre = [5, 52]\nrotation = 90\nscale = [0.9, 1.1]\nshift = 500",
    "grid": "width = 500",
    "location-swap": "radius = [50, 900]",
    "location-swap-map": 'name = "location-swap"\nradius = [50, 900]\naddresses = "addresses"',
    "voronoi": "",
    "street-nodes": 'nodes = "addresses"\nnearest = 3',
}


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


def protect(folder, name, *, more="", table="rows.csv"):
    """Write a policy of one mask, make a release and verify it; return its rows and manifest."""
    parameters = MASKS[name]
    named = "" if parameters.startswith("name") else f'name = "{name}"'
    maps = [
        text
        for key, text in [("addresses", ADDRESSES), ("districts", AREAS)]
        if f'"{key}"' in parameters
    ]
    policy, out = folder / f"{name}.toml", folder / f"{name}-out"
    policy.write_text(
        f"""halfmask = 1
[columns]
id = {{ role = "identifier" }}
lon = {{ role = "quasi_identifier", kind = "numeric" }}
lat = {{ role = "quasi_identifier", kind = "numeric" }}
age = {{ role = "quasi_identifier", kind = "numeric" }}
[output]
format = "parquet"
{"".join(maps)}
[[masks]]
{named}
columns = ["lon", "lat"]
{parameters}
{more}
"""
    )
    assert main(["protect", str(folder / table), str(policy), str(out)]) == 0
    assert main(["verify", str(out)]) == 0
    return pl.read_parquet(out / "data"), json.loads((out / "manifest.json").read_text())


@pytest.mark.parametrize("name", MASKS)
def test_each_geomask_is_released_and_verified(folder, name, capsys):
    found, manifest = protect(folder, name)

    assert found.height == 300
    assert found["lon"].null_count() == found["lat"].null_count() == 1
