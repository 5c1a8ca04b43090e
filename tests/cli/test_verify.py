"""halfmask verify: each claim with a tick or a cross, and the exit code that follows."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import polars as pl
import pytest


@pytest.fixture
def released(run, desk):
    """A release of the small table."""
    answer = run(*desk.protect())
    assert answer.status == 0, answer.err
    return desk


RULES = """
halfmask = 1
[input]
missing = ["?"]
[columns.age]
role = "quasi_identifier"
kind = "numeric"
hierarchy = { intervals = [10, 20, 40] }
[columns.zip]
role = "quasi_identifier"
kind = "categorical"
hierarchy = { prefix = [4, 2] }
[columns.born]
role = "quasi_identifier"
kind = "datetime"
hierarchy = { dates = ["month", "year"] }
[columns.ill]
role = "insensitive"
kind = "categorical"
[[guarantees]]
model = "k-map"
k = 5
[method]
name = "full-domain"
[recoding]
name = "level"
"""


def test_a_database_is_no_release(run):
    answer = run("verify", "sqlite:///shop.db")

    assert answer.status == 1
    assert "the URL of a database, where files are wanted" in answer.err
    assert "s3://" not in answer.err


def _falsify(desk) -> None:
    """Give one person an age of their own, and the manifest the hash of what then stands there."""
    part = desk.out / "data" / "part-00000.parquet"
    rows = pl.read_parquet(part)
    changed = pl.concat([pl.Series("age", ["CANARY-age"]), rows["age"][1:]])
    rows.with_columns(changed.alias("age")).write_parquet(part)
    where = desk.out / "manifest.json"
    manifest = json.loads(where.read_text())
    manifest["files"][0]["sha256"] = hashlib.sha256(part.read_bytes()).hexdigest()
    manifest["files"][0]["bytes"] = part.stat().st_size
    where.write_text(json.dumps(manifest))


def test_a_true_release(run, released):
    """What holds is ticked, and the exit code is 0."""
    answer = run("verify", released.out, "-v")
    programs = run("verify", released.out, "--json")

    assert (answer.status, answer.err) == (0, "")
    assert answer.out.count("✓   ") == 2
    assert "✗" not in answer.out
    assert "Everything that the release claims holds." in answer.out
    assert "part-00000.parquet" in answer.out
    assert (programs.status, programs.json["ok"], programs.json["holds"]) == (0, True, True)
    assert programs.json["rows"] == 80


def test_a_leaked_row(run, released):
    """One row that differs is a class of one: crossed out, and the exit code is 1."""
    _falsify(released)

    answer = run("verify", released.out)
    programs = run("verify", released.out, "--json")

    assert 1 == answer.status == programs.status
    assert "✗" in answer.out
    assert "doesn't bear out what it claims" in answer.out
    said = programs.json
    assert (said["ok"], said["code"], said["status"]) == (False, "verification", 1)
    assert "k-anonymity" in said["error"]
    assert said["claims"][0]["counted"] == 1
    for each in (answer, programs):
        assert "CANARY" not in each.out + each.err


def test_a_changed_file(run, released):
    """A file that isn't what the manifest states is crossed out."""
    part = released.out / "data" / "part-00000.parquet"
    part.write_bytes(part.read_bytes() + b"CANARY")

    answer = run("verify", released.out)

    assert answer.status == 1
    assert "✗ 0 of 1 files" in answer.out
    assert "CANARY" not in answer.out + answer.err


@pytest.mark.parametrize("break_it", ["absent", "empty", "no manifest", "a file", "not json"])
def test_what_is_no_release(run, desk, break_it):
    """Anything else than a release is an error that names no path."""
    if break_it == "a file":
        desk.out.write_text("CANARY")
    elif break_it != "absent":
        desk.out.mkdir()
    if break_it == "not json":
        (desk.out / "manifest.json").write_text('{"CANARY": ')
    answer = run("verify", desk.out)
    programs = run("verify", desk.out, "--json")

    assert (answer.status, answer.out) == (1, "")
    assert "Error: " in answer.err
    assert programs.json["code"] == "verification"
    assert "CANARY" not in answer.err + programs.out


@pytest.mark.slow
def test_where_the_terminal_has_no_ticks(start, released):
    """In ASCII a tick is a word, and no name fails the command."""
    code = (
        "import sys; sys.stdout.reconfigure(encoding='ascii');"
        "from halfmask.cli import main; sys.exit(main())"
    )

    answer = start("verify", released.out, code=code)

    assert answer.status == 0
    assert "yes" in answer.out
    assert answer.out.isascii()


