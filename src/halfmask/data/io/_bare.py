"""Arrow arrays that hold the values of their rows and not one byte more.

An Arrow array may keep a value under a missing cell, rows outside of its slice, and categories
that no row has. Parquet and text files are written value by value; an Arrow file is a copy of the
buffers, so they are rebuilt before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    import pyarrow as pa


def bare_batch(frame: pl.DataFrame) -> pa.RecordBatch:
    """Return the frame's rows as a record batch of new, minimal buffers.

    Guarantees
    ----------
    Missing cells hold zero or the empty text; the bits behind the last row are zero.
    """
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only Arrow files need it

    columns = frame.get_columns()
    return pa.record_batch([_bare(column) for column in columns], names=frame.columns)


def _bare(column: pl.Series) -> Any:  # noqa: ANN401 - pyarrow has no types
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only Arrow files need it

    kind = pl.Series([], dtype=column.dtype).to_arrow().type
    missing = column.null_count()
    validity = _bits(column.is_not_null()) if missing else None
    if column.dtype == pl.String:
        # The text of a missing cell isn't copied: it is the empty text by now.
        _, offsets, data = column.fill_null("").rechunk().to_arrow().buffers()
        buffers = [validity, offsets, data]
    elif column.dtype == pl.Boolean:
        buffers = [validity, _bits(column.fill_null(value=False))]
    elif isinstance(column.dtype, pl.Decimal):
        return pa.array(column.to_list(), type=kind)
    else:
        numbers = column.to_physical().fill_null(0).to_numpy()
        buffers = [validity, pa.py_buffer(np.array(numbers, order="C"))]
    return pa.Array.from_buffers(kind, len(column), buffers, missing)


def _bits(column: pl.Series) -> Any:  # noqa: ANN401 - pyarrow has no types
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only Arrow files need it

    return pa.py_buffer(np.packbits(column.to_numpy(), bitorder="little"))
