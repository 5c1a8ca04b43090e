"""Columns as numbers that a tree can cut, for one target column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.synth._column_codes import ColumnCodes

#: A target of more categories than this is cut by the most frequent ones.
MAX_CATEGORIES = 48
#: A category's mean is drawn to the overall mean as if so many rows more had that.
PRIOR_ROWS = 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FeatureTables:
    """For each predicting column the number of each code."""

    tables: tuple[NDArray[np.float32], ...]

    @classmethod
    def of(
        cls,
        columns: Sequence[ColumnCodes],
        codes: Sequence[NDArray[np.int32]],
        target: NDArray[np.float64],
    ) -> Self:
        """Return tables that number amounts by rank, categories by their average target.

        Breiman et al., "Classification and Regression Trees" (1984), section 9.4: for a target of
        one number the best of all subsets of categories is among the cuts of that order; for more,
        the order is along the first principal component of the categories' means.
        """
        return cls(
            tables=tuple(
                column.ranks.astype(np.float32)
                if column.is_number
                else _by_target(code, column.n_codes, target)
                for column, code in zip(columns, codes, strict=True)
            )
        )

    def matrix(self, codes: Sequence[NDArray[np.int32]]) -> NDArray[np.float32]:
        """Return rows as features, (rows, columns)."""
        matrix = np.empty((len(codes[0]), len(codes)), dtype=np.float32)
        for place, (table, code) in enumerate(zip(self.tables, codes, strict=True)):
            matrix[:, place] = table[code]
        return matrix


def target_columns(column: ColumnCodes, codes: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return a target as numbers whose spread a tree makes small.

    Categories, the most frequent values of numbers, and missing cells have a column of 0 and 1
    each; numbers have one more with the rank among all others.
    """
    if not column.is_number:
        frequent = np.argsort(-column.counts, kind="stable")[:MAX_CATEGORIES]
        frequent = frequent[column.counts[frequent] > 0]
        if len(frequent) == 2:
            frequent = frequent[:1]  # the other column would say the same
        return np.equal(codes[:, None], frequent[None, :]).astype(np.float64)
    # A value that many rows have, such as 0, is a decision of its own, and so is a missing cell.
    # All other values are ranked among themselves.
    single = column.counts > 0.2 * max(1, column.counts.sum())
    single[column.missing] = column.counts[column.missing] > 0
    rest = np.where(single, 0, column.counts)
    ranks = (np.cumsum(rest) - rest / 2) / max(1, rest.sum()) - 0.5
    ranks[single] = 0.0
    parts = [ranks[codes]]
    parts += [(codes == code).astype(np.float64) for code in np.flatnonzero(single)]
    return np.stack(parts, axis=1)


def _by_target(
    codes: NDArray[np.int32], n_codes: int, target: NDArray[np.float64]
) -> NDArray[np.float32]:
    counts = np.bincount(codes, minlength=n_codes)
    overall = target.mean(axis=0)
    sums = np.stack(
        [np.bincount(codes, weights=column, minlength=n_codes) for column in target.T], axis=1
    )
    means = (sums + PRIOR_ROWS * overall) / (counts + PRIOR_ROWS)[:, None]
    if means.shape[1] > 1:
        centred = (means - overall) * np.sqrt(counts)[:, None]
        _, _, axes = np.linalg.svd(centred, full_matrices=False)
        means = (means - overall) @ axes[:1].T
    order = np.argsort(means[:, 0], kind="stable")
    places = np.empty(n_codes, dtype=np.float32)
    places[order] = np.arange(n_codes)
    return places
