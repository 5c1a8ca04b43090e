"""A trainer in a process of its own, as company B runs it."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

from halfmask.trainer.store import open_lists
from halfmask.vault.private_files import write_private

COMMAND = [sys.executable, "-c", "import sys; from halfmask.cli import main; sys.exit(main())"]
SCOPES = ("read", "predict", "learn", "admin")


class Said(NamedTuple):
    """The output of a command."""

    status: int
    out: str
    err: str


@dataclass(frozen=True)
class Trainer:
    """A trainer that listens."""

    url: str
    folder: Path
    kill: Callable[[], None]

    @classmethod
    @contextmanager
    def started(cls, folder: Path, *, port: int = 0) -> Iterator[Self]:
        """Start one over a folder, and end it."""
        command = [*COMMAND, "serve", str(folder / "store"), f"--port={port}", "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as it:
            assert it.stdout is not None
            try:
                yield cls(json.loads(it.stdout.readline())["address"], folder, it.kill)
            finally:
                it.terminate()

    def token_file(self, *scopes: str) -> Path:
        """Return the file of a new token."""
        file = self.folder / f"token{secrets.token_hex(4)}"
        # As halfmask serve token create does it, without a process for each.
        database, tokens = open_lists(self.folder / "store", create=False)
        made = tokens.create(client="a", tenant="a", scopes=frozenset(scopes or SCOPES))[1]
        database.close()
        write_private(file, made.encode("ascii"))
        return file

    def token(self, *scopes: str) -> str:
        return self.token_file(*scopes).read_text(encoding="ascii").strip()
