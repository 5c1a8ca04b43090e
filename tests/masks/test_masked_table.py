"""Masks of several columns and of rows: one reader around another, the same in each pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.microdata.table_masks import Share

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError
from halfmask.data import open_table
from halfmask.masks import (
    HeldColumns,
    KeyedTokens,
    KmAnonymity,
    MaskedTable,
    Microaggregation,
    RandomNoise,
    Rounding,
    TailCoding,
    mask_table,
)

KEY = bytes(range(32))
TABLE = pl.DataFrame(
    {
        "age": [17, 33, None, 41, 58, 90, 33],
        "pay": [10, 2000, 310, None, 77, 12, 99999],
        "town": pl.Series(["A", "B", "A", "B", "A", "B", "A"], dtype=pl.Enum(["A", "B"])),
        "plain": [1, 2, 3, 4, 5, 6, 7],
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reversed:
    """Write the column's values in the reverse order, missing cells kept."""

    name: ClassVar[str] = "reversed"
    coarsens: ClassVar[bool] = False
    is_matchable: ClassVar[bool] = True
    needs_rows: ClassVar[bool] = True
    suppresses: ClassVar[bool] = False
    weaknesses: ClassVar[tuple[str, ...]] = ()
    reads: ClassVar[tuple[str, ...]] = ()
    columns: tuple[str, ...]

    def written(self, dtypes):
        return {name: dtypes[name] for name in self.columns}

    def fit(self, table, key):  # noqa: ARG002 # a TableMask's
        found = {}
        for cells in table.select(self.columns):
            there = cells.is_not_null().arg_true()
            found[cells.name] = cells.clone().scatter(there, cells.drop_nulls().reverse())
        return HeldColumns(pl.DataFrame(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Blank:
    """Make cells of some rows missing."""

    name: ClassVar[str] = "blank"
    coarsens: ClassVar[bool] = True
    is_matchable: ClassVar[bool] = True
    needs_rows: ClassVar[bool] = False
    suppresses: ClassVar[bool] = True
    weaknesses: ClassVar[tuple[str, ...]] = ()
    reads: ClassVar[tuple[str, ...]] = ("plain",)
    columns: tuple[str, ...]

    def written(self, dtypes):
        return {name: dtypes[name] for name in self.columns}

    def fit(self, table, key):  # noqa: ARG002 # a TableMask's
        assert not table.height
        return self

    def apply(self, batch, first_row):  # noqa: ARG002 # a TableMaskPlan's
        odd = pl.col("plain") % 2 == 1
        return batch.select(pl.when(odd).then(pl.col(it)).alias(it) for it in self.columns)


MASKS: list[Any] = [_Reversed(columns=("pay",)), Share(share=0.6), _Blank(columns=("age", "town"))]


@pytest.mark.slow
@given(n_rows=st.integers(1, 8), columns=st.permutations(TABLE.columns))
def test_batches_of_any_size_and_columns_see_the_same(n_rows, columns):
    """Columns that a mask reads needn't be asked for; rows stay together."""
    source = mask_table(open_table(TABLE), {"age": Rounding(base=10)}, key=KEY, table_masks=MASKS)
    whole = source.read()

    assert 0 < source.n_rows < 7
    for some in (columns, columns[:2]):
        parts = pl.concat(list(source.batches(n_rows, columns=list(some))))
        assert parts.equals(whole.select(some))


def test_unmasked_rows_are_those_that_are_kept():
    """In the same order, so that they can be compared row by row."""
    found = MaskedTable.of(open_table(TABLE), {}, MASKS, key=KEY)
    masked, raw = found.masked.read(), found.unmasked.read()

    assert masked["plain"].equals(raw["plain"])
    assert raw["pay"].equals(TABLE.filter(pl.col("plain").is_in(raw["plain"].implode()))["pay"])


def test_suppression_keeps_the_order_of_categories_and_follows_a_mask_that_coarsens():
    """What is written is a category or missing."""
    found = mask_table(
        open_table(TABLE), {"age": Rounding(base=10)}, key=KEY, table_masks=[MASKS[2]]
    )

    assert found.orders == {"town": ("A", "B")}
    assert found.read()["age"].to_list() == [20, None, None, None, 60, None, 30]


@pytest.mark.parametrize(
    ("masks", "more"),
    [
        ({"pay": Rounding(base=10)}, [_Reversed(columns=("pay",))]),
        ({}, [_Reversed(columns=("pay",)), _Reversed(columns=("age", "pay"))]),
        ({"pay": RandomNoise(law="laplace", scale=1.0, decimals=0)}, [_Blank(columns=("pay",))]),
        ({}, [_Reversed(columns=("pay", "pay"))]),
        ({"pay": Rounding(base=10)}, [Microaggregation(columns=("pay",), k=2)]),
        ({"pay": TailCoding(high=5)}, [Microaggregation(columns=("pay",), k=2)]),
        ({"pay": KeyedTokens()}, [KmAnonymity(column="pay", k=2, m=1, separator="|")]),
    ],
)
def test_a_column_has_one_mask(masks, more):
    """Named in the error, before anything is read."""
    with pytest.raises(ParameterError, match=r"'pay'|twice"):
        mask_table(open_table(TABLE), masks, key=KEY, table_masks=more)


def test_columns_are_checked_and_an_empty_sample_is_refused():
    """By name, with a hint."""
    with pytest.raises(ColumnNotFoundError, match="wage"):
        mask_table(open_table(TABLE), {}, key=KEY, table_masks=[_Reversed(columns=("wage",))])
    with pytest.raises(DataError, match="keeps no row"):
        mask_table(open_table(TABLE), {}, key=KEY, table_masks=[Share(share=0.0)])


@pytest.mark.parametrize("column", ["age", "pay"])
def test_a_plan_that_removes_cells_without_saying_so_is_refused(monkeypatch, column):
    """Power of the check behind each mask: one that suppresses must say so."""
    monkeypatch.setattr(_Blank, "suppresses", False)
    source = mask_table(open_table(TABLE), {}, key=KEY, table_masks=[_Blank(columns=(column,))])

    with pytest.raises(DataError, match=f"'{column}'"):
        source.read()


def test_draws_differ_for_other_rows_and_parameters():
    """So that two releases under one key can't be subtracted."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Keys(_Reversed):
        part: int = 0

        def fit(self, table, key):
            seen.append(key)
            return _Reversed.fit(self, table, key)

    seen: list[bytes] = []
    other = TABLE.with_columns(pay=pl.col("pay") + 1)
    for table, part in ((TABLE, 0), (TABLE, 0), (TABLE, 1), (other, 0)):
        mask_table(open_table(table), {}, key=KEY, table_masks=[Keys(columns=("pay",), part=part)])

    assert seen[0] == seen[1]
    assert len(set(seen)) == 3
