"""Points that masks of a policy moved: measured by protect, with the owner's maps."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import halfmask as hm
from halfmask._errors import GuaranteeNotMetError
from halfmask.microdata import Policy

N = 400
COLUMNS = """
halfmask = 1
[columns]
id = { role = "identifier" }
lon = { role = "quasi_identifier", kind = "numeric" }
lat = { role = "quasi_identifier", kind = "numeric" }
"""
DWELLINGS = """
[maps.dwellings]
file = "dwellings.csv"
points = ["x", "y"]
"""
STREETS = DWELLINGS.replace("maps.dwellings", "maps.streets")


def town(seed=0, n=N):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {"id": np.arange(n), "lon": 4.9 + 0.05 * rng.random(n), "lat": 52 + 0.03 * rng.random(n)}
    )


def released(tmp_path, mask, *, maps="", table=None, **others):
    """Return a release of a town whose points a mask moves."""
    rows = town() if table is None else table
    homes = pl.concat([town(), town(1, 5 * N)]).select(x="lon", y="lat")
    homes = homes * 1e5 if "metres" in maps else homes
    homes.write_csv(tmp_path / "dwellings.csv")
    policy = tmp_path / "policy.toml"
    policy.write_text(f'{COLUMNS}{maps}[[masks]]\ncolumns = ["lon", "lat"]\n{mask}')
    return hm.protect(rows, policy=Policy.load(policy), **others)


def verdicts(found):
    return {(it.outcome.attack, it.outcome.measure.split(" by ")[-1]): it.verdict for it in found}


def test_a_donut_to_k_has_its_k_and_its_verdicts_in_page_and_manifest(tmp_path):
    mask = 'name = "donut"\nk = [8, 30]\naddresses = "dwellings"\nperson = "id"'
    release = released(tmp_path, mask, maps=DWELLINGS)
    [places] = release.facts.places
    [risk] = places.risks
    assert (risk.k, risk.share_under_k) == (8, 0)
    assert risk.least >= 8
    assert set(verdicts(places.findings).values()) <= {"resisted", "not shown"}
    assert places.warning is None
    release.write(tmp_path / "out")
    details = json.loads((tmp_path / "out" / "manifest.json").read_text())
    risk, utility = (_found(details, name)["places"][0] for name in ("risk", "utility"))
    assert risk["risks"][0]["least"] == places.risks[0].least
    assert {it["attack"] for it in risk["attacks"]} == {"places/snapping", "places/affine-break"}
    assert utility["utility"]["median"] == places.utility.median
    page = (tmp_path / "out" / "report.html").read_text()
    assert "People near masked places" in page
    assert "Attacks on places" in page
    for coordinate in town()["lon"].to_list()[:50]:
        assert str(coordinate)[:8] not in page


def _found(manifest, name):
    """Return what a manifest has under a name, at any depth."""
    if isinstance(manifest, dict):
        if name in manifest:
            return manifest[name]
        manifest = list(manifest.values())
    if isinstance(manifest, list):
        return next((it for it in (_found(each, name) for each in manifest) if it), None)
    return None


def test_an_affine_mask_is_warned_of_and_refused_where_strict(tmp_path):
    mask = 'name = "affine"\ncentre = [4.9, 52]\nrotation = 90\nscale = [0.9, 1.1]\nshift = 500'
    release = released(tmp_path, mask)
    [places] = release.facts.places
    assert verdicts(places.findings)["places/affine-break", "3 known ones"] == "broken"
    assert "places/affine-break" in places.warning
    release.write(tmp_path / "out")
    assert "Places can be found" in (tmp_path / "out" / "report.html").read_text()
    with pytest.raises(GuaranteeNotMetError, match=r"Places can be found|links"):
        released(tmp_path, mask, strict=True)


def test_streets_are_no_addresses(tmp_path):
    mask = 'name = "street-nodes"\nnodes = "streets"\nnearest = 3'
    [places] = released(tmp_path, mask, maps=STREETS).facts.places
    assert places.risks == ()
    [places] = released(tmp_path, mask, maps=STREETS + DWELLINGS).facts.places
    assert [it.k for it in places.risks] == [10]


def test_a_grid_and_a_map_in_metres(tmp_path):
    """A map that has nothing to do with the points isn't used, and nothing is drawn."""
    maps = DWELLINGS + 'unit = "metres"\n'
    [places] = released(tmp_path, 'name = "grid"\nwidth = 500', maps=maps).facts.places
    assert places.risks == ()
    assert 0 < places.utility.greatest < 360


def test_few_rows_and_missing_places_arent_measured(tmp_path):
    mask = 'name = "gaussian"\nsigma = 150'
    few = released(tmp_path, mask, table=town(n=10))
    assert few.facts.places == ()
    gone = town().with_columns(pl.lit(None, pl.Float64).alias(name) for name in ("lon", "lat"))
    half = pl.concat([town()[:200], gone[200:]])
    [places] = released(tmp_path, mask, table=half).facts.places
    assert places.utility.points == 200


