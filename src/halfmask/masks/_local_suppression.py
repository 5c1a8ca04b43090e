"""Local suppression: the fewest cells become missing until k rows agree with every row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from math import comb, fsum
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask.guarantees import agreeing_codes, agreeing_rows, class_of_row, codes_of
from halfmask.masks._checked_mask import CheckedMask
from halfmask.masks._mask import MaskTraits, counted_claim
from halfmask.masks._numbers import is_number
from halfmask.masks._strata import check_apart
from halfmask.masks._table_mask import HeldColumns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.claims import Claim
    from halfmask.kernels.suppression.repairs import Rare
    from halfmask.masks._mask import ReadColumns


#: Every set of columns can be a repair: 4,096 of 12 columns.
_MOST_COMPARED: Final = 12
_MOST_SUBSETS: Final = 5_000
_MOST_COST: Final = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSuppression(CheckedMask):
    """Make cells missing until at least k rows agree with every row.

    Parameters
    ----------
    columns
        The key variables, the most important first: of repairs with the same cost, one of later
        columns is taken.
    k
        How many rows must agree with each row, itself among them; at least 2.
    cost
        What it costs to make a cell of a column missing, 1 where none is given. Cells of a column
        with a high cost are kept: sdcMicro's ``importance`` has 1 for the column to keep.
    subsets
        With m: k rows must agree on each m of the columns, not on all. An attacker may then know
        any m of them.

    Raises
    ------
    ParameterError
        If a column is named twice, there are more than 12 to compare at once or more than 5,000
        subsets, or another parameter can't be.

    Notes
    -----
    Rows agree if in each key variable they have the same value or one of them misses it, as in
    sdcMicro's ``freqCalc``; ``subsets`` is its ``combs``. Rare rows are repaired one after the
    other (Templ, Kowarik and Meindl 2015), the rarest first: each by the cheapest cells with which
    k rows agree with it. A repair adds to the counts of other rows, so that some need none.

    **Guarantees.** At least k rows agree with every row. Cells of rows that had k at the start
    stay. The same table gives the same cells.

    **Edge cases.** The count is weaker than k-anonymity. A row can reach k through rows that miss
    cells, and still be the only row with its values. A repaired row can be the only one that
    agrees with a person's true values. `claims` states both ways of counting. Generalize first, so
    that few rows are rare. Cells that were missing agree with all values from the start. The
    fewest cells overall aren't found: that is NP-hard. A table with fewer than k rows is refused.

    **Cost.** 100,000 rows of six columns take a few seconds; each further column doubles it.

    Examples
    --------
    >>> people = pl.DataFrame({"sex": ["f", "f", "m"], "town": ["A", "B", "B"]})
    >>> mask = LocalSuppression(columns=("sex", "town"), k=2)
    >>> mask.fit(people, bytes(32)).apply(people, 0).rows()
    [('f', None), ('f', 'B'), (None, 'B')]
    """

    name: ClassVar[str] = "local-suppression"
    coarsens: ClassVar[bool] = True
    is_matchable: ClassVar[bool] = True
    needs_rows: ClassVar[bool] = True
    suppresses: ClassVar[bool] = True
    # Some cells of a value become missing.
    traits: ClassVar[MaskTraits] = MaskTraits(splits_values=True)
    weaknesses: ClassVar[tuple[str, ...]] = ("wildcard-counts", "nulls-visible", "order-leaking")

    columns: tuple[str, ...]
    k: int = field(metadata={"ge": 2})
    cost: dict[str, float] | None = None
    subsets: int | None = field(default=None, metadata={"ge": 1})

    def _check_together(self) -> None:
        check_apart(self.columns, (), mask=self.name, named="reads")
        if (self.subsets or 0) > len(self.columns):
            raise ParameterError(
                f"The 'subsets' of the mask {self.name!r} must be at most the number of its "
                f"columns, {len(self.columns)}. Got {self.subsets}."
            )
        compared = self.subsets or len(self.columns)
        if compared > _MOST_COMPARED or comb(len(self.columns), compared) > _MOST_SUBSETS:
            raise ParameterError(
                f"The mask {self.name!r} compares rows on at most {_MOST_COMPARED} columns at "
                f"once, and on at most {_MOST_SUBSETS} subsets of columns.",
                hint="Name fewer columns, or set 'subsets' to how many an attacker may know.",
            )
        self._check_cost()

    def _check_cost(self) -> None:
        given = self.cost or {}
        if not isinstance(given, Mapping):
            raise ParameterError(
                f"The 'cost' of the mask {self.name!r} must give a number for columns."
            )
        unknown = [name for name in given if name not in self.columns]
        if unknown:
            raise ParameterError(
                f"The 'cost' of the mask {self.name!r} names {unknown[0]!r}, which is none "
                "of its columns."
            )
        for name, each in given.items():
            if not (is_number(each) and 0 < each < _MOST_COST):
                raise ParameterError(
                    f"The 'cost' of column {name!r} must be a number above 0 and below 1e9."
                )

    @property
    def reads(self) -> tuple[str, ...]:
        """No further columns."""
        return ()

    def written(self, dtypes: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
        """Return the columns' own types; see `TableMask`."""
        for name in self.columns:
            if dtypes[name].is_nested() or dtypes[name] in (pl.Object, pl.Binary):
                raise SchemaError(
                    f"Column {name!r} has the mask {self.name!r}, which is for single values. "
                    f"Got the type {dtypes[name].base_type()}."
                )
        return {name: dtypes[name] for name in self.columns}

    def fit(self, table: pl.DataFrame, key: bytes) -> SuppressedCells:
        """Return the plan, which holds the columns; see `TableMask`."""
        self.written(table.schema)
        if table.height < self.k:
            raise DataError(
                f"The table has {table.height} rows, and the mask {self.name!r} needs at least "
                f"k = {self.k}.",
                hint="Choose a smaller k, or release nothing.",
            )
        costs = [float((self.cost or {}).get(name, 1.0)) for name in self.columns]
        missing = repaired(table.select(self.columns), self._compared(), costs, k=self.k)
        kept = table.select(
            pl.when(pl.lit(pl.Series(missing[:, j])))
            .then(pl.lit(None, dtype=table.schema[name]))
            .otherwise(pl.col(name))
            .alias(name)
            for j, name in enumerate(self.columns)
        )
        n_cells = missing.sum(axis=0).tolist()
        return SuppressedCells(kept, dict(zip(self.columns, n_cells, strict=True)))

    def claims(self, columns: Sequence[str], read: ReadColumns) -> list[Claim]:
        """Return the claim, with both ways of counting; see `ClaimingMask`.

        Raises
        ------
        DataError
            If fewer than k rows agree with a row: rows were dropped afterwards.
        """
        evidence = agreement(read(columns), self._compared(), k=self.k)
        if evidence["smallest"] < self.k:
            raise DataError(
                f"After the mask {self.name!r} rows were dropped, so that fewer than "
                f"k = {self.k} agree with some rows.",
                hint="Put the mask that drops rows before it.",
            )
        subsets = {} if self.subsets is None else {"subsets": self.subsets}
        model = "k-anonymity-with-suppression"
        return [counted_claim(model, columns, evidence=evidence, k=self.k, **subsets)]

    def _compared(self) -> Sequence[tuple[int, ...]]:
        """Return the sets of columns on which rows are compared."""
        places = range(len(self.columns))
        return list(combinations(places, self.subsets or len(self.columns)))


