"""A folder of encoded files, which workers read the table for and write."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from halfmask._errors import ParameterError
from halfmask._progress import silent
from halfmask.data import write_table
from halfmask.encode._files import (
    FileCount,
    batch_number,
    batch_rows,
    encoded_batch,
    map_batches,
    opened_as_fitted,
    receipt_of,
)
from halfmask.engines import folder_of_parts

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from halfmask._progress import Progress
    from halfmask.data import ReadOptions
    from halfmask.encode._codec import Codec
    from halfmask.encode._plan import CodecPlan
    from halfmask.engines import Engine, PartFolder


def encode_folder(  # noqa: PLR0913 # as of `encode_file`
    codec: Codec,
    table: object,
    out: str | Path,
    *,
    number: int = 0,
    ids: bool = False,
    overwrite: bool = False,
    options: ReadOptions | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> FileCount:
    """Encode Parquet files into a folder of such files, here or on a cluster.

    Parameters
    ----------
    codec
        A fitted codec.
    table
        A Parquet file, a folder of them, or a `Source` of one.
    out
        The folder to write; on a cluster, in a folder that every worker sees under the same path.
    number, ids, options, progress
        As of `encode_file`.
    overwrite
        Whether a folder that this wrote earlier may be replaced.
    engine
        Where rows are read, encoded and written; by default in threads of this process. Its
        workers get the codec's plan, which is the key.

    Returns
    -------
    FileCount
        As of `encode_file`.

    Raises
    ------
    ParameterError
        If the table isn't in files of Parquet.
    DataError, SchemaError, ReleaseError, EngineError
        As `encode_file` does, or if a worker doesn't see a folder.

    Guarantees
    ----------
    As of `encode_file`. Read in the order of their names, the files hold the rows that
    `encode_file` writes, one batch each. `decode_file` takes the folder.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import polars as pl
    >>> from halfmask.encode import Codec, decode_file
    >>> rows = pl.DataFrame({"age": [41, 17, 30], "town": ["Bree", "Dale", "Bree"]})
    >>> codec = Codec(learner="trees").fit(rows)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     home = pathlib.Path(folder)
    ...     rows.write_parquet(home / "people.parquet")
    ...     encode_folder(codec, home / "people.parquet", home / "sent")
    ...     _ = decode_file(codec, home / "sent", home / "back.csv")
    ...     pl.read_csv(home / "back.csv").equals(rows)
    FileCount(rows=3, batches=1)
    True
    """
    plan, report = codec.plan_, progress or silent
    source = opened_as_fitted(table, options, plan)
    parts = source.parts(batch_rows(plan))
    if parts is None:
        raise ParameterError(
            "A folder of encoded files is made of files of Parquet alone.",
            hint="Write the table as Parquet first, or encode it into one file.",
        )
    notes: list[tuple[int, str]] = []
    rows = 0
    with folder_of_parts(out, n_parts=len(parts), ending=".parquet", overwrite=overwrite) as folder:
        write = partial(_write_batch, plan, ids, folder, batch_number(number, 0))
        for note in map_batches(codec, source, write, number=number, engine=engine):
            notes.append(note)
            rows += note[0]
            report("encoding", rows / source.n_rows)
    receipt = receipt_of(codec, notes, number=number, ids=ids)
    return FileCount(rows=rows, batches=len(notes), receipt=receipt)


def _write_batch(
    plan: CodecPlan,
    ids: bool,  # noqa: FBT001 # bound by a partial
    folder: PartFolder,
    first: int,
    number: int,
    batch: pl.DataFrame,
) -> tuple[int, str]:
    """Write the encoded rows of a batch; return their number and their digest."""
    sent, note = encoded_batch(plan, ids, number, batch)
    write_table(
        sent, folder.path(number - first), format="parquet", overwrite=True, guard_formulas=False
    )
    return note
