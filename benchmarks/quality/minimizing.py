"""How much of Adult a model needs: Minimizer, and ai-privacy-toolkit's beside it.

A forest is trained on 20,000 rows of Adult; both get the same further rows and the same target,
0.98 of the forest's own predictions, and both ask the very same forest, as plain arrays. Then
fresh rows judge: does the promise hold, how much information is left, how long did it take. The
peer generalizes by the cells of a tree; a form can only ask for one partition a feature, so its
penalty is shown both ways. `--quick` does without the peer.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import pandas as pd
import polars as pl
from plain_forest import PlainForest, write
from sklearn.ensemble import RandomForestClassifier

import halfmask as hm
import workloads
from bars import Bar, report, say
from peers import DEFAULT_INTO, python_of

NUMERIC = ["age", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
TRAINED, FRESH = 20_000, 12_000
TARGET = 0.98
TREES = 20
TIMES_FASTER = 10.0
TIMEOUT_SECONDS = 3_600.0
SEED = 0


@dataclass(frozen=True, kw_only=True)
class Task:
    """The forest, the rows to learn from and the rows that judge."""

    forest: PlainForest
    rows: pd.DataFrame
    fresh: pd.DataFrame
    folder: Path

    def kept(self, written: pd.DataFrame) -> float:
        """Return the share of fresh rows whose prediction is that of the row as it was."""
        return float((self.forest.predict(written) == self.forest.predict(self.fresh)).mean())


def prepared(folder: Path, n_rows: int) -> Task:
    """Train the forest and set the tables apart."""
    adult = pl.read_csv(workloads.ADULT_CSV)
    names = [*NUMERIC, *(q for q in workloads.QUASI_IDENTIFIERS if q not in NUMERIC)]
    order = np.random.default_rng(SEED).permutation(adult.height)
    label = workloads.label_codes(adult)
    frame = adult.select(names).to_pandas()
    categories = {n: sorted(frame[n].unique()) for n in names if n not in NUMERIC}
    blank = PlainForest({"columns": names, "categories": categories, "trees": []})
    model = RandomForestClassifier(
        TREES, min_samples_leaf=5, max_depth=14, random_state=SEED, n_jobs=1
    )
    model.fit(blank.transform(frame.iloc[order[:TRAINED]]), label[order[:TRAINED]])
    write(model, names, categories, folder / "forest.json")
    parts = np.split(order, [TRAINED, TRAINED + n_rows, TRAINED + n_rows + FRESH])
    rows, fresh = (frame.iloc[part].reset_index(drop=True) for part in parts[1:3])
    forest = PlainForest.read(folder / "forest.json")
    right = (forest.predict(fresh) == label[parts[2]]).mean()
    say(f"forest of {TREES} trees, {right:.4f} right on {len(fresh)} fresh rows")
    return Task(forest=forest, rows=rows, fresh=fresh, folder=folder)


def ours(task: Task) -> tuple[hm.Minimizer, float, float]:
    """Return the fitted minimizer, the seconds that it took, and what it keeps of fresh rows."""
    start = time.perf_counter()
    # the peer makes something of a category that it never saw, too
    minimizer = hm.Minimizer(
        task.forest, target_accuracy=TARGET, unseen="commonest", random_state=SEED
    )
    minimizer.fit(task.rows)
    seconds = time.perf_counter() - start
    kept = task.kept(minimizer.transform(task.fresh))
    say(f"ours    {seconds:8.1f} s  keeps {kept:.4f} of fresh rows. {minimizer.sentence}")
    say(f"        not needed: {', '.join(minimizer.generalizations_.not_needed)}")
    return minimizer, seconds, kept


def peers(task: Task, into: Path) -> dict[str, Any] | None:
    """Return what ai-privacy-toolkit does with the task; None, with the reason said, if nothing."""
    python = python_of("ai-privacy-toolkit", into)
    if python is None:
        say("ai-privacy-toolkit: SKIPPED, no venv (run benchmarks/peers.py)")
        return None
    task.rows.to_csv(task.folder / "rows.csv", index=False)
    task.fresh.to_csv(task.folder / "fresh.csv", index=False)
    names = {"forest": "forest.json", "rows": "rows.csv", "fresh": "fresh.csv", "out": "out.csv"}
    job = {key: str(task.folder / name) for key, name in names.items()} | {"target": TARGET}
    (task.folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
    script = Path(__file__).with_name("peer_minimizer.py")
    command = [python, "-W", "ignore", script, task.folder / "job.json"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS
    )
    if done.returncode != 0:
        say(f"ai-privacy-toolkit: FAILED: {(done.stderr.strip().splitlines() or ['?'])[-8:]}")
        return None
    said: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    written = pd.read_csv(task.folder / "out.csv", keep_default_na=False)[task.forest.columns]
    said["kept"] = task.kept(written)
    say(
        f"toolkit {said['seconds']:8.1f} s  keeps {said['kept']:.4f} of fresh rows. NCP "
        f"{said['ncp_of_cells']:.3f} of {said['cells']} cells ({said['placed']:.0%} of the rows "
        f"have one), {said['ncp_of_features']:.3f} of one partition a feature; "
        f"its own figure {said['its_own_ncp']:.4f}"
    )
    say(f"        not needed: {', '.join(said['dropped']) or 'none'}")
    return said


def bars(*, quick: bool, rows: int, into: Path) -> list[Bar]:
    """Run the task and say what holds."""
    with tempfile.TemporaryDirectory() as folder:
        task = prepared(Path(folder), rows)
        minimizer, seconds, kept = ours(task)
        said = None if quick else peers(task, into)
    found = [
        Bar(name="share of predictions kept on fresh rows", value=kept, goal=TARGET,
            side="at least"),
        Bar(name="bits a person left of those before", value=minimizer.bits_[1]
            / minimizer.bits_[0], goal=0.8, side="at most"),
    ]  # fmt: skip
    if quick:
        return found
    why = "" if said else "ai-privacy-toolkit wasn't measured"
    ncp_cells = minimizer.ncp_ / said["ncp_of_cells"] if said else None
    ncp_features = minimizer.ncp_ / said["ncp_of_features"] if said else None
    more = len(minimizer.generalizations_.not_needed) - len(said["dropped"]) if said else None
    faster = said["seconds"] / seconds if said else None
    named: list[tuple[str, float | None, float]] = [
        ("information given up (NCP) over the peer's cells", ncp_cells, 1.0),
        ("information given up (NCP) over the peer's partitions", ncp_features, 1.0),
        ("features dropped beyond the peer's", more, 0.0),
        ("times faster than the peer", faster, TIMES_FASTER),
    ]
    found += [
        Bar(name=name, value=value, goal=goal, side="at least", why=why)
        for name, value, goal in named
    ]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="no peer, under a minute")
    parser.add_argument("--rows", type=int, default=3_000, help="rows to learn from")
    parser.add_argument("--into", type=Path, default=DEFAULT_INTO, help="the peers' venvs")
    arguments = parser.parse_args()
    report(bars(quick=arguments.quick, rows=arguments.rows, into=arguments.into))


if __name__ == "__main__":
    main()
