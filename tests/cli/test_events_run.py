"""``halfmask events run``, ``table`` and ``reverse``: the source's order, and what can go wrong."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from halfmask.cli import main
from halfmask.vault import KeyFile, Vault

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "events"
COMMAND = "import sys; from halfmask.cli import main; sys.exit(main(sys.argv[1:]))"
SAID = {
    "date": "2014-09-04T23:02:00",
    "group": [{"ref": 1, "delta": 1}, {"ref": 2, "delta": 11}],
}
PEOPLE = """
halfmask-events = 1
release = "people"
[[rule]]
path = "who"
name = "whom"
do = "token"
[[rule]]
path = "place"
do = "sequence"
scope = "stream"
[[rule]]
path = "amounts[].n"
do = "recode"
table = "amounts"
[[rule]]
path = "mail"
do = "hash"
"""
EVENTS: list[dict[str, Any]] = [
    {"who": "Ann", "place": "Ufa", "amounts": [{"n": 1}, {"n": 10}], "mail": "a@b"},
    {"who": 'B "ö"', "place": 7, "amounts": [], "x": 1},
    {"who": 12.50, "place": "Ufa", "amounts": [{"n": 10}, {}], "mail": None},
]


@pytest.fixture
def lock(tmp_path):
    """The options of a vault that was made, with the source's tables."""
    Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "key"))
    return ["--vault", str(tmp_path / "vault"), "--key-file", str(tmp_path / "key")]


@pytest.fixture
def people(tmp_path, lock, capsys):
    """A policy, its table in the vault, and events."""
    (tmp_path / "people.toml").write_text(PEOPLE)
    (tmp_path / "amounts.csv").write_text("from,to\n1,3\n10,4\n")
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(event) + "\n" for event in EVENTS))
    words = ["events", "table", "set", "amounts", str(tmp_path / "amounts.csv")]
    assert main([*words, "--kind", "recode", *lock]) == 0
    capsys.readouterr()
    return [str(tmp_path / "people.toml"), str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl")]


def told(capsys) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_source_order_is_run_with_tables_of_the_vault(tmp_path, lock, capsys):
    for name in ("quantities", "offsets"):
        file = str(EXAMPLE / "tables" / f"{name}.toml")
        assert main(["events", "table", "set", name, file, *lock, "--json"]) == 0
        assert told(capsys)["table"] == name
    out = tmp_path / "out.jsonl"
    words = ["events", "run", str(EXAMPLE / "policy.toml"), str(EXAMPLE / "order.jsonl"), str(out)]

    assert main([*words, *lock, "--json"]) == 0

    summary = told(capsys)
    assert json.loads(out.read_text()) == SAID
    assert (summary["ok"], summary["complete"], summary["events"]) == (True, True, 1)
    assert summary["unmet_rules"] == []


def test_tables_are_listed_without_an_entry(people, lock, capsys):
    assert main(["events", "table", "list", *lock, "--json"]) == 0
    assert told(capsys)["tables"] == [{"table": "amounts", "kind": "recode", "entries": 2}]

    assert main(["events", "table", "list", *lock]) == 0
    assert "amounts" in capsys.readouterr().out
    del people


def test_a_missing_table_is_said(tmp_path, lock, capsys):
    words = [str(EXAMPLE / "policy.toml"), str(EXAMPLE / "order.jsonl"), str(tmp_path / "o")]

    assert main(["events", "run", *words, *lock, "--json"]) == 1

    answer = told(capsys)
    assert answer["code"] == "parameter"
    assert "offsets" in answer["error"]


def test_pseudonyms_are_turned_back_by_who_has_the_vault(tmp_path, people, lock, capsys):
    """Tokens, numbers and one-to-one tables come back; hashes stay as they are."""
    back = tmp_path / "back.jsonl"
    assert main(["events", "run", *people, *lock]) == 0
    capsys.readouterr()

    assert main(["events", "reverse", people[0], people[2], str(back), *lock, "--json"]) == 0

    answer = told(capsys)
    found = [json.loads(line) for line in back.read_text().splitlines()]
    released = [json.loads(line) for line in Path(people[2]).read_text().splitlines()]
    assert [event["whom"] for event in found] == [event["who"] for event in EVENTS]
    assert '"whom":12.5' in back.read_text()
    assert [event["place"] for event in found] == ["Ufa", 7, "Ufa"]
    assert [event.get("amounts") for event in found] == [e["amounts"] for e in EVENTS]
    assert [event.get("mail") for event in found] == [event.get("mail") for event in released]
    assert [event["place"] for event in released] == [1, 2, 1]
    assert answer["rules"] == [1, 2, 3]
    assert answer["values"] == {"1": 3, "2": 3, "3": 3}
    assert back.stat().st_mode & 0o777 == 0o600


def test_what_the_vault_doesnt_know_is_counted(tmp_path, people, lock, capsys):
    assert main(["events", "run", *people, *lock]) == 0
    other = tmp_path / "other.jsonl"
    other.write_text('{"whom": "bm90", "place": 99, "amounts": [{"n": 5}], "mail": "m"}\n')
    capsys.readouterr()

    words = ["events", "reverse", people[0], str(other), str(tmp_path / "b"), *lock, "--json"]
    assert main(words) == 0

    assert told(capsys)["unknown"] == {"1": 1, "2": 1, "3": 1}
    assert json.loads((tmp_path / "b").read_text()) == json.loads(other.read_text())


@pytest.mark.slow
def test_a_pipe_on_both_sides(people, lock):
    words = ["events", "run", people[0], "-", "-", *lock]
    found = subprocess.run(
        [sys.executable, "-c", COMMAND, *words],
        input=Path(people[1]).read_bytes(),
        capture_output=True,
        check=True,
    )

    assert [json.loads(line)["place"] for line in found.stdout.splitlines()] == [1, 2, 1]
    assert b"Read 3 events" in found.stderr


def test_a_bad_line_stops_it_and_dead_letters_note_it(tmp_path, people, lock, capsys):
    with Path(people[1]).open("a") as file:
        file.write("canary-5e1f\n")
    assert main(["events", "run", *people, *lock, "--json"]) == 1
    answer = told(capsys)
    assert "Line 4" in answer["error"]
    assert "canary" not in json.dumps(answer)

    letters = tmp_path / "letters"
    more = ["--on-error", "skip", "--dead-letters", str(letters)]
    assert main(["events", "run", *people, *lock, *more]) == 0

    assert json.loads(letters.read_text()) == {"file": 1, "line": 4, "reason": "not-json"}
    said = capsys.readouterr().err
    assert "- not-json: 1, the first in line 4" in said
    assert "canary" not in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-", "-", "--json"], "standard output"),
        (["-", "out", "--follow"], "Only a file"),
        (["in", "out.gz", "--follow"], "plain JSON lines"),
        (["in", "out", "--follow", "--topic", "a=b"], "--follow is for a file"),
        (["in", "out", "--topic", "a"], "KEY=VALUE"),
        (["in", "out", "--dead-letter-content"], "goes with --dead-letters"),
    ],
)
def test_what_cant_be_is_refused(people, lock, capsys, words, said):
    status = main(["events", "run", people[0], *words, *lock])

    assert status in {1, 2}
    heard = capsys.readouterr()
    assert said in heard.err + heard.out


