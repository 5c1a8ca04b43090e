"""Lenders: rows that lend others their other columns, so that a guide is asked of those recoded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask.training._guides import as_wide_as, predicted

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CASES", "Lenders", "comparable_cases", "together"]

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
        sums: NDArray[np.float64] | None = None
        for _ in range(MEAN_OF):
            lent = self.rows[places]
            lenders = rng.integers(len(self.rows), size=len(places))
            lent[:, self.others] = self.rows[lenders][:, self.others]
            said = predicted(guide, lent)
            sums = said if sums is None else sums + as_wide_as(sums, said)
        return np.asarray(sums) / MEAN_OF

    def cases(self, guide: Any, places: NDArray[np.int64]) -> NDArray[np.float64]:  # noqa: ANN401
        """Return what a guide says of some rows, case by case, (rows, cases, outputs).

        A case is a row that lends all rows its columns; all places have the same ones.

        Notes
        -----
        The curves of individual conditional expectation (Goldstein et al., "Peeking inside the
        black box", 2015), of which the partial dependence is the mean. Where what a column does
        depends on others, its effects may cancel in the mean, and each case still shows its own.
        """
        lenders = np.random.default_rng([self.seed, CASES]).integers(len(self.rows), size=CASES)
        found: list[NDArray[np.float64]] = []
        for lender in lenders:
            lent = self.rows[places]
            lent[:, self.others] = self.rows[lender, self.others]
            said = predicted(guide, lent)
            found.append(as_wide_as(found[0] if found else said, said))
            if len(found) == most_cases(found[0].shape[1]):
                break
        return np.stack(found, axis=1)


def most_cases(outputs: int) -> int:
    """Return how many cases a guide of so many outputs has."""
    columns = outputs if outputs > 2 else 1  # of two shares one is kept
    return min(max(MOST_COLUMNS // columns, 2), CASES)


def comparable_cases(cases: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return cases whose outputs are in [0, 1], one of two shares that say the same.

    Parameters
    ----------
    cases
        What a guide said, (rows, cases, outputs).

    Notes
    -----
    Guides that aren't in [0, 1] are scaled column by column when they lead. Here each output has
    one range for all cases: one in which nothing depends on what is recoded must not weigh as much
    as one in which much does.
    """
    if not cases.size:
        return cases  # whoever is led by it refuses it
    if cases.shape[2] == 2 and np.allclose(cases.sum(axis=2), 1.0):
        cases = cases[:, :, 1:]
    halves = cases / 2.0  # the range of numbers may be too much for a number
    low, high = np.percentile(halves, [1, 99], axis=(0, 1))
    within = (cases.min(axis=(0, 1)) >= 0) & (cases.max(axis=(0, 1)) <= 1)
    low, high = np.where(within, 0.0, low), np.where(within, 0.5, high)
    width = np.where(high > low, high - low, 0.5)
    scaled: NDArray[np.float64] = np.clip((halves - low) / width, 0.0, 1.0)
    return scaled


def together(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the cases of several guides beside each other, (rows, cases, outputs of all).

    What is the same in every case, (rows, 1, outputs), is repeated.
    """
    outputs = sum(part.shape[2] for part in parts)
    cases = min([most_cases(outputs), *(part.shape[1] for part in parts if part.shape[1] > 1)])
    return np.concatenate(
        [
            part[:, :cases] if part.shape[1] > 1 else np.repeat(part, cases, axis=1)
            for part in parts
        ],
        axis=2,
    )
