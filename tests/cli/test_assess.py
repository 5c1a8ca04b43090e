"""`halfmask assess encoding`: a codec in a vault, two files; and wrong words."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from halfmask.cli import main
from halfmask.encode import Codec
from halfmask.vault import KeyFile, Vault


@pytest.fixture
def home(tmp_path):
    """A table of 400 rows, and a vault with a codec of it."""
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        {
            "age": rng.integers(18, 90, 400),
            "town": rng.choice(["secretville", "b", "c"], 400, p=[0.6, 0.3, 0.1]),
            "ill": rng.choice(["yes", "no"], 400),
        }
    )
    table.write_parquet(tmp_path / "table.parquet")
    codec = Codec(learner="trees").fit(table, target="ill")
    vault = Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "key"))
    vault.seal("codec/mine", codec.to_bytes(), context="codec/mine")
    codec.plan_.encoded(table).write_parquet(tmp_path / "sent.parquet")
    return tmp_path


def _run(home, *words):
    return main(["assess", "encoding", str(home / "table.parquet"), *words])


@pytest.mark.slow
def test_a_codec_in_a_vault_is_attacked_and_the_report_holds_no_cell(home, capsys):
    lock = ["--vault", str(home / "vault"), "--codec", "mine", "--key-file", str(home / "key")]
    files = ["--out", str(home / "r.json"), "--picture", str(home / "r.svg")]

    assert _run(home, *lock, *files, "--known", "20") == 0

    shown = capsys.readouterr().out
    told = json.loads((home / "r.json").read_text())
    verdicts = {found["attack"]: found["verdict"] for found in told["findings"]}
    assert verdicts["encodings/name-dictionary"] == "resisted"
    assert verdicts["encodings/quantile-matching"] == "broken"
    assert (home / "r.svg").read_text().startswith("<svg")
    for text in (shown, json.dumps(told), (home / "r.svg").read_text()):
        assert "secretville" not in text


@pytest.mark.slow
def test_two_files_are_compared_row_by_row(home, capsys):
    assert _run(home, str(home / "sent.parquet"), "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] is True
    assert {found["attack"].split("/")[0] for found in told["findings"]} == {"encodings"}


def test_a_file_with_other_rows_is_refused(home, capsys):
    pl.read_parquet(home / "sent.parquet")[:300].write_parquet(home / "few.parquet")
    assert _run(home, str(home / "few.parquet")) == 1
    assert "300" in capsys.readouterr().err


def test_types_of_columns_are_declared_as_in_encode(home, capsys):
    assert _run(home, str(home / "sent.parquet"), "--dtype", "age=date") == 1
    said = capsys.readouterr().err
    assert "'age'" in said
    assert "400 of 400 cells" in said


@pytest.mark.slow
def test_attacks_that_were_not_run_are_named_with_what_they_lack(home, capsys):
    assert _run(home, str(home / "sent.parquet"), "--json") == 0
    lacked = {each["attack"] for each in json.loads(capsys.readouterr().out)["skipped"]}
    assert {"encodings/date-recovery", "encodings/secret-reuse"} <= lacked

    assert _run(home, str(home / "sent.parquet")) == 0
    said = capsys.readouterr().out
    assert "date-recovery, folded-cycle: not run, for want of periods of a calendar" in said


@pytest.mark.slow
def test_measures_that_are_not_asked_for_are_not_judged(home, capsys):
    assert _run(home, str(home / "sent.parquet"), "--json") == 0
    told = json.loads(capsys.readouterr().out)
    everything = {found["measure"] for found in told["findings"]}
    assert told["measures"] is None

    assert _run(home, str(home / "sent.parquet"), "--measure", "rows", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    judged = {found["measure"] for found in told["findings"]}
    assert told["measures"] == ["rows"]
    assert judged == {each for each in everything if "rows" in each.split()} < everything
    assert told["left_out"]

    assert _run(home, str(home / "sent.parquet"), "--measure", "rows") == 0
    shown = capsys.readouterr().out
    for name in told["left_out"]:
        assert f"{name.rpartition('/')[2]}: has none of the measures asked for." in shown


@pytest.mark.slow
def test_a_measure_that_no_attack_has_is_invalid(home, capsys):
    assert _run(home, str(home / "sent.parquet"), "--measure", "rosw", "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert (found["verdict"], found["measure"]) == ("INVALID", "rosw")

    assert _run(home, str(home / "sent.parquet"), "--measure", "rosw") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "rosw: INVALID, it is measured by no attack that was run." in shown


def test_a_measure_of_no_words_is_refused(home, capsys):
    assert _run(home, str(home / "sent.parquet"), "--measure", " ") == 2
    assert "--measure has no words" in capsys.readouterr().err


def test_a_period_that_would_be_left_unheard_is_refused(home, capsys):
    assert _run(home, "--vault", "v", "--codec", "mine", "--period", "7") == 2
    assert "order of time" in capsys.readouterr().err


def test_one_way_must_be_said(home, capsys):
    assert _run(home) == 2
    assert _run(home, str(home / "sent.parquet"), "--vault", "v", "--codec", "mine") == 2
    assert "one way" in capsys.readouterr().err
