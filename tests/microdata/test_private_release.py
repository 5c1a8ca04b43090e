"""A synthetic release under an epsilon: nothing exact of the table leaves, and the cost adds up."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import halfmask
from halfmask import Policy, PolicyError, ReleaseError
from halfmask.cli import main
from halfmask.verifier import CheckedRelease

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("opendp")

COLUMNS = """
halfmask = 1
[columns.name]
role = "identifier"
[columns.age]
role = "quasi_identifier"
kind = "numeric"
[columns.ill]
role = "sensitive"
kind = "categorical"
label = true
[synthesis]
kind = "full"
"""
BUDGET = "epsilon = 1.0\ndelta = 1e-6\n"
DOMAIN = """
[synthesis.domain.age]
edges = [0, 30, 60, 100]
whole = true
[synthesis.domain.ill]
values = ["flu", "asthma"]
missing = true
"""
TEXT = COLUMNS + BUDGET + DOMAIN


def people(n: int = 777) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 95, n)
    return pl.DataFrame(
        {
            "name": [f"canary-{i}" for i in range(n)],
            "age": age,
            "ill": np.where(age > 60, "canary-illness", "flu"),
        }
    )


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("private") / "out"
    halfmask.synthesize(people(), Policy.from_toml(TEXT)).write(out)
    return out


def manifest_of(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "manifest.json").read_text())
    return found


def test_it_holds_for_a_receiver_and_states_nothing_exact(released):
    found = halfmask.verify(released)
    assert isinstance(found, CheckedRelease)
    assert found.holds, found.problems
    assert [it.claim.model for it in found.claims] == ["released-columns", "differential-privacy"]
    manifest = manifest_of(released)
    assert manifest["details"]["risk"] == manifest["details"]["utility"] == {}
    assert manifest["details"]["rows"]["in"] == manifest["details"]["rows"]["out"]
    texts = [path.read_text() for path in released.glob("*.*")]
    assert not any("canary" in text for text in texts)
    page = (released / "report.html").read_text()
    assert "epsilon 1 and delta 1e-06" in page
    assert "<svg" not in page
    rows = pl.read_parquet(next((released / "data").iterdir()))
    assert set(rows["ill"]) <= {"flu", "asthma", None}


def claim(manifest: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = manifest["claims"][1]
    return found


@pytest.mark.parametrize(
    "change",
    [
        lambda it: claim(it)["parameters"].update(epsilon=0.99),
        lambda it: claim(it)["parameters"].update(delta=1e-7),
        lambda it: claim(it)["evidence"]["events"][0].update(times=1_000),
        lambda it: claim(it)["evidence"]["events"][0].update(mechanism="laplace"),
        lambda it: claim(it)["evidence"].update(events=[]),
        lambda it: claim(it).update(basis="counted"),
        lambda it: it["claims"].pop(1),
    ],
)
def test_a_claim_of_less_than_was_spent_does_not_hold(released, tmp_path, change):
    out = tmp_path / "out"
    (out / "data").mkdir(parents=True)
    for path in released.rglob("*.*"):
        (out / path.relative_to(released)).write_bytes(path.read_bytes())
    assert halfmask.verify(out).holds
    manifest = manifest_of(out)
    change(manifest)
    (out / "manifest.json").write_text(json.dumps(manifest))
    assert not halfmask.verify(out).holds


def test_nothing_is_measured_and_the_command_says_so(tmp_path, monkeypatch, capsys):
    release = halfmask.synthesize(people(100), Policy.from_toml(TEXT))
    assert release.measured is None
    with pytest.raises(ReleaseError, match="aren't measured"):
        _ = release.assessment
    monkeypatch.chdir(tmp_path)
    people(100).write_csv("people.csv")
    (tmp_path / "policy.toml").write_text(TEXT)
    assert main(["synthesize", "people.csv", "policy.toml", "out"]) == 0
    assert "Nothing was measured" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (COLUMNS + BUDGET, "lacks the key 'domain'"),
        (COLUMNS + "epsilon = 1.0\n" + DOMAIN, "lacks the key 'delta'"),
        (COLUMNS + BUDGET + "min_leaf = 5\n" + DOMAIN, "'epsilon' and 'min_leaf'"),
        (COLUMNS + BUDGET + DOMAIN.partition("[synthesis.domain.ill]")[0], "lacks 'ill'"),
        (TEXT + "edges = [0, 1]\n", "needs one of the keys 'edges'"),
        (COLUMNS + BUDGET.replace("1.0", "0.0") + DOMAIN, "epsilon"),
        (TEXT.replace('"full"', '"hybrid"\nk = 5'), "goes with kind 'full'"),
        (TEXT + '[synthesis.domain.name]\nvalues = ["a"]\n', "an identifier"),
    ],
)
def test_policies_that_lack_something_are_refused(text, fault):
    with pytest.raises(PolicyError, match=fault):
        Policy.from_toml(text)