@pytest.mark.parametrize("which", ["people.toml", "in.jsonl", "in"])
def test_what_is_read_is_never_written_over(tmp_path, people, lock, capsys, which):
    """Not even with --overwrite, and by no other name of the same file."""
    policy, source, out = people
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.jsonl").write_text("{}\n")
    (tmp_path / "linked").symlink_to(policy if which == "people.toml" else source)
    if which == "in":
        source, out = str(folder), str(folder / "out.jsonl")
    else:
        out = str(tmp_path / "linked")
    before = {path: path.read_bytes() for path in (Path(policy), Path(people[1]))}

    for command in ("run", "reverse"):
        assert main(["events", command, policy, source, out, "--overwrite", *lock]) == 2
    words = ["--dead-letters", out, "--overwrite", *lock]
    assert main(["events", "run", policy, source, str(tmp_path / "other"), *words]) == 2

    assert "what is read" in capsys.readouterr().err or which == "in"
    assert {path: path.read_bytes() for path in before} == before
    assert [path.name for path in folder.iterdir()] == ["a.jsonl"]


def test_a_run_says_where_things_lie_and_what_a_rule_couldnt_do(tmp_path, people, lock, capsys):
    """Paths of rules are named, as the policy has them; no value is."""
    policy = tmp_path / "typo.toml"
    policy.write_text(
        'halfmask-events = 1\nrelease = "typo"\n'
        '[[rule]]\npath = "amounts.n"\ndo = "keep"\n'
        '[[rule]]\npath = "amounts[].n"\ndo = "coarsen-time"\nevery = "1 day"\nzone = "UTC"\n'
    )

    assert main(["events", "run", str(policy), people[1], people[2], *lock]) == 0

    said = capsys.readouterr().err
    assert "No event had the path of rule 1 (amounts.n)." in said
    assert "amounts[].n" in said
    for name in ("out.jsonl.manifest.json", "out.jsonl.report.html"):
        assert name in said.replace("\n", "")
    assert "Ann" not in said


