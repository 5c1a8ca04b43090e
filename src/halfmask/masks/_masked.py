"""A table as it will be released: masked columns in the place of those that were read."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from halfmask._errors import ColumnNotFoundError, DataError
from halfmask._random import KEY_BYTES
from halfmask.masks._pseudonym import keyed_by_column, scoped_key
from halfmask.masks._value_counts import ValueCounts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from halfmask.data import Reader, Source
    from halfmask.masks._mask import Mask, MaskPlan

__all__ = ["MaskedReader", "SeenColumn", "masked_columns"]


def masked_columns(
    source: Source,
    masks: Mapping[str, Mask],
    *,
    key: bytes,
    vault_key: bytes | None = None,
    table: str = "",
) -> Source:
    """Return a table with masks in front of some of its columns; see `mask_table`."""
    if not masks:
        return source
    absent = [name for name in masks if name not in source.dtypes]
    if absent:
        raise ColumnNotFoundError.of(absent, source.columns, where="the table")
    for name, mask in masks.items():  # before a pass over the table
        mask.written(name, source.dtypes[name])
    keys = {
        name: scoped_key(mask, key=key, vault_key=vault_key, table=table)
        for name, mask in masks.items()
    }
    seen = _seen(source, masks)
    plans = {
        name: mask.fit(name, source.dtypes[name], *seen[name].of(name, mask, keys[name]))
        for name, mask in masks.items()
    }
    return source.through(lambda reader: MaskedReader(reader, masks, plans))


class SeenColumn:
    """What a mask is fitted to: its column's values, and a hash of its cells in order."""

    def __init__(self) -> None:
        self._counts: ValueCounts | None = None
        self._cells = hashlib.blake2b(digest_size=KEY_BYTES)

    def see(self, cells: pl.Series, mask: Mask) -> None:
        if mask.needs_counts:
            part = ValueCounts.of(cells)
            self._counts = part if self._counts is None else self._counts + part
        if not mask.coarsens:
            self._cells.update(cells.hash().to_numpy().data)

    def of(self, column: str, mask: Mask, key: bytes) -> tuple[ValueCounts | None, bytes]:
        """Return the counts, and the mask's own key."""
        made = keyed_by_column(mask, column, key)
        if not mask.coarsens:
            # Noise that is the same in two releases cancels in their difference.
            made.update(b"\0" + repr(mask).encode() + self._cells.digest())
        return self._counts, made.digest()


def _seen(source: Source, masks: Mapping[str, Mask]) -> dict[str, SeenColumn]:
    """Look at the columns of masks that need it, in one pass."""
    found = {name: SeenColumn() for name in masks}
    looked = [name for name, mask in masks.items() if mask.needs_counts or not mask.coarsens]
    for batch in source.batches(columns=looked) if looked else ():
        for name in looked:
            found[name].see(batch[name], masks[name])
    return found


class MaskedReader:
    """A reader that masks columns while it reads the table.

    Parameters
    ----------
    reader
        Reader of the raw table.
    masks, plans
        Mask and mask plan of each masked column, by the column's name.
    """

    def __init__(
        self, reader: Reader, masks: Mapping[str, Mask], plans: Mapping[str, MaskPlan]
    ) -> None:
        self._reader, self._plans = reader, dict(plans)
        self.columns = reader.columns
        self.dtypes = dict(reader.dtypes)
        for name, mask in masks.items():
            self.dtypes[name] = mask.written(name, reader.dtypes[name])
        self.n_rows = reader.n_rows
        # What is written for a category isn't always one of them.
        self.orders = {name: it for name, it in reader.orders.items() if name not in masks}

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[pl.DataFrame]:
        """Yield the rows in frames, as the table below does."""
        first_row = 0
        for frame in self._reader.frames(columns, n_rows):
            yield frame.with_columns(
                self._masked(frame[name], first_row)
                for name in frame.columns
                if name in self._plans
            )
            first_row += frame.height

    def _masked(self, cells: pl.Series, first_row: int) -> pl.Series:
        found = self._plans[cells.name].apply(cells, first_row).alias(cells.name)
        if found.dtype != self.dtypes[cells.name] or not found.is_null().equals(cells.is_null()):
            raise DataError(
                f"The mask of column {cells.name!r} wrote another type, another number of cells, "
                "or something where a cell is missing.",
                hint="This is a fault of the mask.",
            )
        return found
