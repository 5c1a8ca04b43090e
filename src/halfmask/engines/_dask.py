"""The engine of a Dask cluster: batches as tasks of a `distributed.Client`."""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import CancelledError as FutureCancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Generic

from halfmask._errors import EngineError, MissingDependencyError, ParameterError
from halfmask._validation import integer_at_least
from halfmask.engines._local import merged
from halfmask.engines._versions import check_versions, versions
from halfmask.engines.engine import Batch, Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

#: Seconds to wait for a scheduler, and for its first worker.
_PATIENCE = 30
#: Protocols of Dask that nobody can listen to.
_UNHEARD = {"tls", "wss", "inproc"}


@dataclass(frozen=True, slots=True)
class DaskEngine:
    """Runs functions on the workers of a Dask cluster; see :class:`Engine`.

    Workers read and write tables in Parquet files by themselves: they need the same folders under
    the same paths. Other tables are read by this process, which sends the batches. Workers need the
    same versions of halfmask, polars, numpy and pyarrow.

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

    @property
    def is_confidential(self) -> bool:
        """Whether the scheduler and all workers take TLS, or are on this machine."""
        addresses = [self.client.scheduler.address, *self.client.nthreads()]
        return all(map(_is_unheard, addresses))

    def map(self, batches: Iterable[Batch], apply: Callable[[Batch], Part], /) -> Iterator[Part]:
        """Yield the function of each batch, in order; see :meth:`Engine.map`."""
        for future in self._finished(batches, apply):
            with _of_cluster():
                part = future.result()
            del future  # the cluster may forget it
            yield part

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
        with _of_cluster():
            shared = self._submitted(_same, _Held(merge))

        def join(left: Any, right: Any) -> Any:  # noqa: ANN401 # futures have no types
            return self._submitted(_merge, shared, left, right)

        with _of_cluster():
            found: Part = merged(self._finished(batches, summarize), join).result()
        return found

    def _finished(
        self, batches: Iterable[Batch], function: Callable[[Batch], Part]
    ) -> Iterator[Any]:
        """Yield the future of each batch, in order, once it has a result or an error."""
        from distributed import wait  # noqa: PLC0415 # an extra

        most = self.in_flight or 2 * max(1, sum(self.client.nthreads().values()))
        # Sent once. As a task it is made again where its worker is lost; scattered data isn't.
        with _of_cluster():
            check_versions(self.client.run(versions, on_error="ignore").values())
            shared = self._submitted(_same, _Held(function))
        waiting: deque[Any] = deque()

        def first() -> Any:  # noqa: ANN401 # a future
            with _of_cluster():
                wait(waiting[0])  # type: ignore[no-untyped-call] # not all of Dask has types
                if waiting[0].status == "error":
                    waiting[0].result()
            return waiting.popleft()

        try:
            for batch in batches:
                with _of_cluster():
                    waiting.append(self._submitted(_apply, shared, _Held(batch)))
                del batch  # before the next one is read
                if len(waiting) >= most:
                    yield first()
            while waiting:
                yield first()
        finally:
            # What runs could write after the caller has removed what there is. The scheduler may
            # be gone.
            with suppress(Exception, asyncio.CancelledError):
                wait(list(waiting), timeout=_PATIENCE)  # type: ignore[no-untyped-call] # as above
            with suppress(Exception):
                self.client.cancel(list(waiting))

    def _submitted(self, function: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401 # futures
        """Return the future of a task of its own, whatever its size."""
        import dask  # noqa: PLC0415 # an extra

        # Dask warns of batches in tasks from 10 MB on; so many are in flight as we want.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            return self.client.submit(function, *arguments, pure=False)


def _is_unheard(address: str) -> bool:
    """Return whether nobody else hears what goes to an address, such as ``tls://10.0.0.7:8786``."""
    protocol, _, rest = address.partition("://")
    host = rest.rpartition(":")[0].strip("[]")
    with suppress(ValueError):
        return protocol in _UNHEARD or ip_address(host).is_loopback
    return False


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


@contextmanager
def _of_cluster() -> Iterator[None]:
    """Turn errors of the cluster itself, not of a function that it runs, into one of ours."""
    from distributed import KilledWorker  # noqa: PLC0415 # an extra
    from distributed.comm.core import CommClosedError  # noqa: PLC0415 # an extra

    try:
        yield
    except KilledWorker:
        raise EngineError(
            "The same task was lost with several workers, most likely for lack of memory.",
            hint="Give workers more memory, or fewer threads each.",
        ) from None
    except (CommClosedError, FutureCancelledError, asyncio.CancelledError, TimeoutError):
        raise EngineError(
            "The scheduler of Dask is gone, or can't be reached.",
            hint="Start it again, and run the same command: nothing was written.",
        ) from None


@contextmanager
def dask_engine(address: str) -> Iterator[DaskEngine]:
    """Connect to a Dask scheduler, and disconnect when the block ends."""
    try:
        from distributed import Client  # noqa: PLC0415 # an extra
    except ImportError:
        raise MissingDependencyError(
            "This needs distributed, which isn't installed.",
            hint="Install it: pip install 'halfmask[dask]'.",
        ) from None
    try:
        client = Client(address, timeout=_PATIENCE)  # type: ignore[no-untyped-call] # as above
    except (OSError, ValueError):
        raise EngineError(
            "The scheduler of Dask can't be reached.", hint="Check its address, and that it runs."
        ) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=_PATIENCE)
        except TimeoutError:
            raise EngineError(
                f"The cluster had no worker for {_PATIENCE} seconds.", hint="Start workers first."
            ) from None
        yield DaskEngine(client)
