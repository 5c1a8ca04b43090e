"""Batches of one size, however the rows came."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.hashing import HashedRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["rebatched"]


def rebatched(batches: Iterable[HashedRows], n_rows: int) -> Iterator[HashedRows]:
    """Yield the same rows in batches of exactly ``n_rows``, except the last.

    Examples
    --------
    >>> import numpy as np
    >>> parts = [HashedRows(indices=np.ones((n, 3), np.uint32), bits=3) for n in (5, 1, 4)]
    >>> [len(each) for each in rebatched(parts, 4)]
    [4, 4, 2]
    """
    held: list[HashedRows] = []
    rows = 0
    for batch in batches:
        start = 0
        while rows + len(batch) - start >= n_rows:
            stop = start + n_rows - rows
            yield _joined([*held, batch.slice(start, stop) if stop - start < len(batch) else batch])
            held, rows, start = [], 0, stop
        if start < len(batch):
            held.append(batch.slice(start, len(batch)))
            rows += len(batch) - start
    if held:
        yield _joined(held)


def _joined(parts: list[HashedRows]) -> HashedRows:
    return parts[0] if len(parts) == 1 else HashedRows.concat(parts)
