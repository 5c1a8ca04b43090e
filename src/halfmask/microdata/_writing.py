"""Data files of a release: rows in a keyed random order, in parts, hashed as they stand on disk."""

from __future__ import annotations

import hashlib
import io
import shutil
from typing import TYPE_CHECKING, Protocol

import numpy as np
import polars as pl

from halfmask._random import keyed_integers, keyed_order
from halfmask.claims._manifest import DataFile
from halfmask.data import write_table
from halfmask.engines import map_in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from halfmask._progress import Progress
    from halfmask.data import Format

__all__ = ["PART_ROWS", "ShuffledRows", "file_sha256", "shuffled_parts", "write_parts"]

#: Rows of one file, about. What is shuffled must be in memory.
PART_ROWS = 1_000_000
ENDINGS = {"parquet": "parquet", "csv": "csv", "tsv": "tsv", "arrow": "arrow", "jsonl": "jsonl"}
#: The key's streams: one for the order within each part, one for the parts that rows go to.
ORDER_STREAMS, BUCKET_STREAMS = 0, 1 << 32


class ShuffledRows(Protocol):
    """Rows to be written in a keyed random order."""

    @property
    def n_out(self) -> int:
        """How many rows there are."""

    @property
    def key(self) -> bytes:
        """32 secret bytes that order the rows."""

    @property
    def format(self) -> Format:
        """The format of the files."""

    def placed(self, progress: Progress) -> Iterator[pl.DataFrame]:
        """Yield the rows in batches, in the table's order."""

    def finished(self, placed: pl.DataFrame) -> pl.DataFrame:
        """Return rows of `placed` in their final form."""


def write_parts(
    prepared: ShuffledRows,
    folder: Path,
    progress: Progress,
    *,
    aside: Callable[[int, pl.DataFrame], None] | None = None,
    prefix: str = "part",
) -> tuple[DataFile, ...]:
    """Write the rows of a release under ``folder / "data"``, which is there.

    Parameters
    ----------
    prepared
        The rows, and the key of their order.
    folder
        The folder of the release, before it gets its name.
    progress
        Called with how far the work is.
    aside
        Called with the number of each file and its placed rows, in their written order; in any
        order of files.
    prefix
        What the names of the files begin with.

    Guarantees
    ----------
    Without the key, the order of the rows looks random: each row goes to
    a random file, and to a random place in it.
    """
    form = prepared.format
    parts = shuffled_parts(
        prepared.placed(progress), folder, n_rows=prepared.n_out, key=prepared.key
    )

    def write(numbered: tuple[int, pl.DataFrame]) -> DataFile:
        number, placed = numbered
        name = f"data/{prefix}-{number:05d}.{ENDINGS[form]}"
        path = folder / name
        write_table(prepared.finished(placed), path, format=form)
        if aside is not None:
            aside(number, placed)
        return DataFile(
            name=name,
            format=form,
            sha256=file_sha256(path),
            n_bytes=path.stat().st_size,
            n_rows=placed.height,
        )

    return tuple(map_in_order(enumerate(parts), write))


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
    n_batches = 0
    for batch in batches:
        stream = BUCKET_STREAMS + n_batches
        part_of_row = keyed_integers(batch.height, key=key, stream=stream) % n_parts
        order = np.argsort(part_of_row, kind="stable")
        ends = np.cumsum(np.bincount(part_of_row, minlength=n_parts))
        sorted_rows = batch[order]
        for part in range(n_parts):
            first = int(ends[part - 1]) if part else 0
            rows = sorted_rows[first : int(ends[part])]
            # Through memory: polars' own error of a full disk loses the reason of the system.
            held = io.BytesIO()
            rows.write_ipc(held)
            (spill / f"{part}-{n_batches}.arrow").write_bytes(held.getbuffer())
        n_batches += 1
    for part in range(n_parts):
        paths = [spill / f"{part}-{number}.arrow" for number in range(n_batches)]
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
