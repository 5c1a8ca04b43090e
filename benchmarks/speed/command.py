"""Run our command as its users do, in a process of its own, and count its seconds and memory.

A part of the scripts that run commands; not run by itself.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import workloads

LAUNCHER = Path(__file__).resolve().parent / "launcher.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a command took and said."""

    seconds: float
    peak_gigabytes: float
    exit_code: int
    stderr: str


def halfmask(*arguments: str | Path, environment: dict[str, str] | None = None) -> Run:
    """Run `halfmask` of the environment that runs this."""
    program = Path(sys.executable).parent / "halfmask"
    done = subprocess.run(
        [sys.executable, "-S", LAUNCHER, program, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | (environment or {}),
    )
    return Run(**json.loads(done.stdout), stderr=done.stderr)


def policy(method: str, *, sensitive: Sequence[str] = (), k: int = 10) -> str:
    """A policy for our workloads; `sensitive` columns get l-diversity of 2."""
    lines = ["halfmask = 1"]
    for name in (*workloads.QUASI_IDENTIFIERS, workloads.LABEL):
        kind = "numeric" if name in workloads.NUMERIC else "categorical"
        role = "quasi_identifier" if name in workloads.QUASI_IDENTIFIERS else "insensitive"
        role = "sensitive" if name in sensitive else role
        lines += [f'[columns."{name}"]', f'role = "{role}"', f'kind = "{kind}"']
        lines += ["label = true"] * (name == workloads.LABEL)
    lines += ["[[guarantees]]", 'model = "k-anonymity"', f"k = {k}"]
    for name in sensitive:
        model = 'model = "distinct-l-diversity"'
        lines += ["[[guarantees]]", model, "l = 2", f'column = "{name}"']
    lines += ["[method]", f'name = "{method}"']
    lines += [f'split_targets = ["{workloads.LABEL}"]'] * (method == "guided")
    lines += ["[recoding]", 'name = "ranges"', "[suppression]", "max_fraction = 0.02"]
    return "\n".join([*lines, "[output]", 'format = "parquet"', ""])
