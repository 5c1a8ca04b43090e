"""halfmask events describe and verify: a proposal to edit, reports beside an output, no value."""

from __future__ import annotations

import json
import tomllib

import pytest

from halfmask.vault import KeyFile, Vault

CANARY = "CANARY"


@pytest.fixture
def events(tmp_path):
    """A file of events whose texts are canaries, in a folder that is one."""
    folder = tmp_path / f"{CANARY}-folder"
    folder.mkdir()
    lines = [
        {
            "time": f"2014-09-04T{i % 24:02}:00:00Z",
            "user": f"{CANARY}{i % 30}",
            "via": f"{CANARY}{i % 2}",
            "n": i,
            "m": {f"{CANARY}-{i % 40}-{j}": i for j in range(12)},
        }
        for i in range(300)
    ]
    path = folder / "in.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + "no\n")
    return path


@pytest.mark.slow
def test_describe_shows_paths_and_reasons(run, events):
    """People read paths, kinds and reasons, and no value."""
    answer = run("events", "describe", events)

    # Where kernels aren't compiled yet, that is said on standard error.
    assert answer.status == 0
    assert CANARY not in answer.err
    assert "300 events; 6 paths" in answer.out
    for path in ("time", "user", "via", "n", "m.*"):
        assert f"\n{path} " in answer.out
    assert "The entity is taken from user." in answer.out
    assert "1 lines are no events: not-json." in answer.out
    assert CANARY not in answer.out
    assert CANARY not in run("events", "describe", events, "-v").out


@pytest.mark.slow
def test_describe_answers_programs(run, events):
    """With --json one object says the same."""
    answer = run("events", "describe", events, "--json", "--sample", 100)

    said = answer.json
    assert (said["ok"], said["events"], said["whole"]) == (True, 100, False)
    assert [it["path"] for it in said["fields"]] == ["time", "user", "via", "n", "m", "m.*"]
    assert CANARY not in answer.out


@pytest.mark.slow
def test_describe_writes_a_policy_that_runs_and_verifies(run, events, tmp_path):
    """The proposal as it stands goes through run; manifest and report lie beside the output."""
    policy, out = tmp_path / "policy.toml", tmp_path / "out.jsonl"
    Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "key"))
    lock = ["--vault", tmp_path / "vault", "--key-file", tmp_path / "key"]

    assert run("events", "describe", events, "-o", policy, "--release", "r").status == 0
    assert CANARY not in policy.read_text()
    assert run("events", "describe", events, "-o", policy, "--release", "r").status == 1
    assert (
        run("events", "describe", events, "-o", policy, "--overwrite", "--release", "r").status == 0
    )
    assert run("events", "run", policy, events, out, *lock, "--on-error", "skip").status == 0
    assert CANARY not in (tmp_path / "out.jsonl.manifest.json").read_text()
    assert f"{CANARY}0" not in (tmp_path / "out.jsonl.report.html").read_text()
    found = run("events", "verify", out)
    assert (found.status, found.err) == (0, "")
    assert "Nothing in the 300 lines speaks against the manifest. It isn't signed" in found.out
    assert run("events", "verify", out, "--json").json["holds"]


@pytest.mark.slow
def test_verify_says_what_is_wrong(run, events, tmp_path):
    """Exit code 1, in words and as JSON; run again, a whole run leaves its reports alone."""
    policy, out = tmp_path / "policy.toml", tmp_path / "out.jsonl"
    Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "key"))
    lock = ["--vault", tmp_path / "vault", "--key-file", tmp_path / "key"]
    run("events", "describe", events, "-o", policy, "--release", "r")
    words = ["events", "run", policy, events, out, *lock, "--on-error", "skip"]
    run(*words)
    before = (tmp_path / "out.jsonl.manifest.json").read_bytes()
    assert run(*words).status == 0
    assert (tmp_path / "out.jsonl.manifest.json").read_bytes() == before

    out.write_text(out.read_text().replace('"time":', f'"{CANARY}":', 1))
    found = run("events", "verify", out)
    assert found.status == 1
    assert "isn't what its manifest says" in found.out
    assert CANARY not in found.out
    said = run("events", "verify", out, "--json").json
    assert (said["ok"], said["holds"], said["code"]) == (False, False, "verification")
    (tmp_path / "out.jsonl.manifest.json").unlink()
    assert run("events", "verify", out).status == 1


@pytest.mark.slow
def test_without_reports(run, events, tmp_path):
    """--no-report writes the output alone."""
    policy, out = tmp_path / "policy.toml", tmp_path / "out.jsonl"
    Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "key"))
    lock = ["--vault", tmp_path / "vault", "--key-file", tmp_path / "key"]
    run("events", "describe", events, "-o", policy, "--release", "r")
    run("events", "run", policy, events, out, *lock, "--on-error", "skip", "--no-report")

    assert [it.name for it in tmp_path.glob("out*")] == ["out.jsonl"]


