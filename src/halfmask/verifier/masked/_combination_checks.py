"""Checks of combinations of cells, missing cells counted both ways, and of sets of items."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from halfmask._errors import VerificationError
from halfmask.verifier.checks import ClaimCount
from halfmask.verifier.masked._cell_checks import columns_of
from halfmask.verifier.tables._counting import Counted, count_classes
from halfmask.verifier.tables._wildcards import compatible_cells
from halfmask.verifier.tables.part import dictionaries

if TYPE_CHECKING:
    from halfmask.claims import Claim


Ints: TypeAlias = NDArray[np.int64]

#: More sets of columns than this are not counted: the claim then doesn't hold.
MOST_SUBSETS: Final = 100_000


def check_groups(claim: Claim, table: pl.LazyFrame) -> ClaimCount:
    """Count the rows of each written combination: at least k, missing being a value of its own."""
    k, counted = _k_of(claim), _counted(table, columns_of(claim))
    smallest = int(counted.sizes.min())
    holds = smallest >= k and _evidence(claim, "smallest") <= smallest
    return ClaimCount(holds=holds, found={"smallest": smallest, "groups": len(counted.sizes)})


def check_suppression(claim: Claim, table: pl.LazyFrame) -> ClaimCount:
    """Count the rows that each row agrees with, a missing cell agreeing with every value.

    Notes
    -----
    The claim holds if each row agrees with at least k rows, itself among them. Its evidence may
    state nothing better than was counted, and must state what is counted when a missing cell is a
    value of its own: the smallest number of equal rows, and the rows that fewer than k equal.
    """
    k, columns = _k_of(claim), columns_of(claim)
    counted = _counted(table, columns)
    found = _both_ways(counted, _subsets_of(claim, len(columns)), k)
    holds = (
        found.smallest >= k
        and _evidence(claim, "smallest") <= found.smallest
        and _evidence(claim, "smallest_strict") <= found.smallest_strict
        and _evidence(claim, "rows_under_k_strict") >= found.rows_under_k_strict
        and _evidence(claim, "missing_cells") == found.missing_cells
    )
    return ClaimCount(holds=holds, found=found.to_dict())


@dataclass(frozen=True, slots=True)
class _BothWays:
    """What was counted with a missing cell as a wildcard, and strictly as a value of its own."""

    smallest: int
    smallest_strict: int
    rows_under_k_strict: int
    missing_cells: int

    def to_dict(self) -> dict[str, int]:
        return {
            "smallest": self.smallest,
            "smallest_strict": self.smallest_strict,
            "rows_under_k_strict": self.rows_under_k_strict,
            "missing_cells": self.missing_cells,
        }


def _both_ways(counted: Counted, subsets: list[list[int]], k: int) -> _BothWays:
    smallest = strict = counted.rows
    under = np.zeros(len(counted.sizes), dtype=np.bool_)
    for subset in subsets:
        codes = counted.codes[:, subset]
        _, group = np.unique(codes, axis=0, return_inverse=True)
        group = group.reshape(-1)
        equal = np.bincount(group, weights=counted.sizes).astype(np.int64)[group]
        strict = min(strict, int(equal.min()))
        under |= equal < k
        classes = Counted(counted.sizes, {}, codes)
        smallest = min(smallest, *(int(it.sizes.min()) for it in compatible_cells(classes, None)))
    return _BothWays(
        smallest=smallest,
        smallest_strict=strict,
        rows_under_k_strict=int(counted.sizes[under].sum()),
        missing_cells=int(((counted.codes == 0) * counted.sizes[:, None]).sum()),
    )


def _counted(table: pl.LazyFrame, columns: list[str]) -> Counted:
    schema = table.collect_schema()
    known = dictionaries(table, {name: schema[name] for name in columns})
    return count_classes(table, list(known.values()), {})


def _subsets_of(claim: Claim, n_columns: int) -> list[list[int]]:
    size = claim.parameters.get("subsets", n_columns)
    if not isinstance(size, int) or not 1 <= size <= n_columns:
        raise VerificationError("The size of the subsets must be from 1 to the columns' number.")
    if comb(n_columns, size) > MOST_SUBSETS:
        raise VerificationError(f"More than {MOST_SUBSETS} subsets of columns aren't counted.")
    return [list(each) for each in combinations(range(n_columns), size)]


def _k_of(claim: Claim) -> int:
    k = claim.parameters.get("k")
    if not isinstance(k, int) or k < 2:  # each row agrees with itself
        raise VerificationError("k must be a whole number of at least 2.")
    return k


def _evidence(claim: Claim, name: str) -> int:
    value = claim.evidence.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise VerificationError(f"The evidence must state the whole number {name!r}.")
    return value


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
