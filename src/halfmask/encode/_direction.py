"""A score of rows by all of their columns, along which frequent categories are split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask.encode._ticks import to_ticks

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CategoryWeights", "Direction", "NumberWeight"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberWeight:
    """What an ordered column adds to the score: ``weight * (tick - center) / scale``."""

    name: str
    center: float
    scale: float
    weight: float

    def part(self, batch: pl.DataFrame) -> NDArray[np.float64]:
        """Return what the column adds for each row; nothing where it is missing."""
        ticks, present = to_ticks(batch[self.name])
        z = np.clip((ticks.astype(np.float64) - self.center) / self.scale, -4, 4)
        return np.where(present, self.weight * z, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryWeights:
    """What a categorical column adds to the score: a keyed number for each value."""

    name: str
    values: pl.Series
    weights: NDArray[np.float64]

    def part(self, batch: pl.DataFrame) -> NDArray[np.float64]:
        """Return what the column adds for each row; nothing for values never seen."""
        known = pl.DataFrame({"value": self.values, "weight": self.weights})
        cells = pl.DataFrame({"value": batch[self.name]})
        joined = cells.join(known, on="value", how="left", maintain_order="left")
        return joined["weight"].fill_null(0.0).to_numpy()


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """A keyed direction in the space of a table's features.

    Rows of one category that lie apart along it get different codes, so that the codes of a
    category differ in what goes with them: who looks for codes with equal company doesn't find
    the siblings.
    """

    parts: tuple[NumberWeight | CategoryWeights, ...]

    def scores(self, batch: pl.DataFrame) -> dict[str, NDArray[np.float64]]:
        """Return each column's part of the score, by its name."""
        return {part.name: part.part(batch) for part in self.parts}


def score_without(
    parts: dict[str, NDArray[np.float64]], name: str, n_rows: int
) -> NDArray[np.float64]:
    """Return the score by all columns but one: a column can't part its own categories."""
    others = [part for column, part in parts.items() if column != name]
    return np.sum(others, axis=0) if others else np.zeros(n_rows)
