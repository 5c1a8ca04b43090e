"""Run our command as its users do, in a process of its own, and count its seconds and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import workloads


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
    with tempfile.TemporaryFile("w+") as stderr:
        start = time.perf_counter()
        child = subprocess.Popen(
            [program, *arguments],
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            env=os.environ | (environment or {}),
        )
        # wait4 counts this child alone; getrusage(RUSAGE_CHILDREN) would take the largest of all
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        stderr.seek(0)
        said = stderr.read()
    return Run(
        seconds=seconds,
        peak_gigabytes=usage.ru_maxrss / 1024**2,
        exit_code=child.returncode,
        stderr=said,
    )


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
    lines += [f'towards = ["{workloads.LABEL}"]'] * (method == "guided")
    lines += ["[recoding]", 'name = "ranges"', "[suppression]", "max_fraction = 0.02"]
    return "\n".join([*lines, "[output]", 'format = "parquet"', ""])
