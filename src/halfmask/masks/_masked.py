"""A table as it will be released: masked columns in the place of those that were read."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING

from halfmask._errors import ColumnNotFoundError, DataError
from halfmask._random import KEY_BYTES
from halfmask.data import ReaderAround
from halfmask.engines import LocalEngine, map_table
from halfmask.masks._ordered_columns import known_orders, orders_for, with_texts, with_types
from halfmask.masks._value_counts import ValueCounts
from halfmask.masks.pseudonym import keyed_by_column, scoped_key

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from halfmask.data import Reader, Source
    from halfmask.engines import Engine
    from halfmask.masks._mask import Mask, MaskPlan


def masked_columns(
    source: Source,
    masks: Mapping[str, Mask],
    *,
    key: bytes,
    vault_key: bytes | None = None,
    table: str = "",
    engine: Engine | None = None,
    ordinal: Container[str] | None = None,
) -> Source:
    """Return a table with masks in front of some of its columns; see `MaskedTable.of`."""
    if not masks:
        return source
    absent = [name for name in masks if name not in source.dtypes]
    if absent:
        raise ColumnNotFoundError.of(absent, source.columns, where="the table")
    source = with_types(source, orders_for(masks, known_orders(source, ordinal)))
    for name, mask in masks.items():  # before a pass over the table
        mask.written(name, source.dtypes[name])
    keys = {
        name: scoped_key(mask, key=key, vault_key=vault_key, table=table)
        for name, mask in masks.items()
    }
    seen = _seen(source, masks, engine or LocalEngine())
    plans = {
        name: mask.fit(name, source.dtypes[name], *seen[name].of(name, mask, keys[name]))
        for name, mask in masks.items()
    }
    return with_texts(source.through(lambda reader: MaskedReader(reader, masks, plans)))


class SeenColumn:
    """What a mask is fitted to: its column's values, and a hash of its cells in order."""

    def __init__(self) -> None:
        self._counts: ValueCounts | None = None
        self._cells = hashlib.blake2b(digest_size=KEY_BYTES)

    def see(self, counts: ValueCounts | None, hashes: NDArray[np.uint64] | None) -> None:
        """Add a batch, in the table's order."""
        if counts is not None:
            self._counts = counts if self._counts is None else self._counts + counts
        if hashes is not None:
            self._cells.update(hashes.data)

    def of(self, column: str, mask: Mask, key: bytes) -> tuple[ValueCounts | None, bytes]:
        """Return the counts, and the mask's own key."""
        made = keyed_by_column(mask, column, key)
        if not mask.coarsens:
            # Noise that is the same in two releases cancels in their difference.
            made.update(b"\0" + repr(mask).encode() + self._cells.digest())
        return self._counts, made.digest()


def _seen(source: Source, masks: Mapping[str, Mask], engine: Engine) -> dict[str, SeenColumn]:
    """Look at the columns of masks that need it, in one pass."""
    found = {name: SeenColumn() for name in masks}
    looked = [name for name, mask in masks.items() if mask.needs_counts or not mask.coarsens]
    if looked:
        look = partial(_look, {name: masks[name] for name in looked})
        for cells in map_table(engine, source, looked, look):
            for name in looked:
                found[name].see(*cells[name])
    return found


def looked_at(cells: pl.Series, mask: Mask) -> tuple[ValueCounts | None, NDArray[np.uint64] | None]:
    """Return the counts and the hashes of some cells, where a mask needs them."""
    counts = ValueCounts.of(cells) if mask.needs_counts else None
    return counts, None if mask.coarsens else cells.hash().to_numpy()


def _look(
    masks: Mapping[str, Mask], number: int, batch: pl.DataFrame
) -> dict[str, tuple[ValueCounts | None, NDArray[np.uint64] | None]]:
    del number  # all batches are looked at alike
    return {name: looked_at(batch[name], mask) for name, mask in masks.items()}


class MaskedReader(ReaderAround):
    """A reader that masks columns while it reads the table."""

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
        first_row = self.first_row
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
