"""``halfmask protect`` with a policy of masks alone."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

POLICY = """
halfmask = 1
[columns]
name = { role = "identifier" }
age = { role = "quasi_identifier", kind = "numeric", mask = { name = "round", base = 10 } }
pay = { role = "sensitive", kind = "numeric", mask = { name = "tails", high = 900 } }
"""


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(3)
    people = pl.DataFrame(
        {
            "name": [f"CANARY{i}" for i in range(200)],
            "age": rng.integers(18, 90, 200),
            "pay": rng.integers(0, 1000, 200),
        }
    )
    people.write_csv(tmp_path / "people.csv")
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path / "people.csv", tmp_path / "policy.toml", tmp_path / "out"


@pytest.mark.slow
def test_claims_and_measured_risk_are_shown(files, run):
    """The release is verified, and the page has what attacks found."""
    done = run("protect", *files)

    assert done.status == 0
    assert "finds the right row" in done.out
    assert "multiples, base = 10.0" in done.out
    assert "no privacy model" in run("verify", files[-1]).out
    assert "CANARY" not in done.out + (files[-1] / "report.html").read_text()


@pytest.mark.slow
def test_json_has_what_the_manifest_has(files, run):
    """For programs."""
    done = run("protect", *files, "--json")

    found = json.loads(done.out)
    assert found["ok"]
    assert found["rows"] == {"in": 200, "out": 200}
    assert found["verification"]["holds"]
    manifest = json.loads((files[-1] / "manifest.json").read_text())
    assert found["risk"] == manifest["details"]["risk"]


@pytest.mark.parametrize("option", [("--persons", "rows.csv"), ("--population", "people.csv")])
def test_options_about_classes_are_refused(files, run, option):
    """They would have no effect."""
    done = run("protect", *files, *option)

    assert done.status == 2
    assert option[0] in done.err
    assert not files[-1].exists()


@pytest.mark.slow
def test_people_who_are_found_again_are_a_warning_and_an_error_with_strict(files, run):
    """Three ticks say nothing of them: what was counted are the techniques."""
    files[1].write_text(POLICY.replace("base = 10", "base = 1"))
    done = run("protect", *files, "--json")
    (warning,) = json.loads(done.out)["warnings"]

    assert "An attacker who knows the key columns links " in warning
    assert "links" in (files[-1] / "report.html").read_text()
    assert f"Warning: {warning}"[:60] in run("protect", *files, "--overwrite").out
    strict = run("protect", *files, "--overwrite", "--strict", "--json")
    assert (strict.status, json.loads(strict.out)["error"]) == (1, warning)


@pytest.mark.slow
def test_strict_passes_where_nobody_is_found_again(files, run):
    """Ages in two groups leave a hundred rows that look alike."""
    files[1].write_text(POLICY.replace("base = 10", "base = 100"))

    done = run("protect", *files, "--strict", "--json")

    assert done.status == 0
    assert json.loads(done.out)["warnings"] == []


@pytest.mark.slow
def test_places_have_their_distances_and_what_finds_them(files, run):
    """Whoever moves points asks how far, and how many people live near."""
    rng = np.random.default_rng(4)
    pl.DataFrame(4.9 + 0.05 * rng.random((200, 2)), schema=["lon", "lat"]).write_csv(files[0])
    columns = "".join(
        f'{it} = {{ role = "insensitive", kind = "numeric" }}\n' for it in ("lon", "lat")
    )
    mask = "centre = [4.9, 4.9]\nrotation = 90\nscale = [1, 1]\nshift = 500"
    mask = f'[[masks]]\nname = "affine"\ncolumns = ["lon", "lat"]\n{mask}\n'
    files[1].write_text(f"halfmask = 1\n[columns]\n{columns}{mask}")

    done = run("protect", *files)
    assert "Places in lon and lat: 200 points were moved by " in done.out
    assert "Warning: Places can be found: places/affine-break" in done.out
    warnings = json.loads(run("protect", *files, "--overwrite", "--json").out)["warnings"]
    assert any(it.startswith("Places can be found") for it in warnings)
