"""Run a peer in its own venv and read what it says.

A part of the scripts that have peers; not run by itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import loss
import workloads
from peers import python_of

HERE = Path(__file__).resolve().parent
RUNS = 5
SECONDS = 20.0  # no further run of a peer is started once it took this long
TIMEOUT_SECONDS = 1_800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one peer did with one job."""

    peer: str
    seconds: float
    runs: int
    peak_megabytes: float
    rows_suppressed: int
    classes: int | None = None
    smallest_class: int | None = None
    loss: float | None = None
    value: float | None = None


def anonymize(peer: str, frame: pl.DataFrame, *, k: int, into: Path) -> Outcome | None:
    """Let a peer anonymize `frame`; None, with the reason on stderr, if it can't."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "classes.csv"
        line = _run(peer, frame, Path(folder), into, k=k, out=str(out))
        if line is None:
            return None
        classes = pl.read_csv(out, schema={"row": pl.Float64, "class": pl.Int64}).cast(pl.Int64)
    lost = loss.granularity_loss(
        frame,
        quasi_identifiers=workloads.QUASI_IDENTIFIERS,
        rows=classes["row"].to_numpy(),
        classes=classes["class"].to_numpy(),
    )
    sizes = classes["class"].value_counts()["count"]
    smallest = int(sizes.min()) if len(sizes) else None  # type: ignore[arg-type]
    return _outcome(peer, line, classes=len(sizes), smallest_class=smallest, loss=lost)


def judge(frame: pl.DataFrame, *, task: str, into: Path) -> Outcome | None:
    """Let pycanon measure k, l or t of `frame`; None, with the reason on stderr, if it can't."""
    with tempfile.TemporaryDirectory() as folder:
        line = _run("pycanon", frame, Path(folder), into, task=task)
    return None if line is None else _outcome("pycanon", line, value=line["value"])


def _outcome(peer: str, line: dict[str, Any], **more: Any) -> Outcome:  # noqa: ANN401 # Outcome's fields
    names = ("seconds", "runs", "peak_megabytes", "rows_suppressed")
    return Outcome(peer=peer, **{name: line[name] for name in names}, **more)


def _run(
    peer: str, frame: pl.DataFrame, folder: Path, into: Path, **job: object
) -> dict[str, Any] | None:
    python = python_of(peer, into)
    if python is None:
        print(f"  {peer}: SKIPPED, no venv (run benchmarks/peers.py)", file=sys.stderr)
        return None
    frame.write_csv(folder / "table.csv")
    job |= {
        "data": str(folder / "table.csv"),
        "runs": RUNS,
        "seconds": SECONDS,
        "quasi_identifiers": workloads.QUASI_IDENTIFIERS,
        "numeric": workloads.NUMERIC,
        "label": workloads.LABEL,
        "hierarchies": workloads.hierarchies(frame),
    }
    (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
    script = HERE / f"peer_{peer.replace('-', '_')}.py"
    done = subprocess.run(
        [python, "-W", "ignore", script, folder / "job.json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
    )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        print(f"  {peer}: FAILED: {reason}", file=sys.stderr)
        return None
    return json.loads(done.stdout.strip().splitlines()[-1])  # type: ignore[no-any-return]
