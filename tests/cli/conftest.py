"""The command as a person starts it, and a small table whose cells are all canaries."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import halfmask
from halfmask.cli import main

#: Stands in every cell and in the name of every folder: nothing that is said may hold it.
CANARY = "CANARY"

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that starts the tests in the background lets them, and all that they start, ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

POLICY = """\
halfmask = 1
[columns.name]
role = "identifier"
[columns.age]
role = "quasi_identifier"
kind = "numeric"
[columns.town]
role = "quasi_identifier"
kind = "categorical"
[columns.illness]
role = "sensitive"
kind = "categorical"
[[guarantees]]
model = "k-anonymity"
k = 4
[[guarantees]]
model = "distinct-l-diversity"
l = 2
column = "illness"
"""
HEADER = "name,age,town,illness"


def people(n: int) -> str:
    """Return a CSV file of n people."""
    rng = random.Random(7)
    rows = [
        f"CANARY-name{i},{rng.randint(18, 80)},CANARY-town{rng.randint(0, 5)},CANARY-ill{i % 5}"
        for i in range(n)
    ]
    return "\n".join([HEADER, *rows]) + "\n"


@dataclass(frozen=True)
class Answer:
    """What a command said."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one object on standard output."""
        assert self.out.count("\n") == 1, "one object on one line"
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


@dataclass(frozen=True)
class Desk:
    """A folder with a table and a policy, whose path is a canary, too."""

    folder: Path

    @property
    def table(self) -> Path:
        return self.folder / "people.csv"

    @property
    def policy(self) -> Path:
        return self.folder / "policy.toml"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def protect(self, *options: str) -> list[str]:
        return ["protect", str(self.table), str(self.policy), str(self.out), *options]

    def names(self) -> list[str]:
        """The names of all that is there, hidden ones too."""
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    folder = tmp_path / f"{CANARY}-folder"
    folder.mkdir()
    desk = Desk(folder)
    desk.table.write_text(people(80))
    desk.policy.write_text(POLICY)
    return desk


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Run the command in this process."""

    def run(*words: object) -> Answer:
        capsys.readouterr()
        status = main([str(word) for word in words])
        said = capsys.readouterr()
        return Answer(status=status, out=said.out, err=said.err)

    return run


COMMAND = "import sys; from halfmask.cli import main; sys.exit(main())"


@pytest.fixture
def start() -> Callable[..., Answer]:
    """Run the command, or other code, in a process of its own that finds the halfmask tested."""
    source = Path(halfmask.__file__).parents[1]
    surroundings = {**os.environ, "PYTHONPATH": str(source), "COLUMNS": "100"}

    def start(*words: object, stdin: bytes = b"", code: str = COMMAND) -> Answer:
        done = subprocess.run(
            [sys.executable, "-c", code, *map(str, words)],
            input=stdin,
            capture_output=True,
            check=False,
            env=surroundings,
            timeout=300,
        )
        return Answer(status=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())

    return start
