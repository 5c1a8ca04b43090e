"""Readers of a table behind a mask of several columns, or of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import polars as pl

from halfmask._errors import DataError
from halfmask.data import ReaderAround

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halfmask.data import Reader
    from halfmask.masks._table_mask import RowMaskPlan, TableMask, TableMaskPlan


class ChangedReader(ReaderAround):
    """A reader that masks several columns together."""

    def __init__(self, reader: Reader, mask: TableMask, plan: TableMaskPlan) -> None:
        self._reader, self._mask, self._plan = reader, mask, plan
        self.columns = reader.columns
        self.dtypes = {**reader.dtypes, **mask.written(reader.dtypes)}
        self.n_rows = reader.n_rows
        others = () if mask.suppresses else mask.columns
        self.orders = {
            name: it
            for name, it in reader.orders.items()
            if name not in others or isinstance(self.dtypes[name], pl.Enum)
        }

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[pl.DataFrame]:
        changed = [name for name in columns if name in self._mask.columns]
        if not changed:
            yield from self._reader.frames(columns, n_rows)
            return
        first_row = self.first_row
        needed = list(dict.fromkeys((*columns, *self._mask.columns, *self._mask.reads)))
        own = list(dict.fromkeys((*self._mask.columns, *self._mask.reads)))
        for frame in self._reader.frames(needed, n_rows):
            found = self._plan.apply(frame.select(own), first_row)
            self._check(frame, found)
            yield frame.with_columns(found.select(changed)).select(columns)
            first_row += frame.height

    def _check(self, before: pl.DataFrame, after: pl.DataFrame) -> None:
        for name in self._mask.columns:
            was, now = before[name], after[name]
            if (
                now.dtype != self.dtypes[name]
                or now.len() != was.len()
                or not self._nulls(was, now)
            ):
                raise DataError(
                    f"The mask {self._mask.name!r} wrote another type, another number of cells, "
                    f"or something where a cell of column {name!r} is missing.",
                    hint="This is a fault of the mask.",
                )

    def _nulls(self, was: pl.Series, now: pl.Series) -> bool:
        if not self._mask.suppresses:
            return now.is_null().equals(was.is_null())
        kept = now.is_not_null()
        return bool((was.is_not_null() | ~kept).all())


class KeptReader(ReaderAround):
    """A reader of the rows that a sample keeps."""

    def __init__(self, reader: Reader, plan: RowMaskPlan) -> None:
        self._reader, self._plan = reader, plan
        self.columns, self.dtypes = reader.columns, dict(reader.dtypes)
        self.orders, self.n_rows = dict(reader.orders), plan.n_rows
        self._first = 0

    def part(self, rows: range) -> Self:
        """Return a reader of the kept ones of some rows."""
        found = super().part(rows)
        first, read = found.first_row, found.n_rows
        found._first = first  # noqa: SLF001 # of its own class
        found.first_row = int(self._plan.kept(0, first).sum())
        found.n_rows = int(self._plan.kept(first, read).sum())
        return found

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[pl.DataFrame]:
        first_row = self._first
        for frame in self._reader.frames(columns, n_rows):
            found = frame.filter(self._plan.kept(first_row, frame.height))
            if found.height:
                yield found
            first_row += frame.height
