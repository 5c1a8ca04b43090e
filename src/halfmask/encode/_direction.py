"""A score of rows by all of their columns, along which frequent categories are split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask.encode._ticks import to_ticks

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl
    from numpy.typing import NDArray


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

    def part(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return what the column adds for each row, by the place of its value.

        Nothing for values never seen and for missing ones, whose place is behind all values where
        they are encoded.
        """
        return np.append(self.weights, np.zeros(3))[places]


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """A keyed direction in the space of a table's features.

    Rows of one category that lie apart along it get different codes, so that the codes of a
    category differ in what goes with them. An attacker who looks for codes with equal company
    doesn't find the siblings.
    """

    parts: tuple[NumberWeight | CategoryWeights, ...]

    def scores(
        self, batch: pl.DataFrame, places: Mapping[str, NDArray[np.int64]]
    ) -> dict[str, NDArray[np.float64]]:
        """Return each column's part of the score, and under the empty name their sum."""
        scores = {
            part.name: part.part(places[part.name])
            if isinstance(part, CategoryWeights)
            else part.part(batch)
            for part in self.parts
        }
        total = np.zeros(batch.height)
        for score in scores.values():
            total += score
        return scores | {"": total}


def score_without(parts: Mapping[str, NDArray[np.float64]], name: str) -> NDArray[np.float64]:
    """Return the score by all columns but one: a column can't part its own categories."""
    return parts[""] - parts[name] if name in parts else parts[""]
