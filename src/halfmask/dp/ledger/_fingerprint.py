"""Fingerprint of a table: the same for the same rows, whichever format they are read from."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from halfmask.data import Source

#: Rows of a part that is hashed at once; another number would change every fingerprint.
_ROWS = 1 << 16


def fingerprint_of(source: Source) -> str:
    """Return the SHA-256 of a table's columns, types and cells, row by row.

    It identifies the table, so it belongs into the vault.

    Parameters
    ----------
    source
        The table, read once in batches.

    Examples
    --------
    >>> from halfmask.data import open_table
    >>> table = pl.DataFrame({"age": [41, 17]})
    >>> fingerprint_of(open_table(table)) == fingerprint_of(open_table(table.to_arrow()))
    True
    >>> fingerprint_of(open_table(table)) == fingerprint_of(open_table(table.reverse()))
    False
    """
    digest = hashlib.sha256()
    for name, dtype in source.dtypes.items():
        digest.update(f"{name!r}:{dtype!r};".encode())
    for batch in source.batches(_ROWS):
        for column in batch:
            digest.update(np.packbits(column.is_null().to_numpy()).tobytes())
            _hash_cells(digest, column)
    return digest.hexdigest()


def _hash_cells(digest: hashlib._Hash, column: pl.Series) -> None:
    """Hash what a column's cells are, and their number; what stands behind a null is left out."""
    dtype = column.dtype
    is_plain = dtype.is_numeric() or dtype.is_temporal() or dtype == pl.Boolean
    # NumPy has neither decimals nor numbers of 128 bits.
    if not is_plain or dtype.is_decimal() or str(dtype).endswith("128"):
        text = column.cast(pl.String).drop_nulls()
        digest.update(text.str.len_bytes().to_numpy().astype("<u4").tobytes())
        digest.update("".join(text.to_list()).encode())
        return
    numbers = column.to_physical().drop_nulls().to_numpy()
    digest.update(numbers.astype(numbers.dtype.newbyteorder("<"), copy=False).tobytes())
