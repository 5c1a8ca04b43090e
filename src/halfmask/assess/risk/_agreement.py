"""Combinations of values, and the rows that agree with each where missing is a wildcard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from halfmask.guarantees import class_of_row

if TYPE_CHECKING:
    import polars as pl

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Combinations(NamedTuple):
    """The different combinations of values of some columns."""

    of_row: Ints
    first: Ints
    codes: Ints
    missing: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, table: pl.DataFrame, columns: Sequence[str]) -> Combinations:
        """Return the combinations of a table."""
        of_row, n = class_of_row(table, quasi_identifiers=columns)
        first = np.empty(n, dtype=np.int64)
        first[of_row[::-1]] = np.arange(table.height - 1, -1, -1)
        kept = table.select(columns)[first]
        codes = np.empty((len(columns), n), dtype=np.int64)
        missing = np.zeros((len(columns), n), dtype=np.bool_)
        for j, name in enumerate(columns):
            codes[j], _ = class_of_row(kept, quasi_identifiers=[name])
            missing[j] = kept[name].is_null().to_numpy()
        return cls(of_row, first, codes, missing)

    @property
    def n(self) -> int:
        """How many combinations there are."""
        return len(self.first)

    @property
    def wild(self) -> Ints:
        """The codes with -1 where a cell is missing."""
        return np.where(self.missing, -1, self.codes)

    def counts(self, rows: Ints) -> Ints:
        """Add up how many rows each row stands for, for each combination."""
        total = np.zeros(self.n, dtype=np.int64)
        np.add.at(total, self.of_row, rows)
        return total

    def sums(self, numbers: Floats) -> Floats:
        """Add up a number of each row for each combination."""
        total = np.bincount(self.of_row, weights=numbers, minlength=self.n)
        return total.astype(np.float64, copy=False)


def agreeing(asked: Ints, offered: Ints, sums: Sequence[Floats | Ints]) -> Floats:
    """Add up what is offered by the combinations that agree with each that asks."""
    from halfmask.kernels.uniques.agreeing import agreeing_sums  # noqa: PLC0415 # compiles

    # Columns with most values come first, so that groups get small at once.
    order = np.argsort(-offered.max(axis=1, initial=0), kind="stable")
    found = agreeing_sums(
        np.ascontiguousarray(asked[order], dtype=np.int32),
        np.ascontiguousarray(offered[order], dtype=np.int32),
        np.stack([np.asarray(each, dtype=np.float64) for each in sums], axis=1),
    )
    return np.ascontiguousarray(found.T)
