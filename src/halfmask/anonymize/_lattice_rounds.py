"""A partition by several full-domain generalizations, each of the rows that the last suppressed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import GuaranteeNotMetError, ParameterError
from halfmask.anonymize._partition import Partition, balanced_tree
from halfmask.anonymize.lattice import released_classes
from halfmask.guarantees import Classes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize._lattice_partition import LatticePartition
    from halfmask.guarantees import Guarantee


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundsPartition(Partition):
    """The classes of one round after the other.

    The tree is one over the classes' numbers, as that of a `LatticePartition` is. A row belongs to
    the class of the first round that has one for it.

    Parameters
    ----------
    feature, cut, left, right, low, high, sizes
        As of :class:`Partition`.
    rounds
        The partition of each round.
    round_of_cell
        Which of them each cell is of, (cells,).
    """

    rounds: tuple[LatticePartition, ...]
    round_of_cell: NDArray[np.int32]

    @classmethod
    def of(cls, rounds: Sequence[LatticePartition]) -> RoundsPartition:
        """Return the partition of some rounds, all their cells kept.

        Parameters
        ----------
        rounds
            The partition of each round.
        """
        n_cells = [each.n_cells for each in rounds]
        feature, cut, left, right = balanced_tree(sum(n_cells))
        return cls(
            feature=feature,
            cut=cut,
            left=left,
            right=right,
            low=np.concatenate([each.low for each in rounds]),
            high=np.concatenate([each.high for each in rounds]),
            sizes=np.concatenate([each.sizes for each in rounds]),
            rounds=tuple(rounds),
            round_of_cell=np.repeat(np.arange(len(rounds), dtype=np.int32), n_cells),
        )

    def __repr__(self) -> str:
        rows = int(self.sizes.sum())
        return f"RoundsPartition({self.n_cells} cells of {rows} rows in {len(self.rounds)} rounds)"

    def levels_of(self, place: int) -> NDArray[np.int64]:
        """Return the level of a column in each cell.

        Parameters
        ----------
        place
            The place of the column.
        """
        levels = np.array([each.levels[place] for each in self.rounds], np.int64)
        return levels[self.round_of_cell]

    def details(self, columns: Sequence[str]) -> dict[str, Any]:
        """Return the levels of each round, how they were found, and the rows.

        Parameters
        ----------
        columns
            The names of the columns.
        """
        rows = np.bincount(self.round_of_cell, weights=self.sizes, minlength=len(self.rounds))
        return {
            "levels_of_rounds": [
                each.details(columns) | {"rows": int(n)}
                for each, n in zip(self.rounds, rows, strict=True)
            ]
        }

    def cells_of(self, codes: Sequence[NDArray[np.int64]]) -> NDArray[np.int32]:
        """Return the cell of each row; -1 where no round has its nodes.

        Parameters
        ----------
        codes
            For each column, in the order of the fit, the codes of the rows.
        """
        found = np.full(len(codes[0]), -1, dtype=np.int64)
        first = 0
        for each in self.rounds:
            open_ = np.flatnonzero(found < 0)
            cells = each.cells_of([column[open_] for column in codes]).astype(np.int64)
            found[open_] = np.where(cells < 0, -1, cells + first)
            first += each.n_cells
        cells_of_rows = np.full(len(found), -1, dtype=np.int32)
        held = found >= 0
        cells_of_rows[held] = Partition.cells_of(self, [found[held]])
        return cells_of_rows

    def renumbered(self, target: NDArray[np.int64], *, sizes: NDArray[np.int64]) -> RoundsPartition:
        """Return the partition with cells dropped.

        Parameters
        ----------
        target
            The new number of each old cell; -1 for one whose rows are suppressed.
        sizes
            How many rows each new cell has.
        """
        kept = target >= 0
        round_of_cell = np.zeros(len(sizes), dtype=np.int32)
        round_of_cell[target[kept]] = self.round_of_cell[kept]
        fewer = Partition.renumbered(self, target, sizes=sizes)
        assert isinstance(fewer, RoundsPartition)  # noqa: S101 # `replace` keeps the class
        return replace(fewer, round_of_cell=round_of_cell)


#: The share of its rows that each round but the last releases at least.
_LEAST_RELEASED = 0.5


def choose_in_rounds(
    choose: Callable[[NDArray[np.intp], int], tuple[LatticePartition, NDArray[np.int32]]],
    n_rows: int,
    *,
    counted: Mapping[str, tuple[NDArray[np.int64], int]],
    person_of_row: NDArray[np.int64] | None,
    guarantees: Sequence[Guarantee],
    rounds: int,
    max_suppressed: int,
) -> tuple[Partition, NDArray[np.int32]]:
    """Choose levels for all rows, then for those that are suppressed, and so on.

    The classes of all rounds are judged together in the end, and those that miss a guarantee are
    suppressed. Where that is more than may be, one round decides.
    """
    whole = Classes.from_codes(
        np.zeros(n_rows, dtype=np.int64), 1, counted, person_of_row=person_of_row
    )
    for guarantee in guarantees:
        if not guarantee.merges_in(whole.members):
            raise ParameterError(
                f"{guarantee!r} isn't monotone, and classes of two rounds may be written alike.",
                hint="Choose rounds=1.",
            )
        if guarantee.needs_population:
            raise ParameterError(
                f"{guarantee!r} is about a population, and a person may fit classes of two rounds.",
                hint="Choose rounds=1.",
            )
        if guarantee.needs_written:
            raise ParameterError(
                f"{guarantee!r} reads what is written for all rows, and a round sees only some.",
                hint="Choose rounds=1.",
            )
    found: list[LatticePartition] = []
    cell_of_row = np.full(n_rows, -1, dtype=np.int32)
    left = np.arange(n_rows)
    while len(left) and len(found) < rounds:
        most = max_suppressed
        if len(found) + 1 < rounds:
            most = max(most, int((1 - _LEAST_RELEASED) * len(left)))
        try:
            partition, cells = choose(left, min(most, len(left) - 1))
        except GuaranteeNotMetError:
            break
        first = sum(each.n_cells for each in found)
        found.append(partition)
        released = cells >= 0
        cell_of_row[left[released]] = cells[released] + first
        left = left[~released]
    if found and len(left) <= max_suppressed:
        joined = RoundsPartition.of(found)
        rows = np.flatnonzero(cell_of_row >= 0)
        classes = Classes.from_codes(
            cell_of_row[rows],
            joined.n_cells,
            {name: (codes[rows], n_values) for name, (codes, n_values) in counted.items()},
            person_of_row=None if person_of_row is None else person_of_row[rows],
        )
        kept = _kept(joined, cell_of_row, classes, guarantees, max_suppressed - len(left))
        if kept is not None:
            return kept
    return choose(np.arange(n_rows), max_suppressed)


def _kept(
    partition: RoundsPartition,
    cell_of_row: NDArray[np.int32],
    classes: Classes,
    guarantees: Sequence[Guarantee],
    max_suppressed: int,
) -> tuple[Partition, NDArray[np.int32]] | None:
    """Judge the classes of all rounds as one table; ``None`` if too many miss a guarantee."""
    kept, _ = released_classes(classes, guarantees, max_suppressed=max_suppressed)
    if kept is None:
        return None
    if len(kept) == partition.n_cells:
        return partition, cell_of_row
    target = np.full(partition.n_cells, -1, dtype=np.int64)
    target[kept] = np.arange(len(kept))
    cells = np.where(cell_of_row >= 0, target[cell_of_row], -1).astype(np.int32)
    return partition.renumbered(target, sizes=partition.sizes[kept]), cells
