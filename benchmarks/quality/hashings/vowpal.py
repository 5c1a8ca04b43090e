"""Vowpal Wabbit on the same rows in the same order, in its own venv."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import peers
from bars import Bar

__all__ = ["ABSENT", "losses_of", "missed", "there"]

PEER = Path(__file__).resolve().parents[1] / "peer_vowpal_wabbit.py"
ABSENT = "Vowpal Wabbit isn't installed: python benchmarks/peers.py --only vowpalwabbit"


def there() -> bool:
    return peers.python_of("vowpalwabbit") is not None


def missed(what: str) -> list[Bar]:
    """Return a bar that doesn't hold, where there is nothing to hold it against."""
    if there():
        return []
    name = f"{what} beside Vowpal Wabbit"
    return [Bar(name=name, value=None, goal=0, side="at most", why=ABSENT)]


def losses_of(runs: list[str]) -> list[float]:
    """Return the mean progressive loss of each run: its options, with the file to learn from."""
    python = peers.python_of("vowpalwabbit")
    if python is None:
        raise RuntimeError(ABSENT)
    jobs = json.dumps([f"--no_stdin {options}" for options in runs])
    done = subprocess.run([python, PEER], input=jobs, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return [float(each) for each in found]
