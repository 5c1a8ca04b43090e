"""Places in policies: from two columns of coordinates to areas that are written and outlined."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import halfmask as hm
from halfmask._errors import ColumnNotFoundError, PolicyError
from halfmask.claims.manifest import manifest_path
from halfmask.microdata import Policy

CELLS = """
halfmask = 1
[columns.home]
role = "quasi_identifier"
kind = "geo"
points = ["lon", "lat"]
hierarchy = { cells = [1, 10, 100] }
[columns.sex]
role = "quasi_identifier"
kind = "categorical"
[columns.ill]
role = "sensitive"
kind = "categorical"
[[guarantees]]
model = "k-anonymity"
k = 10
"""


def people(n: int = 600, seed: int = 1) -> pl.DataFrame:
    """Return people of three towns, with their homes."""
    rng = np.random.default_rng(seed)
    towns = np.array([[4.9, 52.37], [5.12, 52.09], [4.48, 51.92]])
    home = towns[rng.integers(0, 3, n)] + rng.normal(0, 0.02, (n, 2))
    return pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "lon": home[:, 0],
            "ill": rng.choice(["flu", "cold", "none"], n),
            "lat": home[:, 1],
        }
    )


def smallest(rows: pl.DataFrame, *names: str) -> int:
    return min(rows.group_by(names).len()["len"])


@pytest.mark.parametrize("method", ["mondrian", "mdav", "full-domain", "guided"])
def test_a_place_counts_with_the_other_quasi_identifiers(method: str, tmp_path: Path) -> None:
    policy = Policy.from_toml(CELLS)
    if method == "guided":
        policy = policy.changed(method={"name": method, "split_targets": ["ill"]})
    elif method != "mondrian":
        policy = policy.changed(method={"name": method}, suppression={"max_fraction": 0.1})
    release = hm.protect(people(), policy, key=bytes(32))
    assert release.data.columns == ["sex", "home", "ill"]
    assert smallest(release.data, "sex", "home") >= 10
    assert not {"lon", "lat"} & set(release.data.columns)
    release.write(tmp_path / "out")
    checked = hm.verify(tmp_path / "out")
    assert checked.holds
    assert [each.claim.model for each in checked.claims] == ["k-anonymity", "areas-of-places"]
    labels = set(release.data["home"].drop_nulls())
    areas = json.loads((tmp_path / "out/places/home.geojson").read_text(encoding="utf-8"))
    assert {each["properties"]["label"] for each in areas["features"]} == labels
    assert len(labels) > 2 or method == "mdav"  # it groups categories without their tree


def written(tmp_path: Path) -> Path:
    hm.protect(people(), Policy.from_toml(CELLS), key=bytes(32)).write(tmp_path / "out")
    return tmp_path / "out"


def forged(folder: Path, change: Callable[[dict[str, Any]], object]) -> str:
    """Change the outlines and the hash that the manifest states; return what verify says."""
    file, manifest = folder / "places/home.geojson", manifest_path(folder)
    old = hm.verifier.tables._files.sha256_of(file)  # what is forged
    found = json.loads(file.read_text(encoding="utf-8"))
    change(found)
    file.write_text(json.dumps(found), encoding="utf-8")
    new = hm.verifier.tables._files.sha256_of(file)  # the same
    manifest.write_text(manifest.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    return " ".join(hm.verify(folder).sentences())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda it: it["features"].pop(0), "lacks 1 areas"),
        (lambda it: it["features"].append({**it["features"][-1]}), "names an area twice"),
        (lambda it: it["features"][-1].update(geometry=None), "isn't GeoJSON"),
        (lambda it: it["features"][-1]["properties"].update(label="x"), "and has 1 others"),
        (lambda it: it["features"][-1]["geometry"].update(coordinates=[]), "isn't GeoJSON"),
        (lambda it: it["features"][-1]["properties"].update(rows=9), "number of rows for 1 areas"),
        (lambda it: it.pop("features"), "isn't GeoJSON"),
    ],
)
def test_outlines_that_were_changed_are_found(
    change: Callable[[dict[str, Any]], object], said: str, tmp_path: Path
) -> None:
    folder = written(tmp_path)
    assert not forged(folder, lambda _: None)
    assert said in forged(folder, change)


ERRORS: list[tuple[str, str, str]] = [
    ('points = ["lon", "lat"]', 'points = ["lon", "lon"]', "one column twice"),
    ('points = ["lon", "lat"]', "", "by 'cells' and no points"),
    ('points = ["lon", "lat"]', 'points = ["lon"]', "points"),
    ('points = ["lon", "lat"]', 'points = ["sex", "lat"]', "'sex', which has a section"),
    ("hierarchy = { cells = [1, 10, 100] }", "", "no hierarchy of areas"),
    ('kind = "geo"', 'kind = "text"', "kind 'geo'. Got 'text'"),
    ("[1, 10, 100]", "[1, 10, 15]", "multiple"),
    ("[1, 10, 100] }", '[1, 10, 100], people = "p" }', "'people', which goes with 'areas'"),
    ("cells = [1, 10, 100]", 'areas = "towns"', "the map 'towns', which isn't in [maps]"),
    ("cells = [1, 10, 100]", 'zip3 = "census-2000"', "about ZIP codes"),
    ("cells = [1, 10, 100]", "hexagons = [7]", "Got 'metres'"),
    ("hierarchy =", 'crs = "EPSG:28992"\nhierarchy =', "crs"),
    ("hierarchy =", 'normalize = ["trim"]\nhierarchy =', "normalize"),
    ('"quasi_identifier"\nkind = "geo"', '"insensitive"\nkind = "geo"', "hierarchy"),
    ('kind = "categorical"', 'kind = "categorical"\nunit = "metres"', "goes with 'points'"),
]


@pytest.mark.parametrize(("old", "new", "said"), ERRORS)
def test_keys_that_dont_go_together(old: str, new: str, said: str) -> None:
    text = CELLS.replace(old, new, 1)
    if "metres" in said:
        text = text.replace("points =", 'unit = "metres"\npoints =', 1)
    with pytest.raises(PolicyError) as found:
        Policy.from_toml(text)
    assert said in str(found.value)


def test_its_columns_are_missing_in_the_table() -> None:
    with pytest.raises(ColumnNotFoundError, match="'lat'"):
        hm.protect(people().drop("lat"), Policy.from_toml(CELLS))


def test_text_of_a_policy_keeps_places_and_maps(tmp_path: Path) -> None:
    text = CELLS + '[maps.towns]\nfile = "maps/towns.csv"\npoints = ["x", "y"]\nname = "town"\n'
    policy = Policy.from_toml(text, folder=tmp_path)
    assert Policy.from_toml(policy.to_toml()) == policy
    moved = policy.moved(tmp_path / "below")
    assert moved.maps["towns"].file == "../maps/towns.csv"
    assert moved.columns["home"].points == ("lon", "lat")