@pytest.mark.parametrize("name", ["table", "guarantees.jsonl", "cells.jsonl.manifest.json"])
def test_one_command_verifies_tables_and_events(run, name):
    """Also those of version 0.1."""
    old = Path(__file__).parents[1] / "claims" / "v1"

    assert run("verify", str(old / name), "--json").json["ok"] is True


def test_what_it_says_of_events_names_the_command_that_has_the_option(run):
    answer = run("verify", str(Path(__file__).parents[1] / "claims" / "v1" / "cells.jsonl"))

    assert "halfmask events verify --policy" in answer.out
    assert run("verify", "x", "--policy", "y").status == 2


def test_evidence_that_events_cannot_confirm_is_marked(run, tmp_path):
    """Sessions bound entities: three are possible, a thousand aren't."""
    old = Path(__file__).parents[1] / "claims" / "v1"
    shutil.copy(old / "guarantees.jsonl", tmp_path)
    manifest = (old / "guarantees.jsonl.manifest.json").read_text(encoding="utf-8")
    where = tmp_path / "guarantees.jsonl.manifest.json"
    where.write_text(manifest, encoding="utf-8")

    true = run("verify", str(tmp_path / "guarantees.jsonl"))
    where.write_text(manifest.replace('-of-the-run": 3', '-of-the-run": 1000'), encoding="utf-8")
    false = run("verify", str(tmp_path / "guarantees.jsonl"))

    assert (true.status, false.status) == (0, 1)
    assert "? Its evidence of 3 entities isn't verified" in true.out
    assert "? The numbers of traces" in true.out
    assert "Its evidence states 1000 entities; at most 3 were counted, in sessions." in false.out


def test_events_that_were_changed_do_not_verify(run, tmp_path):
    old = Path(__file__).parents[1] / "claims" / "v1"
    lines = (old / "cells.jsonl").read_bytes()
    (tmp_path / "cells.jsonl").write_bytes(lines.replace(b"1", b"2", 1))
    shutil.copy(old / "cells.jsonl.manifest.json", tmp_path)

    assert run("verify", str(tmp_path / "cells.jsonl")).status == 1


@pytest.mark.slow
def test_a_population_with_hierarchies_by_rule_is_counted_by_the_policy(run, tmp_path):
    """No file has such a hierarchy, and nobody could count the claim again."""
    everybody, table, policy = (tmp_path / it for it in ("all.csv", "table.csv", "policy.toml"))
    rows = "".join(
        f"{20 + i % 40},1307{i % 9},2000-0{1 + i % 9}-1{i % 7},{i % 3}\n" for i in range(300)
    )
    head = "age,zip,born,ill\n"
    everybody.write_text(head + rows + "?,13070,2000-01-10,1\n")
    table.write_text(head + rows[: len(rows) // 3])
    policy.write_text(RULES)
    made = run("protect", table, policy, tmp_path / "out", "--population", everybody)
    assert made.status == 0, made.err

    words = ["verify", tmp_path / "out", "--population", everybody]
    counted = run(*words, "--policy", policy, "--json")
    assert (counted.status, counted.json["holds"]) == (0, True), counted.json
    fewer = run("verify", tmp_path / "out", "--population", table, "--policy", policy)
    assert fewer.status == 1
    assert run("verify", tmp_path / "out", "--policy", policy).status == 2
    assert run(*words, "--policy", policy, "--hierarchies", tmp_path).status == 2
    assert run(*words).status != 0  # without the rules, and "?" isn't missing


@pytest.mark.slow
def test_claims_about_a_population(run, desk, tmp_path):
    """Without the population nothing is confirmed and nothing is broken; with it, either is."""
    everybody = tmp_path / "people.csv"
    table = pl.read_csv(desk.table)
    pl.concat([table] * 3).write_csv(everybody)
    policy = desk.policy.read_text()
    desk.policy.write_text(policy + '\n[[guarantees]]\nmodel = "k-map"\nk = 9\n')
    made = run(*desk.protect(), "--population", everybody)
    assert made.status == 0, made.err

    without = run("verify", desk.out)
    program = run("verify", desk.out, "--json")
    confirmed = run("verify", desk.out, "--population", everybody)
    fewer = run("verify", desk.out, "--population", desk.table)

    assert (without.status, program.status) == (3, 3)
    assert "? k-map" in without.out
    assert "Not every claim could be checked." in without.out
    assert "✗" not in without.out
    said = program.json
    assert (said["ok"], said["holds"], said["status"]) == (False, False, 3)
    assert [each["checked"] for each in said["claims"]].count(False) == 1
    assert "needs the population" in said["error"]
    assert (confirmed.status, fewer.status) == (0, 1)
    assert "Everything that the release claims holds." in confirmed.out
    assert run("verify", desk.out, "--hierarchies", tmp_path).status == 2
    assert run("verify", desk.out, "--population", tmp_path / "none.csv").status == 1
