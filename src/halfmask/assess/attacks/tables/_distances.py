"""Distances of known people to released rows, a bounded block at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from halfmask.assess.attacks.tables._matching import Matched

Metric: TypeAlias = Literal["gower", "standardised"]
Silence: TypeAlias = Literal["anything", "average", "nothing"]
#: By column what is known of people, as `Matched.known` has it.
Known: TypeAlias = "Mapping[str, NDArray[np.float64]]"

#: Pairs in a block: 32 MB of distances.
PAIRS_PER_BLOCK = 4_000_000
#: Among rows at one distance, more specific ones are preferred.
HARDLY = 1e-4
#: More than any distance.
FAR = 1e4
#: Distances are equal within what adding them up may lose.
SLACK = 1e-10
NOTHING = 1e-15


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Known people against released rows, over some columns."""

    columns: tuple[Matched, ...]
    metric: Metric = "gower"
    silence: Silence = "anything"

    @property
    def has_silence(self) -> bool:
        """Whether a cell of these columns holds no information."""
        return any(bool(column.cells.silent.any()) for column in self.columns)

    def blocks(self, known: Known) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Yield which people, and their distances to all released rows: (people, rows)."""
        n_people = len(known[self.columns[0].name])
        n_rows = len(self.columns[0].cells)
        step = max(1, PAIRS_PER_BLOCK // max(1, n_rows))
        for start in range(0, n_people, step):
            some = slice(start, min(start + step, n_people))
            yield some, self._distances(known, some, n_rows)

    def _distances(self, known: Known, some: slice, n_rows: int) -> NDArray[np.float64]:
        from halfmask.kernels.attacks import linkage  # noqa: PLC0415 # numba loads late

        out = np.zeros((some.stop - some.start, n_rows), dtype=np.float64)
        squared = self.metric == "standardised"
        for column in self.columns:
            values = np.ascontiguousarray(known[column.name][some])
            cells = column.cells
            unit = column.deviation if squared else column.spread
            average = column.average_gap * (column.spread / unit)
            average = average * average if squared else average
            silent = {"anything": HARDLY, "average": average, "nothing": FAR}[self.silence]
            costs = cells.silent.astype(np.float64) * silent
            if column.is_number:
                ends = cells.low, cells.high
                linkage.add_number_gaps(
                    values, *ends, cells.admits, costs, 1 / unit, average, squared, out
                )
            else:
                linkage.add_category_gaps(
                    values, cells.codes, cells.sets, cells.admits, costs, average, out
                )
        return out


def nearest(distances: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which rows are nearest to each person, all that tie."""
    least = distances.min(axis=1, keepdims=True)
    return np.asarray(distances <= least * (1 + SLACK) + NOTHING)


def nearest_few(
    distances: NDArray[np.float64], n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the numbers of the n rows nearest to each person, drawn at random where they tie."""
    n = min(n, distances.shape[1])
    edge = np.partition(distances, n - 1, axis=1)[:, n - 1 : n]
    slack = edge * SLACK + NOTHING
    # What is nearer than the last one that is wanted comes first, then a draw of those that tie.
    order = rng.random(distances.shape, dtype=np.float32)
    order[distances < edge - slack] = -1.0
    order[distances > edge + slack] = 2.0
    return np.argpartition(order, n - 1, axis=1)[:, :n]