class SuppressedCells(HeldColumns):
    """A plan that holds the columns, and how many cells of each it has made missing."""

    def __init__(self, columns: pl.DataFrame, suppressed: Mapping[str, int]) -> None:
        super().__init__(columns)
        self.suppressed = MappingProxyType(dict(suppressed))


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


def agreement(
    table: pl.DataFrame, compared: Sequence[tuple[int, ...]], *, k: int
) -> dict[str, int]:
    """Count both ways on each set of columns, and state the worst of them.

    Examples
    --------
    >>> import polars as pl
    >>> found = agreement(pl.DataFrame({"sex": ["f", "f", None]}), [(0,)], k=2)
    >>> found["smallest"], found["smallest_strict"], found["rows_under_k_strict"]
    (3, 1, 1)
    """
    smallest = strict = table.height
    under = np.zeros(table.height, dtype=np.bool_)
    for places in compared:
        columns = [table.columns[j] for j in places]
        smallest = min(smallest, int(agreeing_rows(table, columns=columns).min(initial=smallest)))
        of_row, n_classes = class_of_row(table, quasi_identifiers=columns)
        equal = np.bincount(of_row, minlength=n_classes)[of_row]
        strict = min(strict, int(equal.min(initial=strict)))
        under |= equal < k
    return {
        "smallest": smallest,
        "smallest_strict": strict,
        "rows_under_k_strict": int(under.sum()),
        "missing_cells": sum(table[name].null_count() for name in table.columns),
    }
