"""Rows on their way from the parts of a table to the files of a release, written aside."""

from __future__ import annotations

import io
import secrets
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import ReleaseError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["put_aside", "taken_back"]

#: An offset in a file.
_OFFSET = np.dtype("<u8")


def put_aside(folder: Path, number: int, pieces: Iterable[pl.DataFrame]) -> None:
    """Write the rows of a part into one file, those for each file of the release in one piece.

    Parameters
    ----------
    folder
        Where rows lie until all parts are written.
    number
        The number of the part.
    pieces
        The rows for each file of the release, in the order of the files.

    Raises
    ------
    ReleaseError
        If a worker can't see the folder.

    Notes
    -----
    **Guarantees.** The file appears whole. A part that an engine writes twice has the same bytes.

    The file has the pieces as Arrow streams, and then the offset where each begins, and the end of
    the last. So a folder has one file for each part of the table, and a piece is read alone. Spark
    writes its sort-based shuffle in this form: a file of data and an index for each task.
    """
    path = folder / f"{number}.rows"
    aside = path.with_suffix(f".{secrets.token_hex(8)}")
    sizes = []
    try:
        with aside.open("wb") as file:
            for rows in pieces:
                # Through memory: polars' own error of a full disk loses the reason of the system.
                held = io.BytesIO()
                rows.write_ipc_stream(held)
                sizes.append(file.write(held.getbuffer()))
            file.write(np.array([0, *accumulate(sizes)], dtype=_OFFSET).tobytes())
        aside.replace(path)
    except FileNotFoundError:
        raise _unseen() from None


def taken_back(folder: Path, n_parts: int, piece: int, n_pieces: int) -> pl.DataFrame:
    """Return the rows for one file of the release, from all parts in their order.

    Parameters
    ----------
    folder, n_parts
        Where `put_aside` wrote, and how many parts it did.
    piece, n_pieces
        The number of the file, and how many files there are.

    Raises
    ------
    ReleaseError
        If a worker can't see what another one wrote.
    """
    frames = []
    for number in range(n_parts):
        try:
            with (folder / f"{number}.rows").open("rb") as file:
                file.seek(_OFFSET.itemsize * (piece - n_pieces - 1), io.SEEK_END)
                first, stop = np.frombuffer(file.read(2 * _OFFSET.itemsize), dtype=_OFFSET).tolist()
                file.seek(first)
                frames.append(pl.read_ipc_stream(io.BytesIO(file.read(stop - first))))
        except FileNotFoundError:
            raise _unseen() from None
    return pl.concat(frames)


def _unseen() -> ReleaseError:
    return ReleaseError(
        "A worker can't write to the folder of the release, or read what another worker wrote.",
        hint="Give OUT in a folder that every worker sees under the same path.",
    )
