"""Figures 2 to 5 as SVG: test accuracy by k, with 95 % intervals over seeds.

The paper's own curves are pictures without numbers in its text, so they can't be drawn beside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ml_models.curves import curves
from ml_models.grid import Cell, Grid
from ml_models.plan import KS, RAW

if TYPE_CHECKING:
    from pathlib import Path

    from ml_models.facts import Facts
    from ml_models.grid import Place

CLASSIC = ("guided", "toolkit", "mondrian")
GUIDES = ("guided", "guided-centroid", "guided-record", "workload-aware", "toolkit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure of the paper: its panels, and the methods in it."""

    name: str
    title: str  # in braces how many quasi-identifiers its first and its last panel have
    panels: tuple[Place, ...]
    methods: tuple[str, ...]


FIGURES = (
    Figure(
        name="figure_2",
        title="Adult, NN, by quasi-identifiers",
        panels=(("adult", "8", "nn"), ("adult", "10", "nn"), ("adult", "12", "nn")),
        methods=CLASSIC,
    ),
    Figure(
        name="figure_3",
        title="Adult by model: {first} quasi-identifiers for NN, else {last} (selected attributes)",
        panels=tuple(("adult", "8", model) for model in ("nn", "gb", "dt", "rf")),
        methods=CLASSIC,
    ),
    Figure(
        name="figure_4",
        title="Lending Club, {first} quasi-identifiers, NN",
        panels=(("loan", "18", "nn"),),
        methods=CLASSIC,
    ),
    Figure(
        name="figure_5",
        title="Guided by the model against workload-aware, NN",
        panels=(("adult", "12", "nn"), ("loan", "18", "nn")),
        methods=GUIDES,
    ),
)


def draw(grid: Grid, out: Path, facts: Facts) -> dict[str, str]:
    """Draw every figure of which something was measured; return what was drawn and what not."""
    done = {}
    for figure in FIGURES:
        recoded = {place: facts.how_many(place, grid.seeds(place)) for place in figure.panels}
        points = _points(grid, figure, recoded)
        if not points:
            done[figure.name] = "not drawn: nothing of it was measured"
            continue
        path = out / f"{figure.name}.svg"
        ends = {"first": recoded[figure.panels[0]], "last": recoded[figure.panels[-1]]}
        title = figure.title.format(**ends)
        path.write_text(curves(points, title), encoding="utf-8")
        done[figure.name] = path.name
    return done


def _points(grid: Grid, figure: Figure, recoded: dict[Place, str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for panel in figure.panels:
        raw = grid.mean(Cell(*panel, RAW, 0))
        for method in (RAW, *figure.methods):
            for k in KS:
                mean = raw if method == RAW else grid.mean(Cell(*panel, method, k))
                if mean is None:
                    continue
                rows.append(
                    {
                        "panel": f"{panel[0]}, {recoded[panel]} QI, {panel[2]}",
                        "method": method,
                        "k": k,
                        "accuracy": mean.mean,
                        "low": mean.mean if mean.low is None else mean.low,
                        "high": mean.mean if mean.high is None else mean.high,
                    }
                )
    return rows
