"""What it costs to flip the same rows with ART's attacks, and how long those take."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from bars import Bar, say
from halfmask.assess.robustness import CostToFlip, cost_to_flip
from halfmask.assess.robustness._black_box import flip_by_labels
from peers import python_of
from quality.hostile.models import BOOSTING, FOREST, LOGISTIC, TREE, model_of
from quality.hostile.tables import Split, adult, unit_budget

if TYPE_CHECKING:
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
PEER = Path(__file__).resolve().parent.parent / "peer_art.py"
#: How many rows each attack gets, by model.
HSJ = "HopSkipJump"
ASKED = {
    TREE: {HSJ: 100, "ZOO": 20, "DecisionTreeAttack": 100},
    LOGISTIC: {HSJ: 100, "ZOO": 20},
    FOREST: {HSJ: 40, "ZOO": 20},
    BOOSTING: {HSJ: 40, "ZOO": 20},
}
TIMES_FASTER = 100.0
#: Ours gets these rows, and further ones: ART takes as long for each row, ours shares work.
OURS = 1_000
#: ART's rows are in single precision.
NEAR = 1e-6
#: What the attacker knows. Like ART, who asks writes any number between 0 and 1 here.
KNOWN: dict[str, Callable[..., CostToFlip]] = {
    "the model": cost_to_flip,
    "labels alone": partial(flip_by_labels, only_seen=False),
}


def measure(*, quick: bool, seed: int) -> tuple[list[Bar], str]:
    """Flip the same rows of Adult's five numbers with both."""
    if quick:
        return [], "Not measured."
    split = adult(seed, numbers_only=True)
    said = peer(split)
    if said is None:
        why = "ART wasn't measured: run benchmarks/peers.py"
        return [Bar(name="ART", value=None, goal=0, side="at least", why=why)], ""
    seconds, changed = said
    lines = [
        "| model | attack | rows | ms a row | median cost | mean cost | flipped |",
        "|---|---|---|---|---|---|---|",
    ]
    dearer, faster = dict.fromkeys(KNOWN, 0), dict.fromkeys(KNOWN, np.inf)
    for name, counts in ASKED.items():
        model, n = model_of(name).fit(split.rows, split.labels), counts[HSJ]
        asked = split.held[:n]
        if not np.array_equal(model.predict(split.held[:100]), changed[f"{name}/predicted"]):
            raise RuntimeError("both venvs must fit the same model")
        best = np.full(n, np.inf)
        for attack, count in counts.items():
            key = f"{name}/{attack}"
            costs = _costs(model, asked[:count], changed[key])
            best[:count] = np.minimum(best[:count], costs)
            lines.append(_line(name, f"ART {attack}", costs, seconds[key] / count))
        for knows, attack in KNOWN.items():
            attack(model, asked[:10], unit_budget(), seen=split.rows)  # compiled before it is timed
            start = time.process_time()
            found = attack(model, split.held[:OURS], unit_budget(), seen=split.rows).found
            taken = (time.process_time() - start) / OURS
            lines.append(_line(name, f"ours, by {knows}", found[:n], taken))
            dearer[knows] += int((found[:n] > best + NEAR).sum())
            faster[knows] = min(faster[knows], seconds[f"{name}/{HSJ}"] / n / taken)
    why = f"the least of four models; ours on {OURS:,} rows"
    rows, bars = sum(it[HSJ] for it in ASKED.values()), []
    for knows in KNOWN:
        bars += [
            Bar(name=f"rows of {rows} that cost more than by ART, by {knows}",
                value=dearer[knows], goal=0, side="at most"),
            Bar(name=f"times faster than HopSkipJump, by {knows}", value=faster[knows],
                goal=TIMES_FASTER, side="at least", why=why),
        ]  # fmt: skip
    return bars, "\n".join(lines)


def _costs(model: Any, rows: pl.DataFrame, changed: Floats) -> Floats:  # noqa: ANN401 # scikit-learn's
    """Return what ART's changes cost; infinite where they don't flip our model."""
    after = pl.DataFrame(changed.astype(np.float64), schema=rows.schema)
    flips = model.predict(after) != model.predict(rows)
    return np.where(flips, np.abs(after.to_numpy() - rows.to_numpy()).max(axis=1), np.inf)


def _line(name: str, attack: str, costs: Floats, seconds: float) -> str:
    found = costs[np.isfinite(costs)]
    middle, mean = (f"{np.median(costs):.4f}", f"{found.mean():.4f}") if len(found) else ("", "")
    return (
        f"| {name} | {attack} | {len(costs)} | {1_000 * seconds:.3f} | {middle} "
        f"| {mean} | {len(found) / len(costs):.0%} |"
    )


def peer(split: Split) -> tuple[dict[str, float], Any] | None:
    """Return the seconds and the rows of ART's attacks; None, with the reason said, if nothing."""
    python = python_of("art")
    if python is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npz"
        held = split.held[:100].to_numpy()
        np.savez(path, rows=split.rows.to_numpy(), labels=split.labels, held=held)
        command = [python, PEER, path, json.dumps(ASKED)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            say(done.stderr[-1_000:])
            return None
        with np.load(path.with_name("changed.npz")) as found:
            return json.loads(done.stdout.splitlines()[-1]), dict(found)
