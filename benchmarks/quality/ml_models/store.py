"""What was measured so far: a JSON line for each cell, kept from run to run.

A cell counts as done only for the same code (the git trees of `src` and of this benchmark, and
what is changed in them) and the same settings.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[3]
CODE = ("src/halfmask", "benchmarks/quality")
WORK = ("src", "benchmarks")
FIELDS = ("kind", "data", "qi", "model", "method", "k", "seed")


@dataclass(frozen=True, slots=True)
class Key:
    """Which cell: what was measured of which data, quasi-identifiers, model, method, k and seed."""

    kind: str
    data: str
    qi: str
    model: str
    method: str
    k: int
    seed: int


@dataclass(slots=True)
class Store:
    """The lines of one file, by key."""

    file: Path
    version: str
    lines: dict[Key, dict[str, Any]] = field(default_factory=dict)

    def load(self) -> None:
        """Read the lines of this version again; a line that was cut off is no line."""
        self.lines = {}
        if not self.file.exists():
            return
        for text in self.file.read_text(encoding="utf-8").splitlines():
            try:
                line = json.loads(text)
            except json.JSONDecodeError:
                continue
            if line["version"] == self.version:
                self.lines[Key(*(line[name] for name in FIELDS))] = line

    def add(self, key: Key, **measured: object) -> None:
        """Append a line in one write, which other processes' writes don't part."""
        named = {name: getattr(key, name) for name in FIELDS}
        line = named | {"version": self.version} | measured
        self.lines[key] = line
        self.file.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(file, (json.dumps(line) + "\n").encode())
        finally:
            os.close(file)


def version_of(settings: dict[str, object]) -> str:
    """Return a name for the code and the settings."""
    trees = [_git("rev-parse", f"HEAD:{folder}") for folder in CODE]
    changed = _git("diff", "HEAD", "--", *CODE)
    told = json.dumps([trees, changed, settings], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def commit() -> str:
    """Return the commit, with a mark if the work tree differs from it: by new files, too."""
    dirty = "-dirty" if _git("status", "--porcelain", "--", *WORK) else ""
    return _git("rev-parse", "--short=12", "HEAD") + dirty


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()
