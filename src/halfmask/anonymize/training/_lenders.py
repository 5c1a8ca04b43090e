"""Lenders: rows that lend others their other columns, so that a guide is asked of those recoded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask.anonymize.training._guides import predicted

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CASES", "Lenders", "in_one_range"]

#: How many other rows lend each row their other columns, for their mean.
MEAN_OF = 8
#: How many rows lend all rows theirs, case by case: with 16 or 32 classes taught no better.
CASES = 8
#: Guides of many outputs have fewer cases, so that no more columns lead than this; at least two.
MOST_COLUMNS = 32


@dataclass(frozen=True, slots=True)
class Lenders:
    """Rows of the population that lend their other columns.

    Parameters
    ----------
    rows
        The rows as the model sees them, (rows, columns).
    others
        Which columns are lent, (columns,).
    seed
        What the lenders are drawn from.
    """

    rows: NDArray[np.float64]
    others: NDArray[np.bool_]
    seed: int

    def mean(self, guide: Any, places: NDArray[np.int64]) -> NDArray[np.float64]:  # noqa: ANN401
        """Return what a guide says on average of some rows with lent columns, (rows, outputs).

        Each row has lenders of its own.
        """
        rng = np.random.default_rng([self.seed, len(places)])
        sums: NDArray[np.float64] | float = 0.0
        for _ in range(MEAN_OF):
            lent = self.rows[places]
            lenders = rng.integers(len(self.rows), size=len(places))
            lent[:, self.others] = self.rows[lenders][:, self.others]
            sums = sums + predicted(guide, lent)
        return np.asarray(sums) / MEAN_OF

    def cases(self, guide: Any, places: NDArray[np.int64]) -> NDArray[np.float64]:  # noqa: ANN401
        """Return what a guide says of some rows, case by case, (rows, cases times outputs).

        A case is a row that lends all rows its columns; all places have the same ones.

        Notes
        -----
        The curves of individual conditional expectation (Goldstein et al., "Peeking inside the
        black box", 2015), of which the partial dependence is the mean. Where what a column does
        depends on others, its effects may cancel in the mean, and each case still shows its own.
        Of probabilities of two labels one is kept: the other says the same.
        """
        lenders = np.random.default_rng([self.seed, CASES]).integers(len(self.rows), size=CASES)
        found: list[NDArray[np.float64]] = []
        for lender in lenders:
            if found and len(found) + 1 > max(MOST_COLUMNS // found[0].shape[1], 2):
                break
            lent = self.rows[places]
            lent[:, self.others] = self.rows[lender, self.others]
            said = predicted(guide, lent)
            two = said.shape[1] == 2 and np.allclose(said.sum(axis=1), 1.0)
            found.append(said[:, 1:] if two else said)
        return np.hstack(found)


def in_one_range(cases: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers in [0, 1], all cases by the same measure; probabilities as they are.

    A case in which nothing depends on what is recoded must not weigh as much as one in which much
    does, and guides that aren't in [0, 1] are scaled column by column when they lead.
    """
    if cases.min() >= 0 and cases.max() <= 1:
        return cases
    low, high = np.percentile(cases, [1, 99])
    spread = high - low if high > low else 1.0
    scaled: NDArray[np.float64] = np.clip((cases - low) / spread, 0.0, 1.0)
    return scaled
