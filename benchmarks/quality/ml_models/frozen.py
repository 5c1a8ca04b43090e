"""Bars and a table of cells that were measured seed by seed beside ai-privacy-toolkit."""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeAlias

from bars import Bar
from ml_models.intervals import Mean
from ml_models.methods import OURS
from ml_models.plan import KS, RAW, TOOLKIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ml_models.grid import Place

Cell: TypeAlias = dict[str, Any]

TOOLKITS = TOOLKIT
CENTROID = "centroid"
TRANSFORMED = "centroid, transformed"
ARMS = (RAW, "raw, regularized", *TOOLKITS, CENTROID, TRANSFORMED, OURS)
PUBLISHED = Path(__file__).resolve().parent / "published_259c19c.csv"
#: Of the accuracy of an attack above one half, which is half of its advantage.
MOST_EXCESS = 0.04


def bars(cells: list[Cell], papers: Sequence[Place], recoded: Sequence[Place]) -> list[Bar]:
    """Return the bars that issue 31 set."""
    ours = [cell for cell in cells if cell["arm"] == OURS]
    counted = [c for c in cells if c["arm"] in (OURS, CENTROID, TRANSFORMED)]
    below = sum(cell["smallest_class"] < cell["k"] for cell in counted)
    told = max((cell["advantage"] / 2 for cell in ours), default=None)
    behind = {
        arm: [_ahead(cells, place, k, arm) for place in recoded for k in KS]
        for arm in (OURS, TRANSFORMED)
    }
    return [
        _bar("outputs of ours with a class below k", below if counted else None, 0, counted),
        *_beside_published(cells, papers),
        *(_significant(arm, found) for arm, found in behind.items()),
        _bar(
            "attack minus control, ours, the worst", None if told is None else told / 2, 0.04, ours
        ),
    ]


def _bar(name: str, value: float | None, goal: float, cells: list[Any], why: str = "") -> Bar:
    said = why or f"{len(cells)} fits"
    return Bar(name=name, value=value, goal=goal, side="at most", why=said)


def _beside_published(cells: list[Cell], papers: Sequence[Place]) -> list[Bar]:
    """Compare means over cells with those published: as they are, and both less the raw model."""
    plain, less_raw = [], []
    for place, raw, by_k in _published():
        for k, old in by_k.items():
            values = _by_seed(cells, place, k, OURS)
            raws = _by_seed(cells, place, 0, RAW)
            if place in papers and values:
                new, new_raw = fmean(values.values()), fmean(raws[seed] for seed in values)
                plain.append(old - new)
                less_raw.append((old - raw) - (new - new_raw))
    name = "points below the published search, mean over the paper's cells"
    return [
        _bar(each, 100 * fmean(found) if found else None, 0.5, found, f"{len(found)} cells")
        for each, found in ((name, plain), (f"{name}, less raw", less_raw))
    ]


def _significant(arm: str, found: list[Mean | None]) -> Bar:
    there = [each for each in found if each is not None]
    whole = [each for each in there if each.seeds >= 5]
    sure = [each for each in there if each.high is not None and each.high < 0]
    why = (
        f"{len(there)} cells, {len(whole)} of five seeds; behind on average in "
        f"{sum(each.mean < 0 for each in there)}; "
        f"ahead by {100 * fmean([each.mean for each in there] or [0]):.2f} points on average"
    )
    name = f"cells with {arm} significantly below ai-privacy-toolkit, all columns recoded"
    return _bar(name, len(sure) if there else None, 0, there, why)


def _ahead(cells: list[Cell], place: Place, k: int, arm: str) -> Mean | None:
    """Return how far an arm is ahead of the better of the toolkit's ways, seed by seed."""
    values, found = _by_seed(cells, place, k, arm), []
    for other in TOOLKITS:
        others = _by_seed(cells, place, k, other)
        both = sorted(values.keys() & others.keys())
        if both:
            found.append(Mean.of([values[seed] - others[seed] for seed in both]))
    return min(found, key=lambda each: each.mean) if found else None


def _by_seed(
    cells: list[Cell], place: Place, k: int, arm: str, figure: str = "score"
) -> dict[int, float]:
    wanted = (*place, k, arm)
    names = ("data", "qi", "model", "k", "arm")
    return {c["seed"]: c[figure] for c in cells if tuple(c[name] for name in names) == wanted}


def _published() -> list[tuple[Place, float, dict[int, float]]]:
    with PUBLISHED.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    return [
        (
            (row["data"], row["qi"], row["model"]),
            float(row["raw"]),
            {k: float(row[str(k)]) for k in KS},
        )
        for row in rows
    ]


def table(cells: list[Cell]) -> str:
    """Return a line a place, over all k: accuracy, percent, and the worst attack advantage."""
    lines = [
        "| place | seeds | " + " | ".join(ARMS) + " | ahead of the toolkit, by k | advantage |"
    ]
    lines += ["|---" * (len(ARMS) + 4) + "|"]
    for place in dict.fromkeys((c["data"], c["qi"], c["model"]) for c in cells):
        here = [c for c in cells if (c["data"], c["qi"], c["model"]) == place]
        done = {(c["seed"], c["k"]) for c in here if c["arm"] == OURS}
        seeds = {seed for seed, _ in done}
        here = [c for c in here if (c["seed"], c["k"]) in done | {(seed, 0) for seed in seeds}]
        shown = [_shown([c["score"] for c in here if c["arm"] == arm]) for arm in ARMS]
        ahead = [_points(_ahead(cells, place, k, OURS)) for k in KS]
        told = [c["advantage"] for c in here if c["arm"] == OURS]
        named = f"{place[0]} {place[1]} {place[2]}"
        most = f"{100 * max(told):.1f}" if told else "-"
        parts = [named, str(len(seeds)), *shown, "; ".join(ahead), most]
        lines.append("| " + " | ".join(parts) + " |")
    return "\n".join(lines)


def _shown(scores: list[float]) -> str:
    return f"{100 * fmean(scores):.1f}" if scores else "-"


def _points(ahead: Mean | None) -> str:
    if ahead is None:
        return "-"
    half = "" if ahead.low is None else f" ± {100 * (ahead.mean - ahead.low):.1f}"
    return f"{100 * ahead.mean:+.1f}{half}"
