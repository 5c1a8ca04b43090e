"""The check of k^m-anonymity: in how many rows any m items of a row's set are."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from halfmask._errors import VerificationError
from halfmask.verifier.checks import ClaimCount
from halfmask.verifier.masked._cell_checks import columns_of

if TYPE_CHECKING:
    from halfmask.claims import Claim

Ints: TypeAlias = NDArray[np.int64]

#: More sets of m items than this, rows taken one by one, are not counted: the claim doesn't hold.
MOST_COUNTED: Final = 10_000_000_000


def check_sets(claim: Claim, table: pl.LazyFrame) -> ClaimCount:
    """Count the rows of each set of at most m items that a row has: at least k.

    Notes
    -----
    Items are the parts of a cell between separators, each once; a missing or empty cell has none.
    The rows of each item are intersected with those of the items after it, one after the other. The
    counting stops soon after a set that is in fewer than k rows.
    """
    k, m, separator = (claim.parameters.get(name) for name in ("k", "m", "separator"))
    if not isinstance(k, int) or not isinstance(m, int) or k < 2 or m < 1:
        raise VerificationError("k must be a whole number of at least 2, and m of at least 1.")
    if not isinstance(separator, str) or not separator:
        raise VerificationError("The separator must be a text that isn't empty.")
    (column,) = columns_of(claim)
    rows = _rows(table, column, separator)
    sizes = [len(row) for row in rows]
    if sum(comb(size, m) for size in sizes) > MOST_COUNTED:
        raise VerificationError("There are too many sets of items to count.")
    offsets = np.cumsum([0, *sizes])
    items = np.concatenate([*rows, np.zeros(0, np.int64)])
    n_items = int(items.max(initial=-1)) + 1
    ends = np.repeat(offsets[1:], sizes)
    counting = _Counting(items=items, ends=ends, n_items=n_items, k=k, m=m)
    smallest, n_rare = counting.after(np.arange(len(items)), 1) if n_items else (0, 0)
    found = {
        "items": n_items,
        "largest_set": max(sizes, default=0),
        "smallest": smallest,
        "rare_sets": n_rare,
    }
    stated = all(claim.evidence.get(name) == found[name] for name in ("items", "largest_set"))
    return ClaimCount(holds=stated and not n_rare and n_items > 0, found=found)


def _rows(table: pl.LazyFrame, column: str, separator: str) -> list[Ints]:
    """Return the numbers of the items of each row, ascending."""
    numbers: dict[str, int] = {}
    cells = table.select(pl.col(column).cast(pl.String)).collect(engine="streaming")[column]
    return [
        np.array(
            sorted({numbers.setdefault(it, len(numbers)) for it in cell.split(separator) if it}),
            dtype=np.int64,
        )
        for cell in cells.fill_null("")
    ]


@dataclass(frozen=True, slots=True, eq=False)
class _Counting:
    """Counts the rows of sets: items, where the row of each ends, and what is asked."""

    items: Ints
    ends: Ints
    n_items: int
    k: int
    m: int

    def after(self, places: Ints, size: int) -> tuple[int, int]:
        """Return the rows of the rarest set that was seen, and how many are in fewer than k rows.

        The sets are those of so many items, and more, whose last ones are at the places.
        """
        rows_of = np.bincount(self.items[places], minlength=self.n_items)
        present = rows_of[rows_of > 0]
        smallest, n_rare = int(present.min()), int((present < self.k).sum())
        if size == self.m or n_rare:
            return smallest, n_rare
        order = places[np.argsort(self.items[places], kind="stable")]
        bounds = np.concatenate(([0], np.cumsum(rows_of)))
        for item in np.flatnonzero(rows_of):
            own = order[bounds[item] : bounds[item + 1]]
            lengths = self.ends[own] - own - 1
            total = int(lengths.sum())
            if total:
                before = np.repeat(own + 1 - np.cumsum(lengths) + lengths, lengths)
                fewest, rare = self.after(before + np.arange(total), size + 1)
                smallest, n_rare = min(smallest, fewest), n_rare + rare
            if n_rare:
                break
        return smallest, n_rare
