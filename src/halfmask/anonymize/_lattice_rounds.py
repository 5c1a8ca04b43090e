"""Local recoding on top of full-domain generalization: suppressed rows are generalized again.

Each round chooses the levels for the rows that all rounds before have suppressed. A round but the
last may suppress more rows than the release may: the next ones release them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import GuaranteeNotMetError, ParameterError
from halfmask.anonymize._rounds_partition import RoundsPartition
from halfmask.anonymize.lattice import released_classes
from halfmask.guarantees import Classes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize._lattice_partition import LatticePartition
    from halfmask.anonymize._partition import Partition
    from halfmask.guarantees import Guarantee

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
    for guarantee in guarantees:
        if not (guarantee.monotone if person_of_row is None else guarantee.monotone_in_persons):
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
