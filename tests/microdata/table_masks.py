"""Masks of several columns and of rows for tests: each the simplest that there can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from halfmask.masks import HeldColumns, row_fractions


@dataclass(frozen=True, slots=True, kw_only=True)
class Smallest:
    """Write the smallest value of each column."""

    name: ClassVar[str] = "smallest"
    coarsens: ClassVar[bool] = True
    is_matchable: ClassVar[bool] = True
    needs_rows: ClassVar[bool] = True
    suppresses: ClassVar[bool] = False
    weaknesses: ClassVar[tuple[str, ...]] = ("order-leaking",)
    reads: ClassVar[tuple[str, ...]] = ()
    columns: tuple[str, ...]

    def written(self, dtypes):
        return {name: dtypes[name] for name in self.columns}

    def fit(self, table, key):  # noqa: ARG002 # a TableMask's
        return HeldColumns(table.with_columns(pl.all().min()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Write values of other rows."""

    name: ClassVar[str] = "drawn"
    coarsens: ClassVar[bool] = False
    is_matchable: ClassVar[bool] = True
    needs_rows: ClassVar[bool] = True
    suppresses: ClassVar[bool] = False
    weaknesses: ClassVar[tuple[str, ...]] = ("order-leaking",)
    reads: ClassVar[tuple[str, ...]] = ()
    columns: tuple[str, ...]

    def written(self, dtypes):
        return {name: dtypes[name] for name in self.columns}

    def fit(self, table, key):
        order = np.argsort(row_fractions(table.height, key=key))
        return HeldColumns(table.select(self.columns)[order])


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Keep a share of the rows."""

    name: ClassVar[str] = "share"
    weaknesses: ClassVar[tuple[str, ...]] = ("order-leaking",)
    reads: ClassVar[tuple[str, ...]] = ()
    share: float

    def fit(self, table, n_rows, key):  # noqa: ARG002 # a RowMask's
        return _Kept(row_fractions(n_rows, key=key) < self.share)


class _Kept:
    def __init__(self, rows):
        self.rows, self.n_rows = rows, int(np.count_nonzero(rows))

    def kept(self, first_row, height):
        return pl.Series(self.rows[first_row : first_row + height])
