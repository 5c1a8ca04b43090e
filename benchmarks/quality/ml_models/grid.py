"""Accuracies by data set, quasi-identifiers, model, method and k: one number a seed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from ml_models.intervals import Mean
from ml_models.plan import RAW

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ml_models.store import Store

#: A data set, the name of its quasi-identifiers, and a model.
Place: TypeAlias = tuple[str, str, str]

MEASURES = ("test", "train", "test_transformed", "seconds", "classes", "smallest_class")


@dataclass(frozen=True, slots=True)
class Cell:
    """A place in the grid, over all seeds."""

    data: str
    qi: str
    model: str
    method: str
    k: int

    @property
    def place(self) -> Place:
        """Return where it stands: all but the method and k."""
        return self.data, self.qi, self.model


@dataclass(frozen=True, slots=True)
class Grid:
    """For each cell and seed what was measured."""

    lines: dict[Cell, dict[int, dict[str, Any]]]

    @classmethod
    def of(cls, store: Store) -> Grid:
        """Take the accuracies of a store."""
        lines: dict[Cell, dict[int, dict[str, Any]]] = {}
        for key, line in store.lines.items():
            if key.kind == "accuracy" and "failed" not in line:
                cell = Cell(key.data, key.qi, key.model, key.method, key.k)
                lines.setdefault(cell, {})[key.seed] = line
        return cls(lines)

    def values(self, cell: Cell, measure: str = "test") -> dict[int, float]:
        """Return a measure by seed; empty if there is none."""
        found = self.lines.get(cell, {})
        return {s: line[measure] for s, line in found.items() if line.get(measure) is not None}

    def mean(self, cell: Cell, measure: str = "test") -> Mean | None:
        """Return a measure's mean over seeds."""
        values = self.values(cell, measure)
        return Mean.of(list(values.values())) if values else None

    def difference(self, cell: Cell, other: Cell) -> Mean | None:
        """Return how much more accurate a cell is than another, seed by seed."""
        left, right = self.values(cell), self.values(other)
        both = sorted(left.keys() & right.keys())
        return Mean.of([left[seed] - right[seed] for seed in both]) if both else None

    def least_ahead(self, cell: Cell, others: Iterable[str]) -> Mean | None:
        """Return how far a cell is ahead of the best of some methods, seed by seed.

        The best is the one with the best mean of all seeds.
        """
        found = [self.difference(cell, replace(cell, method=other)) for other in others]
        there = [each for each in found if each is not None]
        return min(there, key=lambda each: each.mean) if there else None

    def scenes(self) -> list[Place]:
        """Return the data sets, quasi-identifiers and models that have a raw accuracy."""
        return sorted({cell.place for cell in self.lines if cell.method == RAW})

    def seeds(self, place: Place) -> list[int]:
        """Return the seeds with which the raw model of a place was trained."""
        return sorted(self.lines.get(Cell(*place, RAW, 0), {}))

    def as_json(self) -> list[dict[str, Any]]:
        """Return every cell with its means."""
        rows = []
        for cell in sorted(self.lines, key=lambda c: (c.data, c.qi, c.model, c.method, c.k)):
            row: dict[str, Any] = {
                "data": cell.data,
                "quasi_identifiers": cell.qi,
                "model": cell.model,
                "method": cell.method,
                "k": cell.k,
            }
            for measure in (*MEASURES, "share_of_classes_below_k", "share_of_rows_below_k"):
                mean = self.mean(cell, measure)
                if mean is not None:
                    row[measure] = mean.as_json()
            rows.append(row)
        return rows
