"""Suppression that pays: rows at the rim of a cell that widen it for all the others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask.anonymize._growth import engine_rules
from halfmask.anonymize._summary import narrow
from halfmask.anonymize.coding import relative_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.anonymize._fitted import Fitted
    from halfmask.anonymize._partition import Partition
    from halfmask.kernels.partition.criteria import Rules
    from halfmask.kernels.partition.trimming import Moves

#: A cell gives up one rim a round; more rounds than this find next to nothing.
MAX_ROUNDS = 8


def trim(fitted: Fitted, *, max_rows: int) -> Fitted:
    """Suppress the rows whose going saves the others more than it costs.

    Notes
    -----
    **Guarantees.** Every cell still keeps every guarantee, no cell vanishes, and the sum of the
    rows' losses (a cell's mean normalized width; 1 for a suppressed row) is lower than before, or
    nothing was done. Greedy: in each round every cell offers its best rim, and those that save most
    for each suppressed row are taken while they fit.

    **Edge cases.** Nothing is trimmed where classes are held against the whole table, as by
    t-closeness or an average risk: suppression would change what they are compared with. Nor where
    a person is the unit: the rules of trimming count rows.
    """
    rules, k = engine_rules(fitted.guarantees, fitted.sensitive)
    counts_rows = fitted.persons is None
    relative = any(guarantee.relative for guarantee in fitted.guarantees)
    if max_rows < 1 or relative or not counts_rows:
        return fitted
    rows = _Rows.of(fitted)
    cell_of_row, left = fitted.cell_of_row.copy(), max_rows
    offering = rows
    for _ in range(MAX_ROUNDS):
        moves = offering.best_moves(fitted, rules, k)
        taken = _affordable(moves.gain, moves.cost, left)
        if not len(taken):
            break
        left -= int(moves.cost[taken].sum())
        # Only cells that gave something up have another rim to offer.
        offering, gone = offering.without(moves, taken)
        cell_of_row[gone] = -1
    if left == max_rows:
        return fitted
    return replace(
        fitted, cell_of_row=cell_of_row, partition=rows.shrunk(fitted.partition, cell_of_row)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Rows in the order of their cells."""

    numbers: NDArray[np.int32]
    cells: NDArray[np.int32]
    starts: NDArray[np.int64]
    codes: NDArray[np.unsignedinteger[Any]]
    sensitive: NDArray[np.unsignedinteger[Any]]

    @classmethod
    def of(cls, fitted: Fitted) -> _Rows:
        numbers = np.argsort(fitted.cell_of_row, kind="stable").astype(np.int32)
        codes = np.stack([column[numbers] for column in fitted.codes])
        judged = [narrow(column.codes, column.n_values)[numbers] for column in fitted.sensitive]
        sensitive = np.stack(judged) if judged else codes[:0]
        return cls.sorted(numbers, fitted.cell_of_row[numbers], codes, sensitive)

    @classmethod
    def sorted(
        cls,
        numbers: NDArray[np.int32],
        cell_of_row: NDArray[np.int32],
        codes: NDArray[np.unsignedinteger[Any]],
        sensitive: NDArray[np.unsignedinteger[Any]],
    ) -> _Rows:
        first = np.flatnonzero(np.diff(cell_of_row, prepend=-1))
        return cls(
            numbers=numbers,
            cells=cell_of_row[first],
            starts=np.append(first, len(numbers)).astype(np.int64),
            codes=np.ascontiguousarray(codes),
            sensitive=np.ascontiguousarray(sensitive),
        )

    def best_moves(self, fitted: Fitted, rules: Rules, k: int) -> Moves:
        """Return each cell's best offer."""
        from halfmask.kernels.partition.trimming import Moves, best_moves  # noqa: PLC0415 # the compiler

        n = len(self.cells)
        ints = [np.zeros(n, dtype=np.int64) for _ in range(3)]
        moves = Moves(np.zeros(n), *ints)
        weights = relative_weights(coding.column.weight for coding in fitted.codings)
        scale = weights / [max(1, coding.n_codes - 1) for coding in fitted.codings]
        best_moves(self.codes, self.sensitive, self.starts, scale, k, rules, moves)
        return moves

    def without(self, moves: Moves, taken: NDArray[np.int64]) -> tuple[_Rows, NDArray[np.int32]]:
        """Return the rows that stay in the taken cells, and the numbers of those that go."""
        chosen = np.zeros(len(self.cells), dtype=np.bool_)
        chosen[taken] = True
        sizes = np.diff(self.starts)
        there = np.flatnonzero(np.repeat(chosen, sizes))
        place = np.repeat(np.flatnonzero(chosen), sizes[chosen])
        gone = self.codes[moves.column[place], there] == moves.code[place]
        kept = there[~gone]
        rest = _Rows.sorted(
            self.numbers[kept],
            self.cells[place[~gone]],
            self.codes[:, kept],
            self.sensitive[:, kept],
        )
        return rest, self.numbers[there[gone]]

    def shrunk(self, partition: Partition, cell_of_row: NDArray[np.int32]) -> Partition:
        """Return the partition with the extents and sizes of the rows that stay."""
        stays = cell_of_row[self.numbers] >= 0
        starts = self.starts - np.concatenate([[0], np.cumsum(~stays)])[self.starts]
        low, high = np.empty_like(partition.low), np.empty_like(partition.high)
        for j, codes in enumerate(self.codes):  # column by column: a copy of all would be large
            kept = codes[stays]
            low[:, j] = np.minimum.reduceat(kept, starts[:-1])
            high[:, j] = np.maximum.reduceat(kept, starts[:-1])
        return replace(partition, low=low, high=high, sizes=np.diff(starts))


def _affordable(
    gain: NDArray[np.float64], count: NDArray[np.int64], left: int
) -> NDArray[np.int64]:
    """Return the cells whose offers save most for each suppressed row, as many as fit."""
    paying = np.flatnonzero(gain > 0)
    ranked = paying[np.argsort(-gain[paying] / count[paying], kind="stable")]
    return ranked[np.cumsum(count[ranked]) <= left]
