"""Places in policies: from two columns of coordinates to areas that are written and outlined."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import halfmask as hm
from halfmask._errors import ColumnNotFoundError, GuaranteeNotMetError, PolicyError
from halfmask.claims.manifest import manifest_path
from halfmask.geo import Quadtree
from halfmask.microdata import Policy, read_population

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
    return int(min(rows.group_by(names).len()["len"]))


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
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert "areas-of-places of column &#39;home&#39; holds" in page
    assert "Before: by the finest areas of home." in page
    assert "All 2 claims were verified on disk." in page
    assert "<bdi>places/home.geojson</bdi>" in page
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
        (
            lambda it: it["features"].append(
                {**it["features"][-1], "properties": {"label": "elsewhere", "rows": 3}}
            ),
            "lacks 0 areas that the data has and has 1 others",
        ),
        (lambda it: it.pop("features"), "isn't GeoJSON"),
    ],
)
def test_outlines_that_were_changed_are_found(
    change: Callable[[dict[str, Any]], object], said: str, tmp_path: Path
) -> None:
    folder = written(tmp_path)
    assert not forged(folder, lambda _: None)
    assert said in forged(folder, change)


def test_verify_says_that_it_found_outlines_and_not_that_it_compared_them(tmp_path: Path) -> None:
    (claim,) = [it for it in hm.verify(written(tmp_path)).claims if it.claim.model.startswith("ar")]
    n = claim.claim.evidence["classes"]
    assert f"{n} of {n} areas of the data have an outline in its file" in claim.sentence


def test_an_area_with_fewer_people_than_the_rule_asks_makes_no_release(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Quadtree, "people_of", lambda *_: 49.0)
    file = tmp_path / "policy.toml"
    file.write_text(CELLS.replace("cells = [1, 10, 100]", RULES["quadtree"]) + towns(tmp_path))
    homes = np.random.default_rng(4).uniform((0, 0), (4, 3), (400, 2))
    rows = people(400).with_columns(lon=homes[:, 0], lat=homes[:, 1])
    with pytest.raises(GuaranteeNotMetError, match="have fewer than 50 people by the map"):
        hm.protect(rows, Policy.load(file), key=bytes(32))


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
    ("[[gua", '[maps.m]\nfile = "/m.csv"\n[[gua', "[maps.m]: has a file that isn't given relative"),
    ("[[gua", '[maps.m]\nfile = "m.csv"\nparents = ["s"]\n[[gua', "needs the name of its areas"),
    ("[[gua", '[maps.m]\nfile = "m.csv"\nreach = -1\n[[gua', "[maps.m] reach must be at least 0"),
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


def towns(folder: Path) -> str:
    """Write a map of 12 square districts in two towns, and dwellings; return its sections."""
    squares = [
        {
            "type": "Feature",
            "properties": {"id": f"{x}{y}", "town": "west" if x < 2 else "east", "n": 100 + x},
            "geometry": {
                "type": "Polygon",
                "coordinates": [[[x, y], [x + 1, y], [x + 1, y + 1], [x, y + 1], [x, y]]],
            },
        }
        for x in range(4)
        for y in range(3)
    ]
    (folder / "districts.geojson").write_text(
        json.dumps({"type": "FeatureCollection", "features": squares}), encoding="utf-8"
    )
    rng = np.random.default_rng(3)
    homes = rng.uniform((0, 0), (4, 3), (1300, 2))
    pl.DataFrame({"x": homes[:, 0], "y": homes[:, 1]}).write_csv(folder / "dwellings.csv")
    return (
        '[maps.districts]\nfile = "districts.geojson"\nname = "id"\nparents = ["town"]\n'
        'people = "n"\n[maps.dwellings]\nfile = "dwellings.csv"\npoints = ["x", "y"]\n'
    )


RULES = {
    "areas": 'areas = "districts"',
    "least": 'areas = "districts", least = [250]',
    "counted": 'areas = "districts", people = "dwellings", least = [250]',
    "quadtree": 'quadtree = 1, people = "dwellings", least = [50, 400]',
    "hexagons": "hexagons = [3, 1]",
}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_of_places_from_a_file_to_a_verified_release(rule: str, tmp_path: Path) -> None:
    if rule == "hexagons":
        pytest.importorskip("h3")
    pytest.importorskip("shapely")
    file = tmp_path / "policy.toml"
    file.write_text(CELLS.replace("cells = [1, 10, 100]", RULES[rule]) + towns(tmp_path))
    homes = np.random.default_rng(4).uniform((0, 0), (4, 3), (400, 2))
    rows = people(400).with_columns(lon=homes[:, 0], lat=homes[:, 1])
    hm.protect(rows, Policy.load(file), key=bytes(32)).write(tmp_path / "out")
    found = pl.read_parquet(tmp_path / "out/data/*.parquet")
    assert smallest(found, "sex", "home") >= 10
    claim = hm.verify(tmp_path / "out").claims[-1].claim
    areas = json.loads((tmp_path / "out/places/home.geojson").read_text(encoding="utf-8"))
    kept = [each["properties"] for each in areas["features"] if each["geometry"]]
    assert len(kept) > 2
    least = {"least": 250, "counted": 250, "quadtree": 50}.get(rule)
    assert claim.parameters == ({} if least is None else {"least": least})
    if least is not None:
        assert min(each["people"] for each in kept) >= least
        assert claim.evidence["achieved"] == min(each["people"] for each in kept)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda it: it["parameters"].update(least=10_000), "fewer than 10000 people"),
        (lambda it: it["parameters"].update(most=1), "isn't as claims of its model are"),
        (lambda it: it["evidence"].update(achieved=1e9), "a better level than was counted"),
        (lambda it: it["evidence"].update(classes=1), "another number of classes"),
        (lambda it: it["about"].update(support="places/other.geojson"), "lacks its file"),
        (lambda it: it.update(basis="estimated"), "isn't as claims of its model are"),
    ],
)
def test_a_claim_of_areas_that_was_changed_is_found(
    change: Callable[[dict[str, Any]], object], said: str, tmp_path: Path
) -> None:
    pytest.importorskip("shapely")
    text = CELLS.replace("cells = [1, 10, 100]", RULES["least"]) + towns(tmp_path)
    homes = np.random.default_rng(4).uniform((0, 0), (4, 3), (400, 2))
    rows = people(400).with_columns(lon=homes[:, 0], lat=homes[:, 1])
    policy = Policy.from_toml(text, folder=tmp_path)
    hm.protect(rows, policy, key=bytes(32)).write(tmp_path / "out")
    file = manifest_path(tmp_path / "out")
    found = json.loads(file.read_text(encoding="utf-8"))
    change(found["claims"][-1])
    file.write_text(json.dumps(found), encoding="utf-8")
    assert said in " ".join(hm.verify(tmp_path / "out").sentences())


def test_names_that_look_like_formulas_are_found_in_csv(tmp_path: Path) -> None:
    pl.DataFrame({"id": ["=a", "-b"], "x": [1.0, 2], "y": [1.0, 2]}).write_csv(tmp_path / "m.csv")
    text = CELLS.replace("cells = [1, 10, 100]", 'areas = "towns"').replace(
        'points = ["lon", "lat"]\n', ""
    )
    text += '[maps.towns]\nfile = "m.csv"\nname = "id"\npoints = ["x", "y"]\n'
    policy = Policy.from_toml(text, folder=tmp_path).changed(output={"format": "csv"})
    rows = people(40).drop("lon", "lat").with_columns(home=pl.Series(["=a", "-b"] * 20))
    hm.protect(rows, policy.changed(guarantees=[{"model": "k-anonymity", "k": 5}])).write(
        tmp_path / "out"
    )
    assert hm.verify(tmp_path / "out").holds


@pytest.mark.parametrize(
    ("people_there", "said"),
    [
        (lambda _: 49, "areas have fewer than 50 people"),
        (lambda _: None, "or nobody says how many"),
        (lambda fewest: fewest - 1, "its evidence states a better level"),
    ],
)
def test_fewer_people_than_a_release_claims_are_found(
    people_there: Callable[[int], int | None], said: str, tmp_path: Path
) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(CELLS.replace("cells = [1, 10, 100]", RULES["quadtree"]) + towns(tmp_path))
    homes = np.random.default_rng(4).uniform((0, 0), (4, 3), (400, 2))
    rows = people(400).with_columns(lon=homes[:, 0], lat=homes[:, 1])
    hm.protect(rows, Policy.load(file), key=bytes(32)).write(tmp_path / "out")

    def change(found: dict[str, Any]) -> None:
        areas = (it["properties"] for it in found["features"] if it["geometry"])
        least = min(areas, key=lambda it: it["people"])
        assert least["people"] > 50
        least["people"] = people_there(least["people"])

    assert not forged(tmp_path / "out", lambda _: None)
    assert said in forged(tmp_path / "out", change)


@pytest.mark.parametrize("crs", ["EPSG:28992", None])
def test_outlines_are_in_degrees_if_the_system_of_the_points_is_known(
    crs: str | None, tmp_path: Path
) -> None:
    """52.156 N, 5.387 E is 155,000 463,000 of the Dutch grid, its origin in Amersfoort."""
    if crs is not None:
        pytest.importorskip("pyproj")
    text = CELLS.replace("[1, 10, 100]", "[1, 100]")
    text = text.replace(
        "hierarchy", f'{f"crs = {crs!r}" if crs else ""}\nunit = "metres"\nhierarchy'
    )
    rows = people(40).with_columns(lon=155_100.0, lat=463_100.0)
    hm.protect(rows, Policy.from_toml(text), key=bytes(32)).write(tmp_path / "out")
    assert hm.verify(tmp_path / "out").holds
    found = json.loads((tmp_path / "out/places/home.geojson").read_text(encoding="utf-8"))
    corner = found["features"][0]["geometry"]["coordinates"][0][0]
    assert found.get("unit") == (None if crs else "metres")
    assert corner == pytest.approx((5.387, 52.156) if crs else (155_000, 463_000), abs=1e-3)


def test_a_place_that_is_written_as_a_set_of_areas_has_no_outlines(tmp_path: Path) -> None:
    written_as = '[columns.home]\nrecoding = { name = "ranges" }'
    policy = Policy.from_toml(CELLS.replace("[columns.home]", written_as))
    hm.protect(people(), policy, key=bytes(32)).write(tmp_path / "out")
    assert not (tmp_path / "out/places").exists()
    (claim,) = hm.verify(tmp_path / "out").claims
    assert claim.holds


def test_codes_of_areas_are_merged_before_they_are_released(tmp_path: Path) -> None:
    pytest.importorskip("shapely")
    text = CELLS.replace('points = ["lon", "lat"]\n', "").replace(
        "cells = [1, 10, 100]", 'areas = "districts", least = [250]'
    )
    policy = Policy.from_toml(text + towns(tmp_path), folder=tmp_path)
    rng = np.random.default_rng(5)
    codes = [f"{x}{y}" for x, y in rng.integers(0, (4, 3), (400, 2))]
    rows = people(400).drop("lon", "lat").with_columns(home=pl.Series(codes))
    release = hm.protect(rows, policy, key=bytes(32)).write(tmp_path / "out")
    assert not set(release.data["home"]) & set(codes)
    assert hm.verify(tmp_path / "out").claims[-1].claim.parameters == {"least": 250}


def test_zip_codes_leave_with_three_digits_at_most() -> None:
    text = CELLS.replace('points = ["lon", "lat"]\n', "").replace(
        "cells = [1, 10, 100]", 'zip3 = "census-2000"'
    )
    codes = np.random.default_rng(6).choice([501, 3601, 89301, 10013], 600)
    rows = people().drop("lon", "lat").with_columns(home=pl.Series(codes))
    release = hm.protect(rows, Policy.from_toml(text), key=bytes(32))
    assert set(release.data["home"]) == {"005", "000", "100"}


def test_maps_are_read_once_until_they_change(tmp_path: Path) -> None:
    pytest.importorskip("shapely")
    policy = Policy.from_toml(CELLS + towns(tmp_path), folder=tmp_path)
    first = policy.opened_maps()
    again = policy.changed(method={"name": "mdav"}).opened_maps()
    assert all(first[name] is again[name] for name in ("districts", "dwellings"))
    pl.DataFrame({"x": [1.0], "y": [2.0]}).write_csv(tmp_path / "dwellings.csv")
    changed = policy.opened_maps()
    assert changed["districts"] is first["districts"]
    assert len(changed["dwellings"].points) == 1  # type: ignore[union-attr] # it is one of points
    with pytest.raises(PolicyError, match="no folder"):
        Policy.from_toml(CELLS + towns(tmp_path)).opened_maps()
    (tmp_path / "below").mkdir()
    assert len(policy.moved(tmp_path / "below").opened_maps()["districts"].names) == 12  # type: ignore[union-attr] # it is one of areas


def test_people_of_a_population_are_located_too() -> None:
    text = CELLS.replace('model = "k-anonymity"\nk = 10', 'model = "k-map"\nk = 25')
    policy, everybody = Policy.from_toml(text), pl.concat([people(), people(2000, seed=2)])
    release = hm.protect(people(), policy, population=everybody, key=bytes(32))
    assert release.claims[0].evidence.achieved >= 25
    known, trees = read_population(everybody, policy)
    assert known.columns == ["home", "sex"]
    assert list(trees) == ["home"]


def test_a_missing_place_stays_missing(tmp_path: Path) -> None:
    none = pl.when(pl.col("sex") == "f").then(None)
    rows = people().with_columns(none.otherwise(name).alias(name) for name in ("lon", "lat"))
    release = hm.protect(rows, Policy.from_toml(CELLS), key=bytes(32)).write(tmp_path / "out")
    assert release.data["home"].null_count() == (rows["sex"] == "f").sum()


def test_synthetic_places_are_areas_of_people() -> None:
    text = CELLS.partition("[[guarantees]]")[0].replace("[1, 10, 100]", "[5]")
    policy = Policy.from_toml(text + '[synthesis]\nkind = "hybrid"\nk = 5\n')
    release = hm.protect(people(), policy, key=bytes(32))
    assert set(release.data["home"]) <= set(policy.read_options().derived["home"].derive(people()))
    assert release.data["home"].n_unique() > 3


def test_differential_privacy_takes_no_place() -> None:
    text = CELLS.replace('"k-anonymity"\nk = 10', '"differential-privacy"\nepsilon = 1\n')
    text += "delta = 1e-6\nsampling_fraction = 0.4\n"
    with pytest.raises(PolicyError, match=r"\[columns.home\] hierarchy by 'cells'"):
        Policy.from_toml(text.replace('role = "sensitive"', 'role = "quasi_identifier"'))
