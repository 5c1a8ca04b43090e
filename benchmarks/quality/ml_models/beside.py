"""Differences of test accuracy, seed by seed: beside the toolkit, and with one training each."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from ml_models.grid import Cell
from ml_models.methods import OURS
from ml_models.plan import KS, TOOLKIT

if TYPE_CHECKING:
    from ml_models.grid import Grid, Place
    from ml_models.intervals import Mean

FAMILIES = ("networks", "Adult's and Nursery's others", "the loans' others")
#: Led by the raw model, trained once, the paper's representative; and who is as modest.
AT_ONCE = "guided-record"
MODEST = (("workload-aware",), TOOLKIT)
NETWORKS: tuple[Place, ...] = (("adult", "12", "nn"), ("loan", "18", "nn"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How far one cell is ahead of the best of some methods at the same place and k."""

    cell: Cell
    others: tuple[str, ...]
    ahead: Mean

    @property
    def name(self) -> str:
        return f"{self.cell.data} {self.cell.qi} {self.cell.model} k={self.cell.k}"

    @property
    def family(self) -> str:
        """The kind of model and data: what is won and lost differs by it."""
        if self.cell.model == "nn":
            return FAMILIES[0]
        return FAMILIES[2] if self.cell.data == "loan" else FAMILIES[1]

    @property
    def behind(self) -> bool:
        return self.ahead.mean < 0

    @property
    def surely_behind(self) -> bool:
        """Whether it is by the 95 % interval over seeds; one seed has none."""
        return self.ahead.high is not None and self.ahead.high < 0

    @property
    def surely_ahead(self) -> bool:
        return self.ahead.low is not None and self.ahead.low > 0

    def as_json(self) -> dict[str, Any]:
        cell = self.cell
        named = {"data": cell.data, "quasi_identifiers": cell.qi, "model": cell.model, "k": cell.k}
        methods = {"method": cell.method, "others": list(self.others)}
        return named | methods | {"ahead": self.ahead.as_json()}


def beside_the_toolkit(grid: Grid) -> list[Difference]:
    """Return how far `OURS` is ahead of the toolkit everywhere, the better of its two ways."""
    cells = [Cell(*place, OURS, k) for place in grid.scenes() for k in KS]
    found = [_difference(grid, cell, TOOLKIT) for cell in cells]
    return [each for each in found if each is not None]


def with_one_training(grid: Grid) -> list[Difference]:
    """Return how far `AT_ONCE` is ahead of methods that train once, with a like representative."""
    found = [
        _difference(grid, Cell(*place, AT_ONCE, k), others)
        for place in NETWORKS
        for others in MODEST
        for k in KS
    ]
    return [each for each in found if each is not None]


def _difference(grid: Grid, cell: Cell, others: tuple[str, ...]) -> Difference | None:
    ahead = grid.least_ahead(cell, others)
    return None if ahead is None else Difference(cell=cell, others=others, ahead=ahead)


def counted(differences: list[Difference]) -> dict[str, Any]:
    """Count who is behind, and by how much at most."""
    least = min(differences, key=lambda each: each.ahead.mean)
    return {
        "cells": len(differences),
        "behind": sum(each.behind for each in differences),
        "surely_behind": sum(each.surely_behind for each in differences),
        "surely_ahead": sum(each.surely_ahead for each in differences),
        "least": least.ahead.mean,
        "least_at": least.name,
        "mean": fmean(each.ahead.mean for each in differences),
    }


def by_family(differences: list[Difference]) -> dict[str, dict[str, Any]]:
    """Count the same for each family that has cells."""
    parts = {name: [each for each in differences if each.family == name] for name in FAMILIES}
    return {name: counted(part) for name, part in parts.items() if part}


def one_training_lines(differences: list[Difference]) -> list[str]:
    """Write the differences with one training as a Markdown table, in points."""
    lines = [
        f"| `{AT_ONCE}` is ahead of | {' | '.join(f'k={k}' for k in KS)} |",
        "|---" * (len(KS) + 1) + "|",
    ]
    for place in NETWORKS:
        for others in MODEST:
            by_k = {
                each.cell.k: each.ahead
                for each in differences
                if (each.cell.place, each.others) == (place, others)
            }
            if by_k:
                better = others[0] if len(others) == 1 else f"the better of {' and '.join(others)}"
                shown = " | ".join(_points(by_k.get(k)) for k in KS)
                lines.append(f"| {better}, {place[0]} | {shown} |")
    return lines


def _points(ahead: Mean | None) -> str:
    if ahead is None:
        return "-"
    half = "" if ahead.low is None else f" ± {100 * (ahead.mean - ahead.low):.2f}"
    return f"{100 * ahead.mean:+.2f}{half}"
