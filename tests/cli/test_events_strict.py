"""``halfmask events run`` says what singles out in the output; ``--strict`` makes it an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from halfmask.cli import main
from halfmask.vault import KeyFile, Vault

HEAD = """
halfmask-events = 1
release = "r"
[stream]
time = "time"
entity = "who"
zone = "UTC"
"""
WHO = '[[rule]]\npath = "who"\ndo = "token"\n'
PLACE = '[[rule]]\npath = "place"\ndo = "keep"\n'
NUMBER = '[[rule]]\npath = "n"\ndo = "keep"\n'
GROUPS = """
[window]
every = "1 day"
zone = "UTC"
[[aggregate]]
window = "day"
count = "events"
min-events = 2
"""


@pytest.fixture
def run(tmp_path, capsys):
    """A function that runs a policy over 100 events of ten people; returns code, out and err."""
    Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "key"))
    lock = ["--vault", str(tmp_path / "vault"), "--key-file", str(tmp_path / "key")]
    events = [
        {"time": "2024-03-01", "who": f"u{i % 10}", "place": f"p{i % 2}", "n": i}
        for i in range(100)
    ]
    (tmp_path / "in").write_text("".join(json.dumps(it) + "\n" for it in events))

    def run(rules, *options, out="out"):
        (tmp_path / "policy").write_text(HEAD + rules)
        words = [str(tmp_path / name) for name in ("policy", "in")]
        where = f"{tmp_path}/{out}" if out != "-" else out
        code = main(["events", "run", *words, where, *lock, *options])
        return code, *capsys.readouterr()

    return run


UNIQUE = "100% of 100 released events equal no other"
FOUND = "1 known event singles out 100% of 10 entities"


@pytest.mark.parametrize(
    ("rules", "warning"),
    [
        (NUMBER, f"Warning: {UNIQUE}."),
        (WHO + NUMBER, f"Warning: {UNIQUE}, and {FOUND}."),
        (WHO + PLACE, None),
        (PLACE, None),
        (PLACE + GROUPS, None),
    ],
)
def test_a_run_warns_in_one_line_of_what_singles_out(run, tmp_path, rules, warning):
    code, _, err = run(rules)
    assert code == 0
    assert [line for line in err.splitlines() if line.startswith("Warning")] == (
        [] if warning is None else [warning]
    )
    page = (tmp_path / "out.report.html").read_text()
    assert ("Warning:" in page) == (warning is not None)


def test_the_warning_is_orange(run, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLORTERM", "truecolor")
    _, _, err = run(NUMBER)
    assert "\x1b[38;5;208mWarning: " in err


def test_programs_get_the_warning_and_the_counts(run):
    _, out, _ = run(WHO + NUMBER, "--json")
    told = json.loads(out)
    assert told["warnings"] == [f"{UNIQUE}, and {FOUND}."]
    assert told["risk"]["known"][0] == {"points": 1, "traces": 10, "singled_out": 1.0}


@pytest.mark.slow
@pytest.mark.parametrize("out", ["out", "out.gz", "out.parquet", "out/"])
def test_strict_leaves_the_output_without_a_name(run, tmp_path, out):
    """And the same command without it gives the output, byte for byte, as without the gate."""
    code, _, err = run(WHO + NUMBER, "--strict", out=out)
    assert code == 1
    assert f"Error: {UNIQUE}, and {FOUND}." in err
    assert not Path(f"{tmp_path}/{out}").exists()
    assert not list(tmp_path.glob("*manifest*"))

    assert run(WHO + NUMBER, out=out)[0] == 0
    first = contents(Path(f"{tmp_path}/{out}"))
    assert run(WHO + NUMBER, "--restart", "--overwrite", out=out)[0] == 0
    assert contents(Path(f"{tmp_path}/{out}")) == first


def contents(path):
    if path.is_dir():
        return {it.name: it.read_bytes() for it in path.iterdir()}
    return path.read_bytes()


def test_strict_passes_where_nothing_singles_out(run, tmp_path):
    assert run(WHO + PLACE, "--strict")[0] == 0
    assert (tmp_path / "out").exists()
    assert run(PLACE + GROUPS, "--strict", "--restart", "--overwrite")[0] == 0


def test_strict_refuses_a_run_that_loses_events(run, tmp_path):
    """Their times can't be read."""
    text = (tmp_path / "in").read_text()
    (tmp_path / "in").write_text(text.replace('"2024-03-01"', '"never"', 7))
    code, _, err = run(PLACE + GROUPS, "--strict")
    assert code == 1
    assert "7 events have no time that can be read" in err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("words", [["--follow"], ["--topic", "a=b"]])
def test_strict_needs_an_end(run, words):
    assert run(PLACE, "--strict", *words)[0] == 2
    assert run(PLACE, "--strict", out="-")[0] == 2
