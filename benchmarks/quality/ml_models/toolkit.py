"""ai-privacy-toolkit, in its venv: what it makes of the training rows, kept on disk.

`toolkit` is what its users get: the tree grows on all attributes. `toolkit-qi` grows it on the
quasi-identifiers alone, as the paper says. Its own switch for that picks wrong columns where there
are categories (it indexes the encoded columns by the numbers of the raw ones), so there the rows
are encoded before and it is told which columns belong together, which it does right.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ml_models.task import Anonymized
from peers import DEFAULT_INTO, python_of

if TYPE_CHECKING:
    from ml_models.task import Task

PEER = "ai-privacy-toolkit"
TIMEOUT_SECONDS = 900
SCRIPT = Path(__file__).resolve().parent / "peer_toolkit.py"


def toolkit(task: Task) -> Anonymized:
    """Its default: a tree on all attributes, led by the model's labels."""
    return _anonymized(task, only_quasi_identifiers=False)


def toolkit_qi(task: Task) -> Anonymized:
    """A tree on the quasi-identifiers alone, led by the model's labels."""
    return _anonymized(task, only_quasi_identifiers=True)


def available() -> bool:
    """Return whether its venv is made."""
    return python_of(PEER, DEFAULT_INTO) is not None


def _anonymized(task: Task, *, only_quasi_identifiers: bool) -> Anonymized:
    predictions = pl.Series("prediction", task.predictions)
    given = task.train.with_columns(predictions).write_csv()
    settings = {
        "quasi_identifiers": sorted(task.quasi_identifiers),
        "categorical": list(task.encoder.categorical),
        "only_quasi_identifiers": only_quasi_identifiers,
    }
    told = json.dumps(settings, sort_keys=True) + given
    key = hashlib.sha256(SCRIPT.read_bytes() + told.encode()).hexdigest()[:24]
    outs = {k: task.cache / "toolkit" / f"{key}-{k}.csv" for k in {*task.ks, task.k}}
    missing = {k: out for k, out in outs.items() if not out.exists()}
    if task.k in missing:
        _run(given, settings, missing)
    types = {name: task.train.schema[name] for name in task.train.columns}
    done = pl.read_csv(outs[task.k], schema_overrides=types)
    return Anonymized(rows=done.select(task.train.columns))


def _run(given: str, settings: dict[str, object], outs: dict[int, Path]) -> None:
    """Let it anonymize a table for each k; each output is there whole or not at all."""
    python = python_of(PEER, DEFAULT_INTO)
    if python is None:
        message = f"no venv of {PEER} (run benchmarks/peers.py)"
        raise RuntimeError(message)
    next(iter(outs.values())).parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        table.write_text(given, encoding="utf-8")
        job = settings | {"data": str(table), "outs": {str(k): str(o) for k, o in outs.items()}}
        done = subprocess.run(
            [python, "-W", "ignore", SCRIPT],
            input=json.dumps(job),
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_SECONDS,
        )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        message = f"{PEER} failed: {reason}"
        raise RuntimeError(message)
