"""Tables that are copied once: every later pass reads the copy, so it sees the same rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import IO, TYPE_CHECKING

import polars as pl

from halfmask._errors import DataError
from halfmask.data.io._columnar import ColumnarReader
from halfmask.data.io.places import Place, spooled
from halfmask.data.io.reading import reading

if TYPE_CHECKING:
    from halfmask.data.io._read_options import ReadOptions


def spill(frames: Iterable[pl.DataFrame], dtypes: Mapping[str, pl.DataType], what: str) -> Place:
    """Copy frames into an Arrow file without a name, which ends with the process."""

    def write(file: IO[bytes]) -> None:
        import pyarrow as pa  # noqa: PLC0415 - heavy, and only these tables need it

        schema = pl.DataFrame(schema=dict(dtypes)).to_arrow().schema
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_file(file, schema, options=options) as out:
            for frame in frames:
                cast = frame.select(pl.col(name).cast(dtype) for name, dtype in dtypes.items())
                for batch in cast.rechunk().to_arrow().to_batches():
                    out.write_batch(batch)

    with reading(what):
        return spooled(write, what)


def spilled_reader(
    frames: Iterable[pl.DataFrame],
    dtypes: Mapping[str, pl.DataType],
    options: ReadOptions,
    what: str,
) -> ColumnarReader:
    """Copy frames as `spill` does, and return a reader of the copy."""
    if not dtypes:
        raise DataError(f"{what} has no column.", hint="Give a table with named columns.")
    return ColumnarReader([(spill(frames, dtypes, what), "arrow")], options)
