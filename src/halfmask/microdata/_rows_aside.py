"""Rows on their way from the parts of a table to the files of a release, written aside."""

from __future__ import annotations

import io
import secrets
from contextlib import contextmanager
from itertools import accumulate
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import polars as pl

from halfmask._errors import ReleaseError
from halfmask.data.io.object_store import ObjectFolder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

#: An offset in a file.
_OFFSET = np.dtype("<u8")


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
