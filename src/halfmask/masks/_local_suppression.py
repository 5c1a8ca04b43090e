"""Local suppression: the fewest cells become missing until k rows agree with every row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, ClassVar, Final

import polars as pl

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask.masks._agreement import agreement
from halfmask.masks._checked_mask import CheckedMask
from halfmask.masks._claims import counted_claim
from halfmask.masks._numbers import is_number
from halfmask.masks._repairs import repaired
from halfmask.masks._strata import check_apart
from halfmask.masks._table_mask import HeldColumns
from halfmask.masks._traits import MaskTraits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.claims import Claim
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
    importance
        What it costs to make a cell of a column missing, 1 where none is given.
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
    importance: dict[str, float] | None = None
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
        self._check_importance()

    def _check_importance(self) -> None:
        given = self.importance or {}
        if not isinstance(given, Mapping):
            raise ParameterError(
                f"The 'importance' of the mask {self.name!r} must give a number for columns."
            )
        unknown = [name for name in given if name not in self.columns]
        if unknown:
            raise ParameterError(
                f"The 'importance' of the mask {self.name!r} names {unknown[0]!r}, which is none "
                "of its columns."
            )
        for name, cost in given.items():
            if not (is_number(cost) and 0 < cost < _MOST_COST):
                raise ParameterError(
                    f"The 'importance' of column {name!r} must be a number above 0 and below 1e9."
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

    def fit(self, table: pl.DataFrame, key: bytes) -> HeldColumns:
        """Return the plan, which holds the columns; see `TableMask`."""
        self.written(table.schema)
        if table.height < self.k:
            raise DataError(
                f"The table has {table.height} rows, and the mask {self.name!r} needs at least "
                f"k = {self.k}.",
                hint="Choose a smaller k, or release nothing.",
            )
        costs = [float((self.importance or {}).get(name, 1.0)) for name in self.columns]
        missing = repaired(table.select(self.columns), self._compared(), costs, k=self.k)
        return HeldColumns(
            table.select(
                pl.when(pl.lit(pl.Series(missing[:, j])))
                .then(pl.lit(None, dtype=table.schema[name]))
                .otherwise(pl.col(name))
                .alias(name)
                for j, name in enumerate(self.columns)
            )
        )

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