def test_one_place_in_many_rows_isnt_measured(tmp_path):
    """How far it was moved is what nobody may be told."""
    one = town().with_columns(pl.lit(4.9).alias("lon"), pl.lit(52.01).alias("lat"))
    assert released(tmp_path, 'name = "gaussian"\nsigma = 150', table=one).facts.places == ()


def test_people_are_counted_by_the_map_of_the_mask_and_not_by_the_first_one(tmp_path):
    clinics = '[maps.clinics]\nfile = "clinics.csv"\npoints = ["x", "y"]\n'
    town(2, 9).select(x="lon", y="lat").write_csv(tmp_path / "clinics.csv")
    mask = 'name = "donut"\nk = [8, 30]\naddresses = "dwellings"'
    [places] = released(tmp_path, mask, maps=clinics + DWELLINGS).facts.places
    assert places.risks[0].least >= 8


def test_people_are_counted_by_a_map_in_another_reference_system(tmp_path):
    pyproj = pytest.importorskip("pyproj")
    change = pyproj.Transformer.from_crs("EPSG:4326", "EPSG:28992", always_xy=True)
    x, y = change.transform(*town().select("lon", "lat"))
    rows = town().with_columns(lon=pl.Series(x), lat=pl.Series(y))
    homes = pl.concat([town(), town(1, 5 * N)]).select("lon", "lat")
    x, y = pyproj.Transformer.from_crs("EPSG:4326", "EPSG:25831", always_xy=True).transform(*homes)
    pl.DataFrame({"x": x, "y": y}).write_csv(tmp_path / "other.csv")
    where = 'file = "other.csv"\npoints = ["x", "y"]\nunit = "metres"\ncrs = "EPSG:25831"\n'
    mask = 'name = "donut"\nk = [8, 30]\naddresses = "other"\nunit = "metres"\ncrs = "EPSG:28992"'
    release = released(tmp_path, mask, maps="[maps.other]\n" + where, table=rows)
    [risk] = release.facts.places[0].risks
    assert 8 <= risk.least < 100


def test_rows_that_are_dropped_near_ends_are_not_measured_as_moved(tmp_path):
    rows = town().with_columns(trip=pl.col("id") // 20, at=pl.col("id"))
    more = '[columns.trip]\nrole = "identifier"\n[columns.at]\nrole = "identifier"\n'
    mask = 'name = "trimmed-ends"\nmetres = 90\ntrip = "trip"\ntime = "at"'
    assert released(tmp_path, mask, maps=more, table=rows).facts.places == ()


def test_only_the_owner_gets_measures_beside_an_accounted_guarantee(tmp_path):
    """A mean and a deviation of all homes give the last one to whom knows the others."""
    release = released(tmp_path, 'name = "planar-laplace"\nepsilon = 1.386\nmetres = 200')
    assert release.facts.places[0].utility.points == N
    release.write(tmp_path / "out")
    details = json.loads((tmp_path / "out/manifest.json").read_text())["details"]
    assert details["risk"] == details["utility"] == {}
    page = (tmp_path / "out/report.html").read_text()
    assert "points were moved by" not in page
    assert "IL1s" not in page


def test_places_of_rows_that_are_sampled_are_those_of_the_same_people(tmp_path):
    more = '[[masks]]\nname = "sampling"\nfraction = 0.5\n'
    [places] = released(tmp_path, f'name = "gaussian"\nsigma = 20\n{more}').facts.places
    assert places.utility.points < 300
    assert places.utility.greatest < 200


def test_the_distance_to_the_centres_of_written_cells(tmp_path):
    """Cells of 10 km in a plane, written as one of 100 km: centres lie on a lattice."""
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 10, (2, 400))
    rows = pl.DataFrame({"x": 10_000.0 * x + 5, "y": 10_000.0 * y + 5})
    policy = """
halfmask = 1
[columns.home]
role = "quasi_identifier"
kind = "geo"
points = ["x", "y"]
unit = "metres"
hierarchy = { cells = [10, 100] }
[[guarantees]]
model = "k-anonymity"
k = 100
[method]
name = "full-domain"
"""
    release = hm.protect(rows, policy=Policy.from_toml(policy))
    [found] = release.facts.utility.places
    true = np.hypot(10_000.0 * x - 45_000, 10_000.0 * y - 45_000)
    assert found.median == pytest.approx(np.median(true), rel=0.05)
    assert found.greatest == pytest.approx(np.hypot(45_000, 45_000))
    assert found.whole == 0
    assert "km at most" in found.row[2]
    out = tmp_path / "out"
    release.write(out)
    assert "Distance to the centre of" in (out / "report.html").read_text()
    assert _found(json.loads((out / "manifest.json").read_text()), "utility")["places"]
