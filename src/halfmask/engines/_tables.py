"""Fold and map over the rows of a table: an engine reads its parts, or is sent its batches."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from halfmask._errors import DataError
from halfmask._progress import Progress, silent
from halfmask.engines._local import LocalEngine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import polars as pl

    from halfmask.data import Source
    from halfmask.engines.engine import Engine, Part


def fold_table(  # what is folded, and how
    engine: Engine,
    source: Source,
    columns: Sequence[str],
    summarize: Callable[[int, pl.DataFrame], Part],
    merge: Callable[[Part, Part], Part],
    *,
    n_rows: int | None = None,
    stage: str = "reading",
    progress: Progress = silent,
) -> Part:
    """Return the merged summaries of the batches of a table; see `Engine.fold`."""
    batches, function = _as_batches(engine, source, columns, summarize, n_rows, stage, progress)
    return engine.fold(batches, function, merge)


def map_table(  # what is mapped, and how
    engine: Engine,
    source: Source,
    columns: Sequence[str],
    apply: Callable[..., Part],
    *,
    given: Iterable[Any] | None = None,
    n_rows: int | None = None,
    stage: str = "reading",
    progress: Progress = silent,
) -> Iterator[Part]:
    """Yield the function of each batch of a table, in order; see `Engine.map`."""
    batches, function = _as_batches(engine, source, columns, apply, n_rows, stage, progress, given)
    return engine.map(batches, function)


def _as_batches(
    engine: Engine,
    source: Source,
    columns: Sequence[str],
    function: Callable[..., Part],
    n_rows: int | None,
    stage: str,
    progress: Progress,
    given: Iterable[Any] | None = None,
) -> tuple[Iterator[Any], Callable[[Any], Part]]:
    """Return what an engine takes, and its function of each."""
    parts = source.parts(n_rows)
    values = None if given is None else iter(given)

    def numbered(batches: Iterable[Any]) -> Iterator[Any]:
        read = 0
        for number, batch in enumerate(batches):
            # The range of a part, or the frame of a batch: rows of the table, either way.
            read += len(batch)
            yield (number, batch, *(() if values is None else (next(values),)))
            del batch  # before the next one is read
            progress(stage, min(1.0, read / max(1, source.n_rows)))

    if parts is None:
        return numbered(source.batches(n_rows, columns=columns)), partial(_of_rows, function)
    is_elsewhere = not isinstance(engine, LocalEngine)
    read = partial(_of_part, function, source, list(columns), is_elsewhere)
    return numbered(parts), read


def _of_rows(function: Callable[..., Part], batch: tuple[Any, ...]) -> Part:
    return function(*batch)


def _of_part(
    function: Callable[..., Part],
    source: Source,
    columns: list[str],
    is_elsewhere: bool,  # noqa: FBT001 # bound by a partial
    batch: tuple[Any, ...],
) -> Part:
    """Read some rows of a table, where this process runs, and return the function of them."""
    number, rows, *given = batch
    try:
        frame = source.part(rows).read(columns=columns)
    except DataError as error:
        if not is_elsewhere:
            raise
        raise DataError(
            f"A worker can't read its part of the table. {error.what.written}",
            hint=source.on_workers,
        ) from None
    return function(number, frame, *given)
