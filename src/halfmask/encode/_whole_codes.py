"""Codes of encoded cells as the whole numbers that they were sent as."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from halfmask._errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def whole_codes(
    coded: pl.Series, *, name: str, hidden: bool
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return each cell's code, 0 where it is missing, and which cells have one."""
    # A text file's column of whole numbers with missing cells may have been read as floats.
    codes = coded.cast(pl.Int64, strict=False)
    wrong = codes.null_count() - coded.null_count()
    if not wrong and not coded.dtype.is_integer():
        wrong = int((codes.cast(coded.dtype) != coded).sum())
    if wrong:
        raise DataError(
            f"Column {name!r} has {wrong} codes that are no whole numbers of 64 bits.",
            hint="Decode the encoded rows unchanged.",
        )
    if hidden and codes.null_count():
        raise DataError(
            f"Column {name!r} has {codes.null_count()} missing codes; encode gave none.",
            hint="Decode the encoded rows unchanged.",
        )
    return codes.fill_null(0).to_numpy(), coded.is_not_null().to_numpy()
