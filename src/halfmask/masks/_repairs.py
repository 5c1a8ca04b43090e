"""Which cells of rare rows become missing: cheapest repairs, in a fixed order."""

from __future__ import annotations

from itertools import combinations
from math import fsum
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from halfmask.guarantees import agreeing_codes, codes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.kernels.suppression.repairs import Rare

Ints: TypeAlias = NDArray[np.int64]

#: Repairs that are tried again for rows that were repaired meanwhile: each takes memory.
_MOST_TRIED: Final = 64


def repaired(
    table: pl.DataFrame, compared: Sequence[tuple[int, ...]], costs: Sequence[float], *, k: int
) -> NDArray[np.bool_]:
    """Return which cells to make missing so that k rows agree with every row.

    Notes
    -----
    Sets of columns are repaired one after the other: a missing cell never lowers a count, so that
    a repair for one set breaks no other.
    """
    codes = codes_of(_by_bits(table), table.columns)
    missing = np.zeros(codes.shape, dtype=np.bool_)
    for places in compared:
        columns = list(places)
        part = codes[:, columns]
        repairs = _repair_rows(part, [costs[j] for j in columns], k)
        missing[:, columns] |= repairs
        codes[:, columns] = np.where(repairs, 0, part)
    return missing


def _by_bits(table: pl.DataFrame) -> pl.DataFrame:
    """Return floats as their bits: 0.0 and -0.0 differ in a file."""
    return table.with_columns(
        pl.col(name).cast(pl.Float64).reinterpret(dtype=pl.UInt64)
        for name, dtype in table.schema.items()
        if dtype.is_float()
    )


def _repair_rows(codes: Ints, costs: Sequence[float], k: int) -> NDArray[np.bool_]:
    """Return which cells to make missing on one set of columns."""
    distinct, of_row, rows = _combinations(codes)
    bits = 1 << np.arange(codes.shape[1])
    rare = _rare(distinct, rows, costs, bits, k)
    missing = np.zeros(codes.shape, dtype=np.bool_)
    if rare is None:
        return missing
    places, repairs, combined = rare
    order, found = _cheaper_order(combined, repairs, costs, k)
    # The rows of each rare combination, in the order in which these were repaired.
    turn = np.full(len(distinct), -1, dtype=np.int64)
    turn[places[order]] = np.arange(len(places))
    chosen = np.flatnonzero(turn[of_row] >= 0)
    chosen = chosen[np.argsort(turn[of_row[chosen]], kind="stable")]
    missing[chosen] = (found[:, None] & bits) > 0
    return missing


def _cheaper_order(rare: Rare, repairs: Ints, costs: Sequence[float], k: int) -> tuple[Ints, Ints]:
    """Repair the rarest rows first, equally rare ones in two orders; return the cheaper way."""
    from halfmask.kernels.suppression.repairs import (  # noqa: PLC0415 # numba takes a second
        cheapest_repairs,
    )

    compared, best = _compared_again(rare, repairs), None
    each_cost = np.array(costs)
    for ties in (np.arange(len(rare.rows)), -np.arange(len(rare.rows))):
        order = np.lexsort((ties, rare.counts[:, 0]))
        turned = {name: part[order] for name, part in rare._asdict().items()}
        found = cheapest_repairs(rare._replace(**turned), repairs, compared, k)
        bits = 1 << np.arange(len(costs))
        cost = float((((found[:, None] & bits) > 0) @ each_cost).sum())
        if best is None or cost < best[0]:
            best = cost, order, found
    assert best is not None  # noqa: S101 # for the type checker: there are two orders
    return best[1], best[2]


def _combinations(codes: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the different combinations, in order, that of each row, and the rows of each."""
    order = np.lexsort(codes.T[::-1])
    ordered = codes[order]
    is_first = np.ones(len(codes), dtype=np.bool_)
    is_first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    of_row = np.empty(len(codes), dtype=np.int64)
    of_row[order] = np.cumsum(is_first) - 1
    return ordered[is_first], of_row, np.diff(np.flatnonzero(is_first), append=len(codes))


def _cheapest_first(costs: Sequence[float]) -> tuple[Ints, NDArray[np.float64]]:
    """Return every set of columns as bits, and its cost: the cheapest, fewest and latest first."""
    places = range(len(costs))
    sets = [each for size in range(len(costs) + 1) for each in combinations(places, size)]
    sets.sort(key=lambda it: (fsum(costs[j] for j in it), len(it), sorted(-j for j in it)))
    bits = np.array([sum(1 << j for j in each) for each in sets], dtype=np.int64)
    return bits, np.array([fsum(costs[j] for j in each) for each in sets])


def _compared_again(rare: Rare, repairs: Ints) -> Ints:
    """Return the sets of columns that are left by a repair that is tried."""
    sets: set[int] = set()
    for e in range(int(rare.tried.max())):
        present = np.unique(rare.present[rare.tried > e])
        sets.update((present[present & repairs[e] == repairs[e]] & ~repairs[e]).tolist())
    return np.array(sorted(sets), dtype=np.int64)


def _rare(
    distinct: Ints, rows: Ints, costs: Sequence[float], bits: Ints, k: int
) -> tuple[Ints, Ints, Rare] | None:
    """Return the combinations that fewer than k rows agree with, and repairs; None without any."""
    from halfmask.kernels.suppression.repairs import Rare  # noqa: PLC0415 # as above

    agreeing = agreeing_codes(distinct, distinct, rows)
    places = np.flatnonzero(agreeing < k)
    if not len(places):
        return None
    codes, present = distinct[places], (distinct[places] > 0) @ bits
    repairs, cost = _cheapest_first(costs)
    counts = [agreeing[places].astype(np.int32)]
    last = np.zeros(len(places), dtype=np.int64)
    for e, repair in enumerate(repairs[1:].tolist(), start=1):
        asked = np.flatnonzero((last == 0) & (present & repair == repair))
        counts.append(np.zeros(len(places), dtype=np.int32))
        if not len(asked):
            continue
        kept = np.where(repair & bits, 0, codes[asked])
        found = np.minimum(agreeing_codes(kept, distinct, rows), k).astype(np.int32)
        counts[e][asked] = found
        last[asked[found >= k]] = e
        if last.all():
            break
    # Only a cheaper repair than the one that is known to do is worth another look.
    tried = np.minimum(np.searchsorted(cost, cost[last]), _MOST_TRIED)
    return places, repairs, Rare(codes, present, rows[places], np.column_stack(counts), last, tried)
