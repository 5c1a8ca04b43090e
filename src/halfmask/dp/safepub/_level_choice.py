"""The choice of levels by the exponential mechanism, and the score that it needs."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Final

import numpy as np

from halfmask._errors import ParameterError
from halfmask.anonymize.lattice import LatticeColumn
from halfmask.anonymize.lattice.grouped_rows import node_tables
from halfmask.dp.noise import choose

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from halfmask.dp.safepub._leveled_column import LeveledColumn

#: More candidates than this are refused: the rows are grouped for each.
_MOST_CANDIDATES: Final = 20_000


def choose_levels(
    columns: Sequence[LeveledColumn],
    allowed: Sequence[range],
    *,
    least_rows: int,
    epsilon: float,
) -> tuple[int, ...]:
    """Return one level for each column, by the exponential mechanism.

    Guarantees
    ----------
    The choice is (epsilon, 0)-differentially private: candidates depend on the heights of the
    hierarchies alone, and one row moves a score by `level_scores`'s sensitivity at most.
    """
    if (n := math.prod(map(len, allowed))) > _MOST_CANDIDATES:
        raise ParameterError(
            f"There are {n:,} generalizations to choose from, and at most "
            f"{_MOST_CANDIDATES:,} can be scored.",
            hint="Give levels, or hierarchies of fewer levels.",
        )
    candidates = list(itertools.product(*allowed))
    scores, sensitivity = level_scores(columns, candidates, least_rows=least_rows)
    return candidates[choose(scores, sensitivity=float(sensitivity), epsilon=epsilon)]


def level_scores(
    columns: Sequence[LeveledColumn],
    candidates: Sequence[tuple[int, ...]],
    *,
    least_rows: int,
) -> tuple[NDArray[np.int64], int]:
    """Return the detail that each candidate keeps, as whole numbers, and their sensitivity.

    Notes
    -----
    The score of levels g is ``precision(g)`` times the rows in classes of at least T rows, where
    ``precision(g) = 1 - mean(level / height)`` (Sweeney 2002) depends on no row. It is multiplied
    by the common denominator D of all precisions, so that it is a whole number.

    **Sensitivity: D T.** One row more lies in one class. If that has fewer than T rows afterwards,
    the score stays. If it now has T, these T rows count, each for ``D precision(g) <= D``: the
    score grows by D T at most. If it has more, one row counts more. One row less is the same turned
    round. Compare Bild, Kuhn and Prasser 2018, section 5: suppression makes the sensitivity of
    each of their scores grow with k likewise.
    """
    heights = [max(1, each.height) for each in columns]
    common = math.lcm(*heights) * len(columns)
    codes, rows = np.unique(np.stack([each.codes for each in columns]), axis=1, return_counts=True)
    sizes_at = _grouping(columns, codes.astype(np.uint32), rows.astype(np.int64))
    scores = np.empty(len(candidates), dtype=np.int64)
    for place, levels in enumerate(candidates):
        lost = sum(
            level * (common // len(columns)) // height
            for level, height in zip(levels, heights, strict=True)
        )
        sizes = sizes_at(levels)
        scores[place] = (common - lost) * int(sizes[sizes >= least_rows].sum())
    return scores, common * least_rows


def _grouping(
    columns: Sequence[LeveledColumn], codes: NDArray[np.uint32], rows: NDArray[np.int64]
) -> Callable[[tuple[int, ...]], NDArray[np.int64]]:
    """Return a function from levels to the rows of each class."""
    from halfmask.kernels.lattice.grouping import group_items, group_room  # noqa: PLC0415 # compiles late

    tables = node_tables(
        [
            LatticeColumn(
                name=each.name,
                nodes=tuple(each.nodes(level) for level in range(each.height + 1)),
                rows=np.zeros(0, dtype=np.int64),
            )
            for each in columns
        ]
    )
    room = group_room(codes.shape[1])

    def sizes_at(levels: tuple[int, ...]) -> NDArray[np.int64]:
        wanted = np.array(levels, dtype=np.int64)
        return room.sizes[: int(group_items(codes, rows, tables, wanted, room))]

    return sizes_at