@pytest.mark.slow
def test_describe_to_standard_output(run, events):
    """With -o - the policy is all that is written; with --json, too, it is refused."""
    answer = run("events", "describe", events, "-o", "-")

    assert tomllib.loads(answer.out)["halfmask-events"] == 1
    assert run("events", "describe", events, "-o", "-", "--json").status == 2
    assert run("events", "describe", events.with_name("nothing")).status == 1


@pytest.mark.slow
def test_a_release_without_a_name_is_refused(run, events, tmp_path):
    """Keys follow from the release: the proposal's own word isn't one for them."""
    policy, out = tmp_path / "policy.toml", tmp_path / "out.jsonl"
    Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "key"))
    lock = ["--vault", tmp_path / "vault", "--key-file", tmp_path / "key"]

    described = run("events", "describe", events, "-o", policy)
    assert "name its release" in described.out
    answer = run("events", "run", policy, events, out, *lock, "--on-error", "skip", "--json")
    assert (answer.status, answer.json["code"]) == (1, "policy")
    assert "has no name yet" in answer.json["error"]
    assert "release = " in answer.json["hint"]
    assert not list(tmp_path.glob("out*"))

    policy.write_text(policy.read_text().replace("name-this-release", "calls"))
    assert run("events", "run", policy, events, out, *lock, "--on-error", "skip").status == 0


@pytest.mark.parametrize("name", ["", "a\nb", "\udcff", "x" * 1_001])
def test_a_release_that_no_policy_takes(run, events, tmp_path, name):
    """It is refused before the events are read."""
    answer = run("events", "describe", events, "-o", tmp_path / "p.toml", "--release", name)

    assert (answer.status, answer.out) == (2, "")
    assert not (tmp_path / "p.toml").exists()


@pytest.mark.slow
def test_a_release_that_is_named(run, events, tmp_path):
    """It stands in the policy as it was given."""
    named = run("events", "describe", events, "-o", tmp_path / "p.toml", "--release", 'a "word"')

    assert "name its release" not in named.out
    assert tomllib.loads((tmp_path / "p.toml").read_text())["release"] == 'a "word"'


GUARANTEED = """
halfmask-events = 1
release = "r"
[stream]
time = "time"
entity = "user"
[window]
every = "1 day"
zone = "UTC"
[[rule]]
path = "via"
do = "keep"
[[guarantee]]
kind = "distinct"
paths = ["via"]
k = 5
fails = "field"
"""


@pytest.mark.slow
def test_verify_says_what_is_promised_and_by_which_policy(run, events, tmp_path):
    """The promises are read line by line; another policy's are told from them."""
    policy, out = tmp_path / "policy.toml", tmp_path / "out.jsonl"
    policy.write_text(GUARANTEED)
    Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "key"))
    lock = ["--vault", tmp_path / "vault", "--key-file", tmp_path / "key"]
    run("events", "run", policy, events, out, *lock, "--on-error", "skip")

    found = run("events", "verify", out, "--policy", policy)
    assert found.status == 0
    assert "distinct 1: k = 5 of via in 1 window. Counted in events; for entities only" in found.out
    assert "only the manifest states it; the fewest are 150" in found.out
    assert "and it claims what the policy requires." in found.out
    policy.write_text(GUARANTEED.replace("k = 5", "k = 6"))
    found = run("events", "verify", out, "--policy", policy)
    assert found.status == 1
    assert "the manifest isn't what the policy requires" in found.out
    said = run("events", "verify", out, "--policy", policy, "--json").json
    assert (said["ok"], said["policy"]["holds"]) == (False, False)
    assert said["claims"][0]["guarantee"] == "k = 5 of via"
    policy.write_text("halfmask = 1")
    wrong = run("events", "verify", out, "--policy", policy)
    assert (wrong.status, wrong.out) == (1, "")
    assert "halfmask protect" in wrong.err


def test_a_run_that_wrote_nothing_warns(run, events, tmp_path):
    """On standard error, in JSON and in the report; the exit code is 0, and the input is there."""
    policy, out = tmp_path / "policy.toml", tmp_path / "out.jsonl"
    policy.write_text(
        'halfmask-events = 1\nrelease = "r"\n[[rule]]\npath = "nobody.has"\ndo = "keep"\n'
    )
    Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "key"))
    lock = ["--vault", tmp_path / "vault", "--key-file", tmp_path / "key"]
    words = ["events", "run", policy, events, out, *lock, "--on-error", "skip"]

    said = run(*words)
    assert said.status == 0
    assert "Warning: Nothing was written but 300 empty lines." in said.err
    assert "--restart --overwrite" in said.err
    assert "No event had the path of rule 1 (nobody.has)" in said.err
    page = (tmp_path / "out.jsonl.report.html").read_text()
    assert "Nothing was written but 300 empty lines." in page
    assert run(*words, "--json").json["warnings"]

    policy.write_text(policy.read_text().replace("nobody.has", "via"))
    again = run(*words, "--restart", "--overwrite")
    assert (again.status, "Warning" in again.err) == (0, False)
    assert len(out.read_text().splitlines()) == 300
