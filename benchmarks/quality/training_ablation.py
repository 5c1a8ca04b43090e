"""What each part of training on anonymized people earns: an ablation on small samples.

Seeds 101 to 103 are for choosing: what is kept in `halfmask` may be chosen by what they show.
Seeds 901 to 905 are frozen: no commit may look at them before the final measurement, and nothing
may be chosen by them afterwards.

`--cells` appends one line of JSON a cell to a file, and skips the cells that are there already;
`--summarize` prints the table of such a file. The last line of standard output is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import polars as pl
from ablation.arms import ARMS, Setup
from ablation.scene import Scene, measured
from ablation.tables import TABLES
from sklearn.naive_bayes import GaussianNB

from bars import say
from halfmask.guarantees import KAnonymity
from halfmask.training import AnonymizedEstimator

if TYPE_CHECKING:
    from collections.abc import Iterator

CHOOSING_SEEDS = (101, 102, 103)
FROZEN_SEEDS = (901, 902, 903, 904, 905)
MODELS = ("forest", "boosting", "network", "lightgbm")
KS = (10, 100, 500)
ROWS = 6_000
QUICK = {"tables": ("nursery",), "models": ("forest",), "ks": (100,), "rows": 900}

Cell = dict[str, Any]


def main() -> None:
    options = _options()
    cells = _read(options.cells)
    if not options.summarize:
        _load_kernels()
    started = time.monotonic()
    for cell in _wanted(options):
        if options.minutes and time.monotonic() - started > 60 * options.minutes:
            say("out of time: the rest isn't measured")
            break
        found = _of(cell, options.arms, cells, rows=options.rows)
        cells += found
        _append(options.cells, found)
    print(table(cells))
    by_model = {name: _by_arm([c for c in cells if c["model"] == name]) for name in MODELS}
    shown = {"cells": len(cells), "arms": _by_arm(cells), "models": by_model}
    print(json.dumps(shown))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one small cell, in seconds")
    parser.add_argument("--cells", type=Path, help="a file of cells, read and appended to")
    parser.add_argument("--summarize", action="store_true", help="measure nothing")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(CHOOSING_SEEDS[:1]))
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS[:3]))
    parser.add_argument("--ks", type=int, nargs="+", default=list(KS))
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--minutes", type=float, help="start no cell after so long")
    options = parser.parse_args()
    if options.quick:
        vars(options).update(QUICK)
    return options


def _load_kernels() -> None:
    """Fit once: the first fit of a process compiles, or loads what was compiled."""
    rows = np.random.default_rng(0).normal(size=(200, 2))
    model = AnonymizedEstimator(GaussianNB(), guarantees=[KAnonymity(k=5)])
    model.fit(pl.DataFrame(rows).with_columns(text=pl.lit("a")), rows[:, 0] > 0)


def _wanted(options: argparse.Namespace) -> Iterator[tuple[str, str, int, int]]:
    if options.summarize:
        return
    for seed, name, model, k in product(options.seeds, options.tables, options.models, options.ks):
        yield name, model, k, seed


def _of(
    cell: tuple[str, str, int, int], arms: list[str], known: list[Cell], *, rows: int
) -> list[Cell]:
    name, model, k, seed = cell
    there = {tuple(each[key] for key in ("table", "model", "k", "seed", "arm")) for each in known}
    table = TABLES[name]()
    setup = Setup(Scene.of(table, model, seed=seed, k=k, rows=rows))
    found = []
    for arm in arms:
        if (*cell, arm) in there:
            continue
        started = time.monotonic()
        setup.spent.clear()
        said = ARMS[arm](setup)
        spent = {"cpu": round(setup.spent[0], 3)} if setup.spent else {}
        figures = measured(said, setup.scene.y, setup.scene.y_test, seed=seed)
        seconds = round(time.monotonic() - started, 2)
        where = {"table": name, "model": model, "k": k, "seed": seed, "arm": arm}
        found.append(where | figures | spent | {"seconds": seconds})
        say(f"{name} {model} k={k} seed={seed} {arm}: {figures} {spent} in {seconds} s")
    return found


def _read(path: Path | None) -> list[Cell]:
    if path is None or not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _append(path: Path | None, cells: list[Cell]) -> None:
    if path is not None:
        with path.open("a", encoding="utf-8") as lines:
            lines.writelines(json.dumps(cell) + "\n" for cell in cells)


def _by_arm(cells: list[Cell]) -> dict[str, dict[str, float]]:
    """Return the mean of each figure over all cells that an arm has."""
    found = {}
    for arm in dict.fromkeys(cell["arm"] for cell in cells):
        own = [cell for cell in cells if cell["arm"] == arm]
        found[arm] = {
            figure: round(fmean(cell[figure] for cell in own), 4)
            for figure in ("score", "loss", "advantage")
        }
        found[arm] |= _times(own, cells)
    return found


def _times(own: list[Cell], cells: list[Cell]) -> dict[str, float]:
    """Return how often the raw model could have been fitted meanwhile: mean and most."""
    raw = {_place(cell): cell["cpu"] for cell in cells if cell["arm"] == "raw" and "cpu" in cell}
    times = [c["cpu"] / raw[_place(c)] for c in own if "cpu" in c and _place(c) in raw]
    return {"times": round(fmean(times), 2), "most": round(max(times), 2)} if times else {}


def _place(cell: Cell) -> tuple[Any, ...]:
    return tuple(cell[key] for key in ("table", "model", "k", "seed"))


def table(cells: list[Cell]) -> str:
    """Return one table a model: points of score against "Guided, centroid", by table and k."""
    lines: list[str] = []
    for model in dict.fromkeys(cell["model"] for cell in cells):
        own = [cell for cell in cells if cell["model"] == model]
        places = list(dict.fromkeys((cell["table"], cell["k"]) for cell in own))
        lines += [f"\n{model}: score, percent (loss; attack advantage, percent)\n"]
        lines += ["| arm | " + " | ".join(f"{name}, k={k}" for name, k in places) + " |"]
        lines += ["|---" * (len(places) + 1) + "|"]
        for arm in dict.fromkeys(cell["arm"] for cell in own):
            shown = [_shown([c for c in own if c["arm"] == arm], place) for place in places]
            lines += [f"| {arm} | " + " | ".join(shown) + " |"]
    return "\n".join(lines)


def _shown(cells: list[Cell], place: tuple[str, int]) -> str:
    there = [cell for cell in cells if (cell["table"], cell["k"]) == place]
    if not there:
        return "-"
    score, loss, told = (
        fmean(c[figure] for c in there) for figure in ("score", "loss", "advantage")
    )
    return f"{100 * score:.1f} ({loss:.3f}; {100 * told:.1f})"


if __name__ == "__main__":
    main()
