"""What each kind of job compiles in its first run: CPU seconds, kernels, and which took longest.

    python benchmarks/speed/compiling.py [--quick] [KIND ...]

Each kind runs twice in processes of its own, with one cache for both: the first run compiles, the
second must not. Kinds are the cases of `tools/goldens.py`, and models, `explore` and `assess risk`.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "benchmarks"), str(ROOT / "tools")]

import goldens  # noqa: E402 # by the path above
import halfmask as hm  # noqa: E402 # the same
from bars import Bar, report, say  # noqa: E402 # the same

MOST_SECONDS = 5.0
QUICK = ("classes-mondrian", "masked", "tables", "hashed")
KINDS = (
    "classes-mondrian",
    "classes-guided",
    "classes-mdav",
    "classes-full-domain",
    "masked",
    "synthetic-full",
    "epsilon",
    "private-rows",
    "answer",
    "tables",
    "encoded-trees",
    "series",
    "hashed",
    "events-jsonl",
    "train",
    "explore",
    "assess-risk",
)


def train(_out: Path) -> None:
    """Train a tree on protected people."""
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415 # only this kind needs it

    rows = goldens.people().select("age", "wage", "ill")
    model = hm.AnonymizedEstimator(
        DecisionTreeClassifier(random_state=0), guarantees=[hm.KAnonymity(k=20)]
    )
    model.fit(rows.select("age", "wage"), rows["ill"].to_numpy())


def explore(out: Path) -> None:
    """Try policies of the table of the goldens."""
    _command(out, "explore", "people.csv", "policy.toml", "--json")


def assess_risk(out: Path) -> None:
    """Count who is unique."""
    _command(out, "assess", "risk", "people.csv", "--quasi-identifiers", "age,town", "--json")


def _command(out: Path, *words: str) -> None:
    goldens.people().write_csv(out / "people.csv")
    (out / "policy.toml").write_text(goldens.policy(goldens.GUARANTEES).to_toml())
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        if goldens.halfmask([*words]):
            raise SystemExit(1)


CASES = {**goldens.CASES, "train": train, "explore": explore, "assess-risk": assess_risk}


def run_here(kind: str) -> None:
    """Run a kind in this process; print what was compiled, as JSON."""
    from numba.core import event  # noqa: PLC0415 # only here

    class Compiled(event.Listener):
        """Adds up the seconds of kernels, without those that are compiled for others."""

        def __init__(self) -> None:
            self.open: list[float] = []
            self.seconds: dict[str, float] = {}
            self.kernels = 0

        def on_start(self, event: Any) -> None:  # noqa: ANN401, ARG002 # numba's
            self.open.append(time.thread_time())

        def on_end(self, event: Any) -> None:  # noqa: ANN401 # numba's
            took, self.kernels = time.thread_time() - self.open.pop(), self.kernels + 1
            if not self.open:
                name = event.data["dispatcher"].py_func.__name__
                self.seconds[name] = self.seconds.get(name, 0.0) + took

    compiled = Compiled()
    with tempfile.TemporaryDirectory() as out, contextlib.chdir(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with event.install_listener("numba:compile", compiled):
            CASES[kind](Path(out))
    longest = sorted(compiled.seconds.items(), key=lambda it: -it[1])[:3]
    said = {"seconds": sum(compiled.seconds.values()), "kernels": compiled.kernels}
    print(json.dumps({**said, "longest": {name: round(it, 1) for name, it in longest}}))


def bars(kind: str) -> list[Bar]:
    """Run a kind twice with one new cache."""
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = (
            json.loads(
                subprocess.run(
                    [sys.executable, __file__, "--here", kind],
                    check=True,
                    capture_output=True,
                    text=True,
                    env={**os.environ, "NUMBA_CACHE_DIR": cache},
                ).stdout.splitlines()[-1]
            )
            for _ in range(2)
        )
    say(f"{kind}: {cold['seconds']:.1f} s, {cold['kernels']} kernels, {cold['longest']}")
    return [
        Bar(name=f"{kind}: seconds", value=cold["seconds"], goal=MOST_SECONDS, side="at most"),
        Bar(name=f"{kind}: compiled again", value=warm["kernels"], goal=0, side="at most"),
    ]


def main() -> None:
    """Measure the kinds that are asked for, a few, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--here", metavar="KIND", help="run a kind in this process")
    asked = parser.parse_args()
    if asked.here:
        run_here(asked.here)
        return
    report([bar for kind in asked.kinds or (QUICK if asked.quick else KINDS) for bar in bars(kind)])


if __name__ == "__main__":
    main()
