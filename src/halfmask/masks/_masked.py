"""A table as it will be released: masked columns in the place of those that were read."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from halfmask._errors import ColumnNotFoundError
from halfmask._random import KEY_BYTES
from halfmask.masks._value_counts import ValueCounts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from halfmask.data import Reader, Source
    from halfmask.masks._mask import Mask, MaskPlan

__all__ = ["MaskedReader", "mask_table"]


def mask_table(source: Source, masks: Mapping[str, Mask], *, key: bytes) -> Source:
    """Return a table with masks in front of some of its columns.

    Parameters
    ----------
    source
        The table.
    masks
        The mask of each column that has one.
    key
        32 secret bytes. Each column has a key of its own, derived from them.

    Returns
    -------
    Source
        The table as it will be released: each pass over it, in batches of any size, sees the same.

    Raises
    ------
    ColumnNotFoundError
        If a column isn't there.
    SchemaError
        If a mask isn't for columns of the type.
    DataError
        If a mask can't treat a number of the column exactly.

    Notes
    -----
    Masks that need a column's values (`Pram`, `TailCoding` by share) cost a pass over it.

    Examples
    --------
    >>> import polars as pl
    >>> from halfmask.data import open_table
    >>> from halfmask.masks import Rounding
    >>> table = open_table(pl.DataFrame({"income": [1234, 5678]}))
    >>> mask_table(table, {"income": Rounding(base=100)}, key=bytes(32)).read()["income"].to_list()
    [1200, 5700]
    """
    if not masks:
        return source
    absent = [name for name in masks if name not in source.dtypes]
    if absent:
        raise ColumnNotFoundError.of(absent, source.columns, where="the table")
    for name, mask in masks.items():  # before a pass over the table
        mask.written(name, source.dtypes[name])
    counts = _counts(source, [name for name, mask in masks.items() if mask.needs_counts])
    plans = {
        name: mask.fit(name, source.dtypes[name], counts.get(name), _column_key(key, name))
        for name, mask in masks.items()
    }
    return source.through(lambda reader: MaskedReader(reader, masks, plans))


def _counts(source: Source, columns: Sequence[str]) -> dict[str, ValueCounts]:
    """Count the values of columns in one pass."""
    found: dict[str, ValueCounts] = {}
    for batch in source.batches(columns=columns) if columns else ():
        for cells in batch.get_columns():
            part = ValueCounts.of(cells)
            found[cells.name] = found[cells.name] + part if cells.name in found else part
    return found


def _column_key(key: bytes, column: str) -> bytes:
    return hashlib.blake2b(
        column.encode(), key=key, digest_size=KEY_BYTES, person=b"halfmask/mask"
    ).digest()


class MaskedReader:
    """A table whose columns are masked as they are read.

    Parameters
    ----------
    reader
        The table as it is.
    masks, plans
        Of the columns that are masked.
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
                self._plans[name].apply(frame[name], first_row)
                for name in frame.columns
                if name in self._plans
            )
            first_row += frame.height
