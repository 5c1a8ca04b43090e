"""Rows in frames of any size, as frames of one size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator


def rebatched(frames: Iterator[pl.DataFrame], n_rows: int) -> Iterator[pl.DataFrame]:
    """Yield the same rows in frames of exactly ``n_rows`` rows, except the last."""
    held: list[pl.DataFrame] = []
    rows = 0
    for frame in frames:
        if not held and frame.height == n_rows:
            yield frame
            continue
        held.append(frame)
        del frame
        rows += held[-1].height
        while rows >= n_rows:
            rows -= n_rows
            # No name may keep a frame alive while the caller works on the batch.
            yield _first_of(held, n_rows)
    if rows:
        yield _first_of(held, rows)


def _first_of(held: list[pl.DataFrame], n_rows: int) -> pl.DataFrame:
    """Return the first rows of the held frames, and leave the rest held."""
    whole = pl.concat(held)
    held[:] = [whole.slice(n_rows)] if whole.height > n_rows else []
    return whole.head(n_rows).rechunk()
