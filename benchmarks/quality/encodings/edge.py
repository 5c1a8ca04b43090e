"""The frontier: accuracy that codecs keep, beside what attacks recover, as pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from frontier import Frontier, frontier
from frontier_picture import frontier_picture
from sklearn.datasets import load_breast_cancer

import workloads
from halfmask.encode import Codec

ROWS = 5_000
PRIVATE = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week", "workclass",
           "marital-status", "occupation", "income")  # fmt: skip


def frontiers(*, quick: bool, seed: int) -> dict[str, Frontier]:
    """Measure the frontier of breast cancer data, and of Adult."""
    cancer = load_breast_cancer()
    numbers = {
        str(name).replace(" ", "_"): cancer.data[:, place]
        for place, name in enumerate(cancer.feature_names[:10])
    }
    table = pl.DataFrame(numbers).with_columns(pl.Series("ill", cancer.target.astype(str)))
    if quick:
        few = [Codec(learner="trees"), Codec(learner="networks", strength=2.0)]
        return {"breast-cancer": frontier(table, target="ill", codecs=few, random_state=seed)}
    adult = pl.read_csv(workloads.ADULT_CSV).select(PRIVATE)[:ROWS]
    return {
        "breast-cancer": frontier(table, target="ill", random_state=seed),
        "adult": frontier(adult, target="income", random_state=seed),
    }


def measure(*, quick: bool, seed: int) -> dict[str, Any]:
    """Return the frontiers as tables; that they are drawn is the bar."""
    found = frontiers(quick=quick, seed=seed)
    parts = []
    for name, edge in found.items():
        lines = [
            f"| {point.name} | {point.plain:.3f} | {point.encoded:.3f} "
            f"| {'-' if point.k50 is None else point.k50} "
            f"| {_of(point.recovered, 'encodings/known-plaintext: variance')} "
            f"| {_of(point.recovered, 'encodings/population-sample')} |"
            for point in edge.points
        ]
        steps = sorted({k for point in edge.points for k in point.curve})
        curves = [
            f"| {point.name} | " + " | ".join(f"{point.curve.get(k, 0):.2f}" for k in steps) + " |"
            for point in edge.points
        ]
        told = "\n\n| known rows | " + " | ".join(map(str, steps)) + " |\n|"
        told += "---|" * (len(steps) + 1) + "\n" + "\n".join(curves)
        refused = f"\n\nRefused: {', '.join(edge.refused)}." if edge.refused else ""
        head = (
            f"{name}, {edge.rows:,} rows, {edge.known} known\n\n| codec | plain | encoded | k50 | "
            "variance from known rows | from a sample |\n|---|---|---|---|---|---|\n"
        )
        parts.append(head + "\n".join(lines) + told + refused)
    points = sum(len(edge.points) for edge in found.values())
    return {
        "points of the frontiers": {"value": points, "goal": ">= 1", "holds": points >= 1},
        "tables": "\n\n".join(parts),
        "figures": {f"encoding-{name}": frontier_picture(edge) for name, edge in found.items()},
    }


def _of(recovered: Mapping[str, float], start: str) -> str:
    return next((f"{v:.3f}" for name, v in recovered.items() if name.startswith(start)), "-")
