"""``halfmask events run --dry-run``: what would be done, with no state touched, nothing written."""

from __future__ import annotations

import json

import pytest

from halfmask.cli import main
from halfmask.vault import KeyFile, Vault

POLICY = """
halfmask-events = 1
release = "r"
[stream]
entity = "who"
[[rule]]
path = "who"
name = "id"
do = "sequence"
scope = "stream"
[[rule]]
path = "lines[].n"
do = "round"
step = 10
[[rule]]
path = "gone"
do = "keep"
"""
EVENTS = [
    {"who": f"CANARY{i % 7}", "lines": [{"n": i, "sku": "CANARY"}, {"n": "CANARY"}], "note": "x"}
    for i in range(60)
]


@pytest.fixture
def words(tmp_path):
    """The words of a run of which one is done already, and the folder's bytes after it."""
    Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "key"))
    (tmp_path / "policy").write_text(POLICY)
    (tmp_path / "in").write_text("".join(json.dumps(event) + "\n" for event in EVENTS))
    paths = [str(tmp_path / name) for name in ("policy", "in", "out")]
    lock = ["--vault", str(tmp_path / "vault"), "--key-file", str(tmp_path / "key")]
    return ["events", "run", *paths, *lock]


def snapshot(folder):
    return {str(path): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.slow
@pytest.mark.parametrize("before", [False, True], ids=["a new vault", "after a run"])
@pytest.mark.parametrize("more", [[], ["--json"], ["--follow"], ["--restart", "--overwrite"]])
def test_a_dry_run_changes_nothing(tmp_path, words, capsys, before, more):
    """Also with another policy than the stream's, which a run refuses without --restart."""
    if before:
        assert main(words) == 0
        (tmp_path / "policy").write_text(POLICY.replace('"id"', '"whom"'))
        assert main(words) == 1
    kept = snapshot(tmp_path)
    capsys.readouterr()

    assert main([*words, "--dry-run", *more]) == 0

    assert snapshot(tmp_path) == kept
    said = capsys.readouterr()
    assert "CANARY" not in said.out + said.err


def test_it_says_what_a_run_would_do(words, capsys):
    assert main([*words, "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)

    assert (told["dry_run"], told["sampled"]) == (True, False)
    assert (told["events"], told["lines_written"]) == (60, 60)
    assert told["rules"] == [
        {"rules": [1], "path": "who", "fields": ["id"], "values": 60, "different": 7},
        {"rules": [2], "path": "lines[].n", "fields": ["lines[].n"], "values": 60, "different": 7},
        {"rules": [3], "path": "gone", "fields": ["gone"], "values": 0, "different": 0},
    ]
    assert told["failures"] == [{"rule": 2, "reason": "wrong-type", "values": 60}]
    assert told["dropped"] == [
        {"path": "lines[].sku", "events": 60},
        {"path": "note", "events": 60},
    ]
    assert told["unmet_rules"] == [3]
    assert told["risk"]["traces"] == 7
    assert len(told["warnings"]) == 1

    # A run writes as many lines, and warns of the same.
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == told["warnings"]


def test_people_read_it(words, capsys):
    assert main([*words, "--dry-run"]) == 0
    said = capsys.readouterr().err
    for words_ in (
        "Dry run on all lines of the input: nothing was written.",
        "60 lines would be written",
        "2 fields are dropped",
        "- lines[].sku, in 60 events",
        "Warning: ",
    ):
        assert words_ in said


@pytest.mark.parametrize("lines", [1, 7, 60, 61])
def test_it_looks_at_a_sample(words, capsys, lines):
    assert main([*words, "--dry-run", "--json", "--sample", str(lines)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["lines"] == min(lines, 60)
    assert told["sampled"] == (lines < 60)


def test_lines_that_are_no_events_are_counted(tmp_path, words, capsys):
    """A run stops at the first one."""
    (tmp_path / "in").write_text('{"who": 1}\nno\n{"who": 2}\n[]\n')
    assert main([*words, "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["events"], sum(told["bad"].values())) == (2, 2)
    assert main([*words, "--dry-run"]) == 0
    assert "A run stops at the first" in capsys.readouterr().err


def test_strict_makes_a_warning_an_error(tmp_path, words, capsys):
    assert main([*words, "--dry-run", "--strict"]) == 1
    assert "Error: " in capsys.readouterr().err
    (tmp_path / "policy").write_text(POLICY.partition('[[rule]]\npath = "lines')[0])
    assert main([*words, "--dry-run", "--strict"]) == 0


def test_it_is_for_files_and_pipes(words):
    assert main([*words, "--dry-run", "--topic", "a=b"]) == 2


def test_windows_and_tables_go_through_it(tmp_path, words, capsys):
    import polars as pl  # noqa: PLC0415 # for tables alone

    days = [{"who": i % 3, "t": f"2024-03-{i % 5 + 1:02}"} for i in range(40)]
    pl.DataFrame(days).write_parquet(tmp_path / "in.parquet")
    words[3] = str(tmp_path / "in.parquet")
    (tmp_path / "policy").write_text(
        'halfmask-events = 1\nrelease = "r"\n[stream]\ntime = "t"\nentity = "who"\nzone = "UTC"\n'
        '[[rule]]\npath = "who"\ndo = "keep"\n[window]\nevery = "1 day"\nzone = "UTC"\n'
        '[[aggregate]]\nwindow = "day"\ncount = "n"\nmin-entities = 2\n'
    )
    assert main([*words, "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["lines_written"] == told["stage"]["cells-written"] == 5
    assert told["dropped"] is None
    assert told["warnings"] == []
