"""Ids that rows are sent with, by which predictions find their rows in any order."""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError
from halfmask._random import keyed_integers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from halfmask.encode._receipts import EncodingReceipt

#: The name of the encoded column of ids.
ROW_ID = "row_id"
#: The column with the row at home that a prediction belongs to, from 0.
ROW = "row"


def row_ids(row_key: bytes, n_rows: int, number: int) -> pl.Series:
    """Return an id for each row of a batch, in the order at home: a text of 16 digits.

    A text, so that no learner takes it for a feature and no spreadsheet rounds it.
    """
    numbers = pl.Series(_integers(row_key, n_rows, number))
    high, low = numbers // (1 << 32), numbers % (1 << 32)
    hexadecimal = [
        _HEX.gather(half // (1 << 16)) + _HEX.gather(half % (1 << 16)) for half in (high, low)
    ]
    return ("r" + hexadecimal[0] + hexadecimal[1]).alias(ROW_ID)


_HEX = pl.Series([f"{number:04x}" for number in range(1 << 16)])


def home_rows(
    row_key: bytes, ids: pl.Series, receipts: Iterable[EncodingReceipt]
) -> tuple[EncodingReceipt, NDArray[np.int64]]:
    """Return the table that ids are of, and which of its rows each of them is."""
    texts = ids.cast(pl.String)
    digits = texts.str.extract(r"^r([0-9a-f]{16})$", 1)
    given = digits.str.to_integer(base=16, dtype=pl.UInt64, strict=False)
    if given.null_count():
        raise DataError(
            f"Column {ROW_ID!r} has {given.null_count()} cells that aren't row ids.",
            hint="Send back the ids unchanged.",
        )
    if given.n_unique() < len(given):
        raise DataError(
            f"Column {ROW_ID!r} has {len(given) - given.n_unique()} ids more than once.",
            hint="Send back one row of predictions for each row.",
        )
    wanted, fewest = given.to_numpy(), len(given)
    for receipt in receipts:
        if not receipt.ids:
            continue
        known = np.concatenate(
            [_integers(row_key, n, receipt.first + place) for place, n in enumerate(receipt.rows)]
        )
        order = np.argsort(known, kind="stable")
        places = np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)
        rows = order[places]
        unknown = int((known[rows] != wanted).sum())
        if not unknown:
            return receipt, rows
        fewest = min(fewest, unknown)
    raise DataError(
        f"{fewest} of {len(given)} row ids belong to no encoded table, or to another one than the "
        "rest.",
        hint="Decode the predictions for one table at a time, with the codec that encoded it.",
    )


def _integers(row_key: bytes, n_rows: int, number: int) -> NDArray[np.uint64]:
    if not row_key:
        raise ParameterError(
            "A codec with rows='kept' has no row ids.",
            hint='Make the codec with rows="keyed", or add a column of your own elsewhere.',
        )
    key = hmac.new(row_key, b"row ids", hashlib.sha256).digest()
    return keyed_integers(n_rows, key=key, stream=number)
