"""A table as it will be released: masked columns in the place of those that were read."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError
from halfmask._random import KEY_BYTES, check_key
from halfmask.claims import WEAKNESSES
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
        The masked table. Each pass over it gives the same values, in batches of any size.

    Raises
    ------
    ColumnNotFoundError
        If the table lacks a column of ``masks``.
    SchemaError
        If a mask doesn't support the type of its column.
    DataError
        If a mask can't process a number of its column exactly.
    ParameterError
        If the key isn't 32 bytes, or a mask names a weakness that has no explanation.

    Notes
    -----
    A mask that randomises, or that needs a column's values (`TailCoding` by share), costs one more
    pass over the table.

    **Guarantees.** Random draws depend on the key, the column's name and cells, and the mask's
    parameters. So two releases with the same key have independent noise if their rows or
    parameters differ. Tokens depend only on the key, the column's name and the value.

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
    check_key(key)
    absent = [name for name in masks if name not in source.dtypes]
    if absent:
        raise ColumnNotFoundError.of(absent, source.columns, where="the table")
    for name, mask in masks.items():  # before a pass over the table
        mask.written(name, source.dtypes[name])
        _check_weaknesses(mask)
    seen = _seen(source, masks)
    plans = {
        name: mask.fit(name, source.dtypes[name], *seen[name].of(name, mask, key))
        for name, mask in masks.items()
    }
    return source.through(lambda reader: MaskedReader(reader, masks, plans))


def _check_weaknesses(mask: Mask) -> None:
    unknown = [word for word in mask.weaknesses if word not in WEAKNESSES]
    if unknown:
        raise ParameterError(
            f"The mask {mask.name!r} names the weakness {unknown[0]!r}, which nothing explains.",
            hint="Take a word of halfmask.claims.WEAKNESSES.",
        )


class _Seen:
    """What a mask is fitted to: its column's values, and a hash of its cells in order."""

    def __init__(self) -> None:
        self._counts: ValueCounts | None = None
        self._cells = hashlib.blake2b(digest_size=KEY_BYTES)

    def see(self, cells: pl.Series, mask: Mask) -> None:
        if mask.needs_counts:
            part = ValueCounts.of(cells)
            self._counts = part if self._counts is None else self._counts + part
        if not mask.coarsens:
            self._cells.update(cells.hash().to_numpy().tobytes())

    def of(self, column: str, mask: Mask, key: bytes) -> tuple[ValueCounts | None, bytes]:
        """Return the counts, and the mask's own key."""
        made = hashlib.blake2b(key=key, digest_size=KEY_BYTES, person=b"halfmask/mask")
        made.update(column.encode())
        if not mask.coarsens:
            # Noise that is the same in two releases cancels in their difference.
            made.update(b"\0" + repr(mask).encode() + self._cells.digest())
        return self._counts, made.digest()


def _seen(source: Source, masks: Mapping[str, Mask]) -> dict[str, _Seen]:
    """Look at the columns of masks that need it, in one pass."""
    found = {name: _Seen() for name in masks}
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
