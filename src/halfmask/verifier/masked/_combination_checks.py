"""Checks of combinations of cells: how many rows share them, missing cells counted both ways."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from halfmask._errors import VerificationError
from halfmask.verifier.checks import ClaimCount
from halfmask.verifier.masked._cell_checks import columns_of
from halfmask.verifier.tables._counting import Counted, count_classes
from halfmask.verifier.tables._values import dictionaries
from halfmask.verifier.tables._wildcards import compatible_cells

if TYPE_CHECKING:
    import polars as pl

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
