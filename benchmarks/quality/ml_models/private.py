"""Differentially private models, each trained in a venv of its own, for comparison only.

A forest by diffprivlib, a network by opacus (DP-SGD). They get the encoded rows as arrays (the
forest a number for each category) and write probabilities, which are kept on disk. The network is
NN(100), not the large one: the paper's epsilon and delta, today's library.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from peers import DEFAULT_INTO, python_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ml_models.encoding import Encoder, Matrix
    from ml_models.scene import Scene

TIMEOUT_SECONDS = 900
DELTA = 1e-5
HERE = Path(__file__).resolve().parent


def peer_for(model: str) -> str:
    """Return whose model stands for one of ours."""
    return "diffprivlib" if model == "rf" else "opacus"


def absent(model: str) -> str:
    """Say what is missing; empty if nothing is."""
    peer = peer_for(model)
    there = python_of(peer, DEFAULT_INTO) is not None
    return "" if there else f"no venv of {peer} (run benchmarks/peers.py)"


def private_probabilities(scene: Scene, method: str) -> list[NDArray[np.float64]]:
    """Train on the raw rows with differential privacy; return what it says of each part's rows.

    All three parts (train, held back, test) are asked about, whoever asks: a figure and a table
    that have the same private model train it once.
    """
    queries = [scene.train, scene.encoder.encode(scene.split.held_back), scene.test]
    settings: dict[str, object] = {
        "epsilon": float(method.split("=")[1]),
        "delta": DELTA,
        "seed": scene.group.seed,
        "n_classes": int(scene.dataset.labels.max()) + 1,
    }
    peer = peer_for(scene.group.model)
    shown = _coded if peer == "diffprivlib" else _as_they_are
    arrays: dict[str, NDArray[Any]] = {
        "rows": shown(scene.train, scene.encoder),
        "labels": scene.split.y_train,
        "queries": shown(np.vstack(queries), scene.encoder),
    }
    script = HERE / f"peer_{peer}.py"
    digest = hashlib.sha256(script.read_bytes() + json.dumps(settings, sort_keys=True).encode())
    for array in arrays.values():
        digest.update(np.ascontiguousarray(array).tobytes())
    out = scene.cache / peer / f"{digest.hexdigest()[:24]}.npy"
    if not out.exists():
        _run(script, arrays, settings, out)
    said = np.load(out, allow_pickle=False)
    return np.split(said, np.cumsum([len(query) for query in queries])[:-1])


def _as_they_are(rows: Matrix, encoder: Encoder) -> Matrix:  # noqa: ARG001 # as `_coded`
    return rows


def _coded(rows: Matrix, encoder: Encoder) -> NDArray[np.float64]:
    """Return a number a category: splits of a random tree find nothing among a hundred columns."""
    numbers = [rows[:, place] for place in range(len(encoder.numeric))]
    codes = [rows[:, list(encoder.columns_of(name))].argmax(axis=1) for name in encoder.categorical]
    return np.column_stack([*numbers, *codes]).astype(np.float64)


def _run(
    script: Path, arrays: dict[str, NDArray[Any]], settings: dict[str, object], out: Path
) -> None:
    peer = script.stem.removeprefix("peer_")
    python = python_of(peer, DEFAULT_INTO)
    if python is None:
        message = f"no venv of {peer} (run benchmarks/peers.py)"
        raise RuntimeError(message)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        given, written = Path(folder) / "given.npz", Path(folder) / "said.npy"
        np.savez(given, **arrays)  # type: ignore[arg-type] # its keywords are arrays
        job = settings | {"given": str(given), "out": str(written)}
        done = subprocess.run(
            [python, "-W", "ignore", script],
            input=json.dumps(job),
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_SECONDS,
        )
        if done.returncode != 0:
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            message = f"{peer} failed: {reason}"
            raise RuntimeError(message)
        unfinished = out.with_suffix(".unfinished")
        unfinished.write_bytes(written.read_bytes())
        unfinished.replace(out)
