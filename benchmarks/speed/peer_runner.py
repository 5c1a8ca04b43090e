"""What every peer's runner shares: the job it reads, the runs, the one line that it prints.

A part of the peers' scripts; not run by itself.

Runs inside the peer's venv (Python 3.8 or later, pandas and numpy of any age), so it uses nothing
else. A job is a JSON file: `data` (CSV), `out` (CSV of row and class), `k`, `runs`, `seconds` (no
further run is started once this long was spent), `quasi_identifiers`, `numeric`, `label`,
`hierarchies`, and `task` for a peer that does several things.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd


def read_job() -> dict:
    """Read the job that the command line names."""
    return json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))


def read_table(job: dict, *, categories: str = "object") -> pd.DataFrame:
    """Read the job's table: numbers as integers, everything else as `categories`, `?` as it is."""
    frame = pd.read_csv(job["data"], keep_default_na=False)
    names = [*job["quasi_identifiers"], job["label"]]
    for name in names:
        if name not in job["numeric"]:
            frame[name] = frame[name].astype(categories)
    return frame[names]


def time_runs(
    job: dict, prepare: Callable[[], Any], run: Callable[[Any], Any]
) -> tuple[list[float], Any]:
    """Time `run(prepare())` until the runs are done or the time is spent; the last result too."""
    seconds = []
    result = None
    while len(seconds) < job["runs"] and (not seconds or sum(seconds) < job["seconds"]):
        given = prepare()
        # some peers print as they go; stdout is for our one line
        with contextlib.redirect_stdout(sys.stderr):
            start = time.perf_counter()
            result = run(given)
            seconds.append(time.perf_counter() - start)
    return seconds, result


def report(
    job: dict,
    seconds: list[float],
    rows: int,
    *,
    classes: pd.DataFrame | None = None,
    value: float | None = None,
) -> None:
    """Write the class of every released row, if any, and print the runner's one line."""
    released = rows
    if classes is not None:
        classes.to_csv(job["out"], index=False)
        released = len(classes)
    line = {
        "seconds": sorted(seconds)[len(seconds) // 2],
        "runs": len(seconds),
        "peak_megabytes": _peak_megabytes(),
        "rows": rows,
        "rows_suppressed": rows - released,
        "value": value,
    }
    print(json.dumps(line))


def number_classes(released: pd.DataFrame, quasi_identifiers: list) -> pd.Series:
    """Number the rows that share all their released quasi-identifiers."""
    return released.groupby(quasi_identifiers, sort=False, observed=True).ngroup()


def _peak_megabytes() -> float:
    """Return this process's own peak; getrusage would count the memory of who started it."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return float("nan")
