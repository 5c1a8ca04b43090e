"""Rank swapping: numbers swap places with numbers of near rank."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
import polars as pl

from halfmask._errors import SchemaError
from halfmask._random import keyed_integers
from halfmask._validation import rows_of_share
from halfmask.masks._checked_mask import CheckedMask
from halfmask.masks._mask import MaskTraits
from halfmask.masks._ordered_columns import check_orders, in_order
from halfmask.masks._strata import check_apart, strata_rows
from halfmask.masks._table_mask import HeldColumns
from halfmask.masks._value_ranks import check_ordered, ranked_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_MOST_DRAWS = 1 << 20
_FEWEST_DRAWS = 66  # what `swap_near_ranks` may need for one rank
#: Types whose values are words of 64 bits.
_WORDS: Final[dict[pl.DataType, type[np.generic]]] = {
    pl.Int64(): np.int64,
    pl.UInt64(): np.uint64,
    pl.Float64(): np.float64,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSwapping(CheckedMask):
    """Swap each number with one whose rank is near.

    Parameters
    ----------
    columns
        Columns with an order: numbers, dates, times or ordered categories.
    max_rank_distance
        The largest distance of swapped ranks, as a share of the cells: above 0, at most 1.
    by
        Strata: only rows that agree in these columns are swapped.
    orders
        For a column of texts, its values from low to high. Columns whose type has an order need
        none: polars' ``Enum``, ordered categories of pandas and of Arrow.

    Raises
    ------
    ParameterError
        If the distance isn't such a share, a column is also one of the strata, or an order isn't
        that of a column.

    Notes
    -----
    Rank swapping as in Moore (1996), after Dalenius and Reiss (1982): in rising order, each rank
    without a partner picks one among the next ranks that have none. Each column is swapped by
    itself. sdcMicro's ``rankSwap`` calls the distance P and writes it in percent.

    **Guarantees.** The values of a column, and of each stratum, are exactly those of before. Two
    swapped cells are at most ``max(1, floor(max_rank_distance * cells))`` ranks apart, of the
    cells of their stratum. At most one cell of a stratum has no partner. Equal values have
    ranks in a random order. Draws are unknown without the key.

    **Edge cases.** Missing cells stay missing and have no rank. Cells that are swapped with an
    equal value stay the same. A small distance changes little, and a large one weakens the
    relations between columns. A stratum of one row is unchanged.

    Examples
    --------
    >>> pay = pl.DataFrame({"pay": [10, 20, 30, 40]})
    >>> mask = RankSwapping(columns=("pay",), max_rank_distance=0.25)
    >>> mask.fit(pay, bytes(32)).apply(pay, 0)["pay"].to_list()
    [20, 10, 40, 30]
    """

    name: ClassVar[str] = "rank-swapping"
    coarsens: ClassVar[bool] = False
    is_matchable: ClassVar[bool] = True  # roughly
    needs_rows: ClassVar[bool] = True
    suppresses: ClassVar[bool] = False
    traits: ClassVar[MaskTraits] = MaskTraits(takes_order=True, unstated=("orders",))
    weaknesses: ClassVar[tuple[str, ...]] = (
        "left-out-values",
        "nulls-visible",
        "outlier-visible",
        "within-distance",
    )

    columns: tuple[str, ...]
    max_rank_distance: float = field(metadata={"gt": 0, "le": 1})
    by: tuple[str, ...] = ()
    orders: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def _check_together(self) -> None:
        check_apart(self.columns, self.by, mask=self.name, named="by")
        check_orders(self.orders, self.columns, mask=self.name)

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns of the strata."""
        return self.by

    def written(self, dtypes: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
        """Return the columns' own types; see `TableMask`."""
        for name in self.columns:
            if name not in self.orders:
                check_ordered(name, dtypes[name], mask=self.name)
            elif dtypes[name] not in (pl.String, pl.Categorical, pl.Enum):
                raise SchemaError(
                    f"Column {name!r} has an order, which is for texts. "
                    f"Got the type {dtypes[name].base_type().__name__}."
                )
        return {name: dtypes[name] for name in self.columns}

    def fit(self, table: pl.DataFrame, key: bytes) -> HeldColumns:
        """Return the plan, which holds the swapped columns; see `TableMask`."""
        self.written(table.schema)
        strata = strata_rows(table, self.by)
        return HeldColumns(
            pl.DataFrame(
                [
                    self._swapped(table[name], strata, _Draws(key, stream=i))
                    for i, name in enumerate(self.columns)
                ]
            )
        )

    def _swapped(
        self, cells: pl.Series, strata: list[NDArray[np.uint32]], draws: _Draws
    ) -> pl.Series:
        from halfmask.kernels.swapping.ranks import (  # noqa: PLC0415 # numba takes a second
            place_partners,
            shuffle_ties,
            swap_near_ranks,
        )

        ranked = in_order(cells, self.orders.get(cells.name))
        present = cells.is_not_null().to_numpy()
        words = _words(cells)
        found = np.zeros_like(words)
        for stratum in strata:
            there = present[stratum]
            rows = stratum if there.all() else stratum[there]
            are_all = len(rows) == cells.len()
            order, is_first = ranked_rows(ranked if are_all else ranked.gather(rows))
            if not is_first.all():
                shuffle_ties(is_first, order, draws.take(len(rows)))
            distance = max(1, rows_of_share(self.max_rank_distance, len(rows)))
            partner = np.arange(len(rows), dtype=np.uint32)
            start = 0
            while start < len(rows):
                some = draws.take(min(_MOST_DRAWS, 2 * len(rows) + _FEWEST_DRAWS))
                start, _ = swap_near_ranks(partner, start, distance, some)
            place_partners(order if are_all else rows[order], partner, words, found)
        return _of_words(found, cells)


def _words(cells: pl.Series) -> NDArray[np.int64]:
    """Return the 64 bits of each value; of other types the numbers of the rows."""
    physical = cells.to_physical()
    if physical.dtype in _WORDS:
        words = physical.fill_null(0).to_numpy().view(np.int64)
    else:
        words = np.arange(cells.len())
    # Whether polars shares its memory or copies: one compilation for both.
    words.setflags(write=False)
    return words


def _of_words(words: NDArray[np.int64], cells: pl.Series) -> pl.Series:
    """Return the column that words of a column stand for; missing where that is."""
    dtype = _WORDS.get(cells.to_physical().dtype)
    if dtype is None:
        found = cells.gather(words)
    else:
        import pyarrow as pa  # noqa: PLC0415 # takes the array without a copy

        found = pl.Series(cells.name, pa.array(words.view(dtype))).cast(cells.dtype)
    return found.zip_with(cells.is_not_null(), cells) if cells.null_count() else found


class _Draws:
    """Random 32-bit integers of one stream, each used once."""

    def __init__(self, key: bytes, *, stream: int) -> None:
        self._key, self._stream, self._used = key, stream, 0

    def take(self, n: int) -> NDArray[np.uint32]:
        words = -(-n // 2)
        found = keyed_integers(words, key=self._key, stream=self._stream, first=self._used)
        self._used += words
        return found.view(np.uint32)[:n]
