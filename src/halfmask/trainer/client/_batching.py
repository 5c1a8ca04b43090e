"""Batches of one size, however the rows came."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.hashing import HashedRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: Of one batch; a service takes twice as much.
MAX_BYTES = 1 << 23
#: What a row takes besides its features: an offset, a label, a weight.
_BESIDE = 16


def rebatched(
    batches: Iterable[HashedRows], n_rows: int, *, max_bytes: int = MAX_BYTES
) -> Iterator[HashedRows]:
    """Yield the same rows in batches of ``n_rows``, or of fewer that take ``max_bytes``.

    Where a batch ends follows from the rows, and not from how they came.

    Examples
    --------
    >>> parts = [HashedRows(indices=np.ones((n, 3), np.uint32), bits=3) for n in (5, 1, 4)]
    >>> [len(each) for each in rebatched(parts, 4)]
    [4, 4, 2]
    """
    held: list[HashedRows] = []
    rows, size = 0, 0
    for batch in batches:
        sizes = np.cumsum(_sizes(batch))
        start, before = 0, 0
        while start < len(batch):
            room = int(np.searchsorted(sizes, before + max_bytes - size, side="right"))
            stop = min(start + n_rows - rows, max(room, start if held else start + 1))
            if stop >= len(batch) and rows + len(batch) - start < n_rows:
                stop = len(batch)
                held.append(_part(batch, start, stop))
                rows, size = rows + stop - start, size + int(sizes[-1]) - before
            else:
                yield _joined([*held, *([_part(batch, start, stop)] if stop > start else [])])
                held, rows, size = [], 0, 0
                before = int(sizes[stop - 1]) if stop else 0
            start = stop
    if held:
        yield _joined(held)


def _sizes(rows: HashedRows) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return how many bytes each row takes."""
    each = 4 if rows.values is None else 8
    if rows.indptr is None:
        return np.full(len(rows), each * rows.indices.shape[1] + _BESIDE, np.int64)
    return np.diff(rows.indptr) * each + _BESIDE


def _part(rows: HashedRows, start: int, stop: int) -> HashedRows:
    return rows if (start, stop) == (0, len(rows)) else rows.slice(start, stop)


def _joined(parts: list[HashedRows]) -> HashedRows:
    return parts[0] if len(parts) == 1 else HashedRows.concat(parts)
