"""Data files of a release: rows in a keyed random order, in parts, hashed as they stand on disk."""

from __future__ import annotations

import hashlib
import io
import secrets
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, Protocol, TypeAlias

import numpy as np
import polars as pl

from halfmask._errors import ReleaseError
from halfmask._random import keyed_integers, keyed_order
from halfmask.claims.manifest import DataFile
from halfmask.data import write_table
from halfmask.data.io.object_store import ObjectFolder
from halfmask.engines import LocalEngine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from halfmask._progress import Progress
    from halfmask.data import Format
    from halfmask.engines import Engine
    from halfmask.engines.engine import Part


#: An offset in a file.
_OFFSET = np.dtype("<u8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """The order or tree of a sensitive column's values, or a place's outlines, as a file."""

    name: str
    column: str
    text: str

    @property
    def sha256(self) -> str:
        """The hexadecimal SHA-256 of the file."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def put_aside(folder: Path | ObjectFolder, number: int, pieces: Iterable[pl.DataFrame]) -> None:
    """Write the rows of a part into one file, those for each file of the release in one piece.

    Notes
    -----
    **Guarantees.** The file appears whole. A part that an engine writes twice has the same bytes.

    The file has the pieces as Arrow streams, and then the offset where each begins, and the end of
    the last. So a folder has one file for each part of the table, and a piece is read alone. Spark
    writes its sort-based shuffle in this form: a file of data and an index for each task.
    """
    sizes = []
    with _created(folder, f"{number}.rows") as file:
        for rows in pieces:
            # Through memory: polars' own error of a full disk loses the reason of the system.
            held = io.BytesIO()
            rows.write_ipc_stream(held)
            sizes.append(held.tell())
            file.write(held.getbuffer())
        file.write(np.array([0, *accumulate(sizes)], dtype=_OFFSET).tobytes())


def taken_back(
    folder: Path | ObjectFolder, n_parts: int, piece: int, n_pieces: int
) -> pl.DataFrame:
    """Return the rows for one file of the release, from all parts in their order."""
    frames = []
    for number in range(n_parts):
        with _opened(folder, f"{number}.rows") as file:
            file.seek(_OFFSET.itemsize * (piece - n_pieces - 1), io.SEEK_END)
            first, stop = np.frombuffer(file.read(2 * _OFFSET.itemsize), dtype=_OFFSET).tolist()
            file.seek(first)
            frames.append(pl.read_ipc_stream(io.BytesIO(file.read(stop - first))))
    return pl.concat(frames)


@contextmanager
def _created(folder: Path | ObjectFolder, name: str) -> Iterator[BinaryIO]:
    """Give a file that appears whole."""
    if isinstance(folder, ObjectFolder):
        with folder.created(name) as file:
            yield file
        return
    aside = folder / f"{name}.{secrets.token_hex(8)}"
    with _seen(), aside.open("wb") as file:
        yield file
    aside.replace(folder / name)


@contextmanager
def _opened(folder: Path | ObjectFolder, name: str) -> Iterator[BinaryIO]:
    if isinstance(folder, ObjectFolder):
        with folder.opened(name) as file:
            yield file
        return
    with _seen(), (folder / name).open("rb") as file:
        yield file


@contextmanager
def _seen() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise ReleaseError(
            "A worker can't write to the folder of the release, or read what another worker wrote.",
            hint="Give OUT in a folder that every worker sees under the same path.",
        ) from None


#: A file that was written, and its placed rows where they are asked for.
Written: TypeAlias = "tuple[DataFile, pl.DataFrame | None]"
#: Rows of one file, about. What is shuffled must be in memory.
PART_ROWS = 1_000_000
ENDINGS = {"parquet": "parquet", "csv": "csv", "tsv": "tsv", "arrow": "arrow", "jsonl": "jsonl"}
#: The key's streams: one for the order within each part, one for the parts that rows go to.
ORDER_STREAMS, BUCKET_STREAMS = 0, 1 << 32


class Batches(Protocol):
    """Yields a function of each numbered batch of rows, in the table's order."""

    def __call__(
        self, function: Callable[[int, pl.DataFrame], Part], progress: Progress
    ) -> Iterator[Part]:
        """Yield what the function returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffledRows:
    """Rows to be written in a keyed random order.

    With an ``engine`` it reads the table by itself, in parts, and writes the files, too; ``finish``
    then must be a function that can be sent to workers.
    """

    n_rows: int
    key: bytes = field(repr=False)
    format: Format
    each: Batches
    engine: Engine = field(default_factory=LocalEngine)
    finish: Callable[[pl.DataFrame], pl.DataFrame] | None = None


def write_parts(
    rows: ShuffledRows,
    folder: Path,
    progress: Progress,
    *,
    aside: Callable[[int, pl.DataFrame], None] | None = None,
    prefix: str = "part",
    shared: ObjectFolder | None = None,
) -> tuple[DataFile, ...]:
    """Write the rows of a release under ``folder / "data"``, which is there.

    Guarantees
    ----------
    Without the key, the order of the rows looks random: each row goes to
    a random file, and to a random place in it.
    """
    n_files = -(-rows.n_rows // PART_ROWS)
    if n_files <= 1 or isinstance(rows.engine, LocalEngine):
        shared = None  # this process writes
    make = partial(
        _write_part,
        rows.finish,
        key=rows.key,
        form=rows.format,
        name=f"data/{prefix}-{{:05d}}.{ENDINGS[rows.format]}",
        noted=aside is not None,
    )
    write = partial(make, folder) if shared is None else partial(_sent, make, shared)
    between = folder / ".order" if shared is None else shared.below(".order")
    if n_files <= 1:
        whole = pl.concat(list(rows.each(unchanged, progress)))
        written: Iterable[Written] = [write((0, whole))]
    else:
        if isinstance(between, Path):
            between.mkdir()
        n_parts = sum(rows.each(partial(_put_aside, between, rows.key, n_files), progress))
        gather = partial(_gathered, between, n_parts, n_files, write)
        written = rows.engine.map(range(n_files), gather)
    files = []
    for number, (file, placed) in enumerate(written):
        if aside is not None and placed is not None:
            aside(number, placed)
        if shared is not None:
            with (folder / file.name).open("wb") as here:
                shared.get(file.name, here)
        files.append(file)
    if n_files > 1:
        if isinstance(between, Path):
            shutil.rmtree(between)
        else:
            between.clear()
    return tuple(files)


def unchanged(number: int, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of a batch, whatever its number."""
    del number
    return rows


def _put_aside(
    aside: Path | ObjectFolder, key: bytes, n_files: int, number: int, batch: pl.DataFrame
) -> Literal[1]:
    """Write the rows of a batch aside, by the files that they go to; return that it is done.

    A batch may be done twice, where an engine lost a worker.
    """
    drawn = keyed_integers(batch.height, key=key, stream=BUCKET_STREAMS + number)
    file_of_row = (drawn % n_files).astype(np.int64)
    order = np.argsort(file_of_row, kind="stable")
    ends = np.cumsum(np.bincount(file_of_row, minlength=n_files))
    rows = batch[order]
    pieces = zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)
    put_aside(aside, number, (rows[first:stop] for first, stop in pieces))
    return 1


