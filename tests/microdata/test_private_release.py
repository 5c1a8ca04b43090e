"""A synthetic release under an epsilon: nothing exact of the table leaves, and the cost adds up."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import halfmask
from halfmask import BudgetError, ParameterError, Policy, PolicyError, ReleaseError
from halfmask.cli import main
from halfmask.dp.ledger import PrivacyLedger, PrivacyUnit
from halfmask.dp.synthesis import private_synthesizer as _private_synthesizer
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
    assert '<svg class="chart"' not in page
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
    assert release.facts.measured is None
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
        (COLUMNS + BUDGET + "min_leaf = 5\n" + DOMAIN, "no key 'min_leaf'"),
        (COLUMNS + BUDGET + DOMAIN.partition("[synthesis.domain.ill]")[0], "lacks 'ill'"),
        (TEXT + "edges = [0, 1]\n", "needs one of the keys 'edges'"),
        (COLUMNS + BUDGET.replace("1.0", "0.0") + DOMAIN, "epsilon"),
        (
            TEXT.replace('"full"', '"hybrid"\nk = 5'),
            "no key 'epsilon'(.|\n)*goes with full with epsilon",
        ),
        (TEXT + '[synthesis.domain.name]\nvalues = ["a"]\n', "an identifier"),
        (COLUMNS + BUDGET + "max_rows = 2\n" + DOMAIN, "max_rows is about persons"),
        (COLUMNS + "max_rows = 2\n", "lacks the key 'epsilon'"),
        (f'person = "name"\n{COLUMNS}', "has no epsilon"),
        (COLUMNS.replace("[synthesis]", "[[synthesis]]"), "must be a table. Got a list of 1"),
        (
            TEXT.replace('"full"', '"full"\nmodel = "trees"'),
            "no key 'model'(.|\n)*goes with full without epsilon or partial or hybrid without k",
        ),
        (
            COLUMNS + 'rules = [{ rule = "fixed-combinations", columns = ["age"] }]\n',
            "columns must be a list of 2 or more. Got a list of 1",
        ),
        (COLUMNS + BUDGET + "domain = {}\n", "domain must be a table that isn't empty"),
    ],
)
def test_policies_that_lack_something_are_refused(text, fault):
    with pytest.raises(PolicyError, match=fault):
        Policy.from_toml(text)


PERSONS = f'person = "name"\n{COLUMNS}{BUDGET}max_rows = 3\n{DOMAIN}'


def test_persons_are_protected_with_so_many_rows_of_each(tmp_path):
    one = people(1)
    table = pl.concat([people(400), *[one] * 2_000])
    policy = Policy.from_toml(PERSONS.replace("epsilon = 1.0", "epsilon = 8.0"))
    release = halfmask.synthesize(table, policy).write(tmp_path / "out")
    assert release.rows["in"] < 1_500
    manifest = manifest_of(tmp_path / "out")
    about = claim(manifest)["about"]
    assert (about["unit"], about["max_rows"]) == ("person", 3)
    assert manifest["details"]["synthesis"]["parameters"]["max_rows"] == 3
    assert not any("rows-not-persons" in it for it in manifest["weaknesses"])
    assert "at most 3 of each were counted" in (tmp_path / "out/report.html").read_text()
    assert halfmask.verify(tmp_path / "out").holds


def test_a_ledger_is_charged_before_a_row_is_counted(tmp_path, monkeypatch):
    table, policy = people(300), Policy.from_toml(TEXT)
    ledger = PrivacyLedger.create(tmp_path / "v", table, dataset="x", epsilon=1.5, delta=1e-5)
    halfmask.synthesize(table, policy, ledger=ledger)
    assert [it.purpose for it in ledger.charges] == ["synthetic rows"]
    assert ledger.spent == pytest.approx(1.0)
    monkeypatch.setattr(_private_synthesizer, "AdaptiveTables", None)  # nothing is counted
    with pytest.raises(BudgetError):
        halfmask.synthesize(table, policy, ledger=ledger)
    with pytest.raises(halfmask.DataError, match="isn't the one"):
        halfmask.synthesize(people(299), policy, ledger=ledger)
    with pytest.raises(ParameterError, match="goes with epsilon"):
        halfmask.synthesize(table, Policy.from_toml(COLUMNS), ledger=ledger)
    with pytest.raises(ParameterError, match="protects single rows"):
        halfmask.synthesize(table, Policy.from_toml(PERSONS), ledger=ledger)
    assert len(ledger.charges) == 1


def test_the_command_charges_the_ledger_of_persons(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    people(300).write_csv("people.csv")
    (tmp_path / "policy.toml").write_text(PERSONS)
    budget = ["--epsilon", "1.5", "--delta", "1e-5", "--vault", "vault", "--person", "name"]
    assert main(["budget", "set", "people.csv", *budget]) == 0
    command = ["synthesize", "people.csv", "policy.toml"]
    assert main([*command, "out", "--ledger", "vault"]) == 0
    assert main([*command, "more", "--ledger", "vault"]) == 1
    assert "costs more than is left" in capsys.readouterr().err
    assert not (tmp_path / "more").exists()
    ledger = PrivacyLedger.open("vault", dataset="people")
    assert ledger.terms.unit == PrivacyUnit(person="name")
    assert len(ledger.charges) == 1
