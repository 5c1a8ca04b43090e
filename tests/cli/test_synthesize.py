"""halfmask synthesize: a release of synthetic rows in a terminal."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from halfmask.cli import main

POLICY = """
halfmask = 1
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


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    age = rng.integers(20, 80, 600)
    pl.DataFrame({"age": age, "ill": np.where(rng.random(600) < age / 100, "yes", "no")}).write_csv(
        "people.csv"
    )
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


@pytest.mark.slow
def test_it_writes_a_release_and_shows_what_was_measured(files, capsys):
    assert main(["synthesize", "people.csv", "policy.toml", "out"]) == 0
    shown = capsys.readouterr().out
    assert "540 learnt from, 60 set aside" in shown
    assert "density-membership" in shown
    assert "boosting, AUC of ill" in shown
    assert (files / "out" / "report.html").exists()


@pytest.mark.slow
def test_copied_rows_are_counted_for_the_owner_and_not_checked_for_a_receiver(files, capsys):
    people = (files / "people.csv").read_text().replace("\n20,", "\n?,")
    (files / "people.csv").write_text(people)
    (files / "policy.toml").write_text(POLICY.replace("[col", '[input]\nmissing = ["?"]\n[col', 1))
    assert main(["synthesize", "people.csv", "policy.toml", "out"]) == 0
    capsys.readouterr()
    assert main(["verify", "out"]) == 3
    shown = " ".join(capsys.readouterr().out.split())
    assert "copied-rows: not checked: that takes the original rows" in shown
    assert "Nothing wrong was found" in shown
    words = ["verify", "out", "--originals", "people.csv"]
    assert main([*words, "--policy", "policy.toml"]) == 0
    assert "holds" in capsys.readouterr().out
    assert main(words) == 1  # "?" isn't missing there
    assert main(["verify", "out", "--policy", "policy.toml"]) == 2
    capsys.readouterr()
    assert main(["verify", "out", "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert [it["model"] for it in told["claims"] if not it["checked"]] == ["copied-rows"]
    assert "--originals" in told["hint"]


@pytest.mark.slow
def test_json_and_the_same_key(files, capsys):
    (files / "key").write_bytes(bytes(32))
    (files / "key").chmod(0o600)
    told = []
    for out in ("one", "two"):
        words = ["synthesize", "people.csv", "policy.toml", out, "--key-file", "key", "--json"]
        assert main(words) == 0
        told.append(json.loads(capsys.readouterr().out))
    assert told[0]["ok"]
    assert told[0]["rows"] == {"in": 600, "learnt": 540, "control": 60, "out": 540}
    data = [(files / out / "data" / "part-00000.parquet").read_bytes() for out in ("one", "two")]
    assert data[0] == data[1]


def test_a_folder_that_exists_and_a_policy_of_classes_fail(files, capsys):
    (files / "out").mkdir()
    assert main(["synthesize", "people.csv", "policy.toml", "out"]) == 1
    assert "exists already" in capsys.readouterr().err
    classes = POLICY.partition("[synthesis]")[0] + '[[guarantees]]\nmodel = "k-anonymity"\nk = 5'
    (files / "classes.toml").write_text(classes)
    assert main(["synthesize", "people.csv", "classes.toml", "other"]) == 1
    assert "no [synthesis]" in capsys.readouterr().err
    assert main(["protect", "people.csv", "policy.toml", "other"]) == 0
    assert "rows drawn" in capsys.readouterr().out
