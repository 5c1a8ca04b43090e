"""A run that is killed at any point: the next one goes on, and the bytes are the same."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time

import pytest

from events.visits import POLICY, straight, visits  # type: ignore[import-not-found] # beside

COMMAND = "import sys; from halfmask.cli import main; sys.exit(main(sys.argv[1:]))"
KILLS, REPEATS = 4, 60


@pytest.fixture
def words(tmp_path, vault):
    """The command, for a stream with bad lines in it."""
    lines = visits(4_000) * REPEATS
    for at in range(500, len(lines), 9_973):
        lines[at] = b"bad\n"
    (tmp_path / "in.jsonl").write_bytes(b"".join(lines))
    (tmp_path / "policy.toml").write_text(POLICY.to_toml())
    found = [str(tmp_path / name) for name in ("policy.toml", "in.jsonl", "out.jsonl")]
    more = ["--vault", str(tmp_path / "vault"), "--key-file", str(tmp_path / "key")]
    letters = ["--on-error", "skip", "--dead-letters", str(tmp_path / "letters")]
    del vault
    return ["events", "run", *found, *more, *letters, "--checkpoint-seconds", "0", "--json"]


@pytest.mark.slow
def test_kills_leave_no_trace(tmp_path, vault, words):
    """Once while it starts, then when so much is written: the end is as without."""
    rng, partial = random.Random(5), tmp_path / "out.jsonl.partial"
    data = (tmp_path / "in.jsonl").read_bytes()
    wanted = straight(data, vault)
    for number in range(KILLS):
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *words], stdout=subprocess.DEVNULL
        )
        until_written(partial, len(wanted) * number // (KILLS + 1), process)
        time.sleep(rng.uniform(0, 0.01))
        process.kill()
        process.wait(60)
        assert not (tmp_path / "out.jsonl").exists()
    done = subprocess.run([sys.executable, "-c", COMMAND, *words], capture_output=True, check=True)

    summary = json.loads(done.stdout)
    letters = [json.loads(line) for line in (tmp_path / "letters").read_text().splitlines()]
    assert (tmp_path / "out.jsonl").read_bytes() == wanted
    assert summary["resumed"]
    assert summary["events"] == wanted.count(b"\n")
    assert [each["line"] for each in letters] == [
        at + 1 for at, line in enumerate(data.splitlines()) if line == b"bad"
    ]


def until_written(path, size, process):
    end = time.monotonic() + 120
    while not path.exists() or path.stat().st_size <= size:
        assert process.poll() is None, "it ended before it was killed"
        assert time.monotonic() < end, "nothing was written"
        time.sleep(0.002)