def _gathered(
    aside: Path | ObjectFolder,
    n_parts: int,
    n_files: int,
    write: Callable[[tuple[int, pl.DataFrame]], Written],
    number: int,
) -> Written:
    """Write the rows of a file that were written aside."""
    return write((number, taken_back(aside, n_parts, number, n_files)))


def _sent(
    make: Callable[[Path, tuple[int, pl.DataFrame]], Written],
    shared: ObjectFolder,
    numbered: tuple[int, pl.DataFrame],
) -> Written:
    """Write one file here, and make it an object."""
    with tempfile.TemporaryDirectory(prefix="halfmask-") as here:
        (Path(here) / "data").mkdir()
        file, placed = make(Path(here), numbered)
        shared.put(file.name, Path(here) / file.name)
    return file, placed


def _write_part(
    finish: Callable[[pl.DataFrame], pl.DataFrame] | None,
    folder: Path,
    numbered: tuple[int, pl.DataFrame],
    *,
    key: bytes,
    form: Format,
    name: str,
    noted: bool,
) -> Written:
    """Write one file; return what the manifest states of it, and its placed rows if `noted`."""
    number, placed = numbered
    placed = placed[keyed_order(placed.height, key=key, stream=ORDER_STREAMS + number)]
    name = name.format(number)
    path = folder / name
    # The part of a worker that was lost is written again.
    write_table(placed if finish is None else finish(placed), path, format=form, overwrite=True)
    file = DataFile(
        name=name,
        format=form,
        sha256=file_sha256(path),
        n_bytes=path.stat().st_size,
        n_rows=placed.height,
    )
    return file, placed if noted else None


def file_sha256(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