def test_times_that_cant_be_read_are_said_in_words(tmp_path, people, lock, capsys):
    policy = tmp_path / "windows.toml"
    policy.write_text(
        'halfmask-events = 1\nrelease = "windows"\n[stream]\ntime = "tiem"\nentity = "who"\n'
        '[[rule]]\npath = "place"\ndo = "keep"\n[window]\nevery = "1 day"\nzone = "UTC"\n'
        '[[guarantee]]\nkind = "distinct"\npaths = ["place"]\nk = 2\nfails = "field"\n'
    )

    assert main(["events", "run", str(policy), people[1], people[2], *lock]) == 0

    assert "3 events have no time that can be read" in capsys.readouterr().err


def test_another_stream_under_one_release_is_told_what_to_do(tmp_path, people, lock, capsys):
    policy, source, out = people
    assert main(["events", "run", policy, source, out, *lock]) == 0
    Path(policy).write_text(PEOPLE.replace('name = "whom"', 'name = "whose"'))

    assert main(["events", "run", policy, source, str(tmp_path / "other"), *lock]) == 1

    assert "another release, or --stream a name" in capsys.readouterr().err


@pytest.mark.slow
def test_a_followed_file_is_stopped_by_a_signal_and_gone_on_with(tmp_path, people, lock):
    """The run ends with exit code 0; what was appended meanwhile comes when it goes on."""
    path, out = Path(people[1]), Path(people[2])
    lines = path.read_bytes()
    for turn in (1, 2):
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, "events", "run", *people, "--follow", *lock],
            stderr=subprocess.PIPE,
        )
        until(lambda: out.exists() and out.read_bytes().count(b"\n") == 3 * turn)  # noqa: B023 # at once
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0
        assert b"rotations: 0" in said
        with path.open("ab") as file:
            file.write(lines)
    assert out.read_bytes()[: len(out.read_bytes()) // 2] * 2 == out.read_bytes()
    del tmp_path


@pytest.mark.slow
def test_a_stopped_run_says_so_and_goes_on(tmp_path, people, lock):
    """A first interrupt ends it at a block, with exit code 130; the same command ends the work."""
    path, out = Path(people[1]), Path(people[2])
    path.write_bytes(path.read_bytes() * 100_000)
    command = [sys.executable, "-c", COMMAND, "events", "run", *people, *lock]
    process = subprocess.Popen([*command, "--checkpoint-seconds", "0"], stderr=subprocess.PIPE)
    partial = out.with_name(out.name + ".partial")
    until(lambda: partial.exists() and partial.stat().st_size)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    if process.returncode:  # else it was faster than we
        assert process.returncode == 130
        assert b"Interrupted" in said or b"Stopped" in said or b"stopped" in said
        assert not out.exists()
        subprocess.run(command, check=True, capture_output=True)

    assert out.read_bytes().count(b"\n") == 300_000
    del tmp_path


def until(told):
    end = time.monotonic() + 60
    while not told():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


def test_names_that_free_text_does_not_find_are_warned_of(tmp_path, lock, capsys):
    """Without a table of names the names of people stay; a rule that has one says nothing."""
    policy = 'halfmask-events = 1\nrelease = "notes"\n[[rule]]\npath = "note"\ndo = "free-text"\n'
    (tmp_path / "notes.jsonl").write_text('{"note": "Ann Lee called, ann@x.org"}\n')
    words = [str(tmp_path / name) for name in ("notes.toml", "notes.jsonl", "out.jsonl")]
    (tmp_path / "names.csv").write_text("name\nAnn Lee\n")
    said = []
    for more in ("", 'people = "staff"\n'):
        (tmp_path / "notes.toml").write_text(policy + more)
        if more:
            table = ["events", "table", "set", "staff", str(tmp_path / "names.csv")]
            assert main([*table, "--kind", "names", *lock]) == 0
        capsys.readouterr()
        assert main(["events", "run", *words, *lock, "--overwrite", "--restart"]) == 0
        said.append(capsys.readouterr().err)

    assert "names of people stay in the free text of rule 1 (note)" in said[0]
    assert "names of people stay" not in said[1]
