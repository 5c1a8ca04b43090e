"""The engine of one machine: batches in threads, in order and with few of them in memory.

Any engine folds a table through `fold_table`: it reads the parts, or is sent the batches.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from halfmask._errors import DataError
from halfmask._progress import Progress, silent
from halfmask._validation import integer_at_least

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import polars as pl

    from halfmask.data import Source
    from halfmask.engines.engine import Batch, Engine, Part


def worker_count() -> int:
    """Return how many processors this process may use."""
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Runs functions in threads; see :class:`Engine`.

    Parameters
    ----------
    workers
        How many threads, at least 1; by default one for each processor.

    Examples
    --------
    >>> import operator
    >>> LocalEngine().fold(["red", "green"], len, operator.add)
    8
    """

    workers: int | None = None

    def __post_init__(self) -> None:
        if self.workers is not None:
            integer_at_least(1, owner="LocalEngine", workers=self.workers)

    @property
    def is_confidential(self) -> bool:
        """Nothing leaves this process."""
        return True

    def map(self, batches: Iterable[Batch], apply: Callable[[Batch], Part], /) -> Iterator[Part]:
        """Yield the function of each batch; see `Engine.map` and `map_in_order`."""
        return map_in_order(batches, apply, workers=self.workers)

    def fold(
        self,
        batches: Iterable[Batch],
        summarize: Callable[[Batch], Part],
        merge: Callable[[Part, Part], Part],
        /,
    ) -> Part:
        """Return the merged summaries of all batches; see :meth:`Engine.fold`.

        Summaries are merged in the caller's thread.
        """
        return merged(self.map(batches, summarize), merge)


def map_in_order(
    batches: Iterable[Batch], function: Callable[[Batch], Part], *, workers: int | None = None
) -> Iterator[Part]:
    """Yield the function of each batch, in the order of the batches.

    What the function spends its time in must release the interpreter's lock, as polars does.

    Guarantees
    ----------
    No more than ``workers`` batches and results are held at once, besides the one that the caller
    has. One worker is the caller's own thread.

    Examples
    --------
    >>> list(map_in_order([3, 1, 2], lambda n: n * n, workers=2))
    [9, 1, 4]
    """
    workers = worker_count() if workers is None else workers
    integer_at_least(1, owner="map_in_order", workers=workers)
    if workers == 1:
        for batch in batches:
            part = function(batch)
            del batch  # before the next one is read
            yield part
            del part
        return
    waiting: deque[Future[Part]] = deque()
    with ThreadPoolExecutor(max_workers=workers) as pool:
        try:
            for batch in batches:
                waiting.append(pool.submit(function, batch))
                del batch
                if len(waiting) >= workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def merged(parts: Iterable[Part], merge: Callable[[Part, Part], Part]) -> Part:
    """Return all parts merged, each with its neighbour.

    Sums of two, four, eight ... parts are kept. So each part is merged a few times instead of once
    for every later part, and no more parts are held than there are such sums.

    Examples
    --------
    >>> merged("abcde", lambda left, right: f"({left}{right})")
    '(((ab)(cd))e)'
    """
    held: list[tuple[int, Part]] = []
    for part in parts:
        held.append((1, part))
        del part  # no name may keep a part alive that is merged
        while len(held) > 1 and held[-1][0] == held[-2][0]:
            _join_last(held, merge)
    while len(held) > 1:
        _join_last(held, merge)
    if not held:
        raise DataError("There is no batch to summarize.")
    return held[0][1]


def _join_last(held: list[tuple[int, Part]], merge: Callable[[Part, Part], Part]) -> None:
    (size, before), (more, after) = held[-2:]
    held[-2:] = [(size + more, merge(before, after))]


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
