"""The engine of a Dask cluster: batches as tasks of a `distributed.Client`."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from halfmask._errors import ParameterError
from halfmask._validation import integer_at_least
from halfmask.engines._engine import Batch, Part
from halfmask.engines._merging import merged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["DaskEngine"]


@dataclass(frozen=True, slots=True)
class DaskEngine:
    """Runs functions on the workers of a Dask cluster; see :class:`Engine`.

    This process reads the batches and sends them, so workers need no access to the files. They need
    the same versions of halfmask, polars and numpy.

    Parameters
    ----------
    client
        A ``distributed.Client`` (not an asynchronous one). The caller closes it.
    in_flight
        How many batches are sent before the result of the first is awaited, at least 1; by default
        two for each thread of the cluster.

    Notes
    -----
    **Guarantees.** Results come in the order of the batches, and the same pairs are merged as by
    :class:`LocalEngine`. The scheduler repeats the tasks of a worker that is lost. Logs and the
    dashboard show no batch.

    **Edge cases.** Workers see raw rows, Dask sends them unencrypted unless the cluster uses TLS,
    and workers spill to disk: run the cluster where the raw table may be.
    """

    client: Any
    in_flight: int | None = None

    def __post_init__(self) -> None:
        if self.in_flight is not None:
            integer_at_least(1, owner="DaskEngine", in_flight=self.in_flight)
        if getattr(self.client, "asynchronous", True):
            raise ParameterError(
                "The 'client' parameter of DaskEngine must be a distributed.Client that isn't "
                f"asynchronous. Got a {type(self.client).__name__}.",
                hint="Make one with distributed.Client(address).",
            )

    def map(self, batches: Iterable[Batch], apply: Callable[[Batch], Part], /) -> Iterator[Part]:
        """Yield the function of each batch, in order; see :meth:`Engine.map`."""
        for future in self._finished(batches, apply):
            yield future.result()

    def fold(
        self,
        batches: Iterable[Batch],
        summarize: Callable[[Batch], Part],
        merge: Callable[[Part, Part], Part],
        /,
    ) -> Part:
        """Return the merged summaries of all batches; see :meth:`Engine.fold`.

        Workers merge the summaries; only the last one is sent here.
        """
        shared = self._submitted(_same, _Held(merge))

        def join(left: Any, right: Any) -> Any:  # noqa: ANN401 # futures have no types
            return self._submitted(_merge, shared, left, right)

        found: Part = merged(self._finished(batches, summarize), join).result()
        return found

    def _finished(
        self, batches: Iterable[Batch], function: Callable[[Batch], Part]
    ) -> Iterator[Any]:
        """Yield the future of each batch, in order, once it has a result or an error."""
        from distributed import wait  # noqa: PLC0415 # an extra

        most = self.in_flight or 2 * max(1, sum(self.client.nthreads().values()))
        # Sent once. As a task it is made again where its worker is lost; scattered data isn't.
        shared = self._submitted(_same, _Held(function))
        waiting: deque[Any] = deque()

        def first() -> Any:  # noqa: ANN401 # a future
            wait(waiting[0])  # type: ignore[no-untyped-call] # not all of Dask has types
            if waiting[0].status == "error":
                waiting[0].result()
            return waiting.popleft()

        try:
            for batch in batches:
                waiting.append(self._submitted(_apply, shared, _Held(batch)))
                del batch  # before the next one is read
                if len(waiting) >= most:
                    yield first()
            while waiting:
                yield first()
        finally:
            self.client.cancel(list(waiting))

    def _submitted(self, function: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401 # futures
        """Return the future of a task of its own, whatever its size."""
        import dask  # noqa: PLC0415 # an extra

        # Dask warns of batches in tasks from 10 MB on; so many are in flight as we want.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            return self.client.submit(function, *arguments, pure=False)


@dataclass(frozen=True, slots=True, repr=False)
class _Held(Generic[Part]):
    """A value that a task takes: Dask doesn't look into it, and no log can show it."""

    value: Part

    def __repr__(self) -> str:
        return "held"


def _same(held: _Held[Part]) -> _Held[Part]:
    return held


def _apply(function: _Held[Callable[[Batch], Part]], batch: _Held[Batch]) -> Part:
    return function.value(batch.value)


def _merge(merge: _Held[Callable[[Part, Part], Part]], left: Part, right: Part) -> Part:
    return merge.value(left, right)
