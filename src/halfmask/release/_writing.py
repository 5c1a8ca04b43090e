"""Data files of a release: rows in a keyed random order, in parts, hashed as they stand on disk."""

from __future__ import annotations

import hashlib
import shutil
from typing import TYPE_CHECKING

import polars as pl

from halfmask._random import keyed_integers, keyed_order
from halfmask.data import write_table
from halfmask.release._manifest import DataFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from halfmask.data import Format

__all__ = ["PART_ROWS", "file_sha256", "shuffled_parts", "write_parts"]

#: Rows of one file, about. What is shuffled must be in memory.
PART_ROWS = 1_000_000
ENDINGS = {"parquet": "parquet", "csv": "csv", "tsv": "tsv", "arrow": "arrow", "jsonl": "jsonl"}
#: The key's streams: one for the order within each part, one for the parts that rows go to.
ORDER_STREAMS, BUCKET_STREAMS = 0, 1 << 32


def write_parts(
    batches: Iterable[pl.DataFrame], folder: Path, *, n_rows: int, form: Format, key: bytes
) -> tuple[DataFile, ...]:
    """Write the rows of a release under ``folder / "data"``.

    Parameters
    ----------
    batches
        The protected rows, in their table's order.
    folder
        The release's folder as it is being built.
    n_rows
        About how many rows there are; it decides the number of files.
    form
        Of the files.
    key
        32 secret bytes; the same key, rows and batches give the same order.

    Guarantees
    ----------
    Rows leave in an order that nobody without the key can tell from a random one: each row goes to
    a random file, and to a random place in it.
    """
    data = folder / "data"
    data.mkdir()
    files = []
    for number, part in enumerate(shuffled_parts(batches, folder, n_rows=n_rows, key=key)):
        name = f"data/part-{number:05d}.{ENDINGS[form]}"
        write_table(part, folder / name, format=form)
        files.append(
            DataFile(
                name=name,
                format=form,
                sha256=file_sha256(folder / name),
                n_bytes=(folder / name).stat().st_size,
                n_rows=part.height,
            )
        )
    return tuple(files)


def shuffled_parts(
    batches: Iterable[pl.DataFrame], folder: Path, *, n_rows: int, key: bytes
) -> Iterator[pl.DataFrame]:
    """Yield all rows in a keyed random order, some `PART_ROWS` at a time.

    More rows than one part holds go through files in ``folder / ".order"``, which vanish.
    """
    n_parts = -(-n_rows // PART_ROWS)
    if n_parts <= 1:
        yield _reordered(pl.concat(list(batches)), key, 0)
        return
    spill = folder / ".order"
    spill.mkdir()
    for number, batch in enumerate(batches):
        bucket = keyed_integers(batch.height, key=key, stream=BUCKET_STREAMS + number) % n_parts
        for (bucket_of_rows,), rows in (
            batch.with_columns(pl.Series("\0part", bucket))
            .partition_by("\0part", as_dict=True, include_key=False)
            .items()
        ):
            rows.write_ipc(spill / f"{bucket_of_rows}-{number}.arrow")
    for part in range(n_parts):
        paths = sorted(spill.glob(f"{part}-*.arrow"), key=lambda path: int(path.stem.split("-")[1]))
        if paths:
            rows = pl.concat([pl.read_ipc(path) for path in paths])
            for path in paths:
                path.unlink()
            yield _reordered(rows, key, part)
    shutil.rmtree(spill)


def _reordered(rows: pl.DataFrame, key: bytes, part: int) -> pl.DataFrame:
    return rows[keyed_order(rows.height, key=key, stream=ORDER_STREAMS + part)]


def file_sha256(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
