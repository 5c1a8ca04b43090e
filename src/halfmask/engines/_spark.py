"""The engine of a Spark cluster: batches as tasks of a SparkSession."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from halfmask._errors import EngineError, MissingDependencyError, ParameterError
from halfmask._validation import integer_at_least
from halfmask.engines._local import merged
from halfmask.engines._versions import check_versions, versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from halfmask.engines.engine import Batch, Part

#: Tasks of one job for each core, so that slow ones don't hold up the others much.
_TASKS_OF_CORE = 4
#: Settings of Spark that encrypt what its processes send each other.
_ENCRYPTED = ("spark.network.crypto.enabled", "spark.ssl.rpc.enabled")


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """Runs functions on the workers of a Spark cluster; see :class:`Engine`.

    Workers need the same versions of halfmask, polars, numpy and pyarrow.

    Parameters
    ----------
    session
        A ``pyspark.sql.SparkSession`` with a Spark context (not of Spark Connect). The caller
        stops it.
    in_flight
        How many batches one job has, at least 1; by default four for each core.

    Notes
    -----
    **Guarantees.** Results come in the order of the batches. Summaries are merged in this process,
    in the same pairs as by :class:`LocalEngine`: Spark's ``treeReduce`` merges in no fixed order.
    Spark repeats the tasks of an executor that is lost.

    **Edge cases.** A master ``local[N]`` repeats no task: with ``local[N,4]`` it does. Workers
    see raw rows: run the cluster where the raw table may be.
    """

    session: Any
    in_flight: int | None = None

    def __post_init__(self) -> None:
        if self.in_flight is not None:
            integer_at_least(1, owner="SparkEngine", in_flight=self.in_flight)
        if not hasattr(self.session, "_jsc") and not hasattr(self.session, "_jsparkSession"):
            raise ParameterError(
                "The 'session' parameter of SparkEngine must be a SparkSession with a context. "
                f"Got a {type(self.session).__name__}.",
                hint="Make one with SparkSession.builder.master(...).getOrCreate().",
            )

    @property
    def is_confidential(self) -> bool:
        """Whether Spark encrypts what it sends, or runs on this machine."""
        context = self.session.sparkContext
        settings = context.getConf()
        is_encrypted = any(settings.get(name, "false") == "true" for name in _ENCRYPTED)
        return is_encrypted or context.master.partition("[")[0] == "local"

    def map(self, batches: Iterable[Batch], apply: Callable[[Batch], Part], /) -> Iterator[Part]:
        """Yield the function of each batch, in order; see :meth:`Engine.map`."""
        context = self.session.sparkContext
        most = self.in_flight or _TASKS_OF_CORE * max(1, context.defaultParallelism)
        remaining = iter(batches)
        with _of_spark():
            shared = context.broadcast(apply)
        try:
            while window := list(islice(remaining, most)):
                with _of_spark():
                    tasks = context.parallelize(window, len(window))
                    results = tasks.map(partial(_attempt, shared)).collect()
                del window, tasks
                for result, error in results:
                    if error is not None:
                        raise error
                    yield result
        finally:
            with _of_spark():
                shared.destroy()

    def fold(
        self,
        batches: Iterable[Batch],
        summarize: Callable[[Batch], Part],
        merge: Callable[[Part, Part], Part],
        /,
    ) -> Part:
        """Return the merged summaries of all batches; see :meth:`Engine.fold`."""
        return merged(self.map(batches, summarize), merge)


def _attempt(shared: Any, batch: Any) -> tuple[Any, Exception | None]:  # noqa: ANN401 # of any job
    """Return the function of a batch, or its error: Spark would repeat it, and log its text."""
    try:
        return shared.value(batch), None
    except Exception as error:  # noqa: BLE001 # raised again where the caller is
        return None, error.with_traceback(None)


@contextmanager
def _of_spark() -> Iterator[None]:
    """Turn errors of Spark itself into one that quotes nothing."""
    from py4j.protocol import Py4JError, Py4JNetworkError  # noqa: PLC0415 # an extra
    from pyspark.errors import PySparkException  # noqa: PLC0415 # an extra

    try:
        yield
    except (Py4JNetworkError, ConnectionError):
        raise EngineError(
            "The Spark driver is gone.", hint="Start it again, and run the same command."
        ) from None
    except (Py4JError, PySparkException):
        raise EngineError(
            "Spark couldn't run a task: a worker was lost too often, or can't import halfmask.",
            hint="See the log of the executor. Give workers more memory, or read smaller batches.",
        ) from None


@contextmanager
def spark_engine(master: str) -> Iterator[SparkEngine]:
    """Start a session on a Spark master, and stop it when the block ends.

    A session that runs already is the caller's: it is neither taken nor stopped.
    """
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 # an extra
    except ImportError:
        raise MissingDependencyError(
            "This needs pyspark, which isn't installed.",
            hint="Install it: pip install 'halfmask[spark]'.",
        ) from None
    # Spark has one context a process, and would give it to us whatever its master is.
    if SparkSession.getActiveSession() is not None:
        raise EngineError(
            "A Spark session runs in this process already.",
            hint="Give SparkEngine(session) as the engine, or stop the session first.",
        )
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        session = (
            SparkSession.builder.master(master)
            .appName("halfmask")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")
    except Exception:  # noqa: BLE001 # of Java, or of the network
        raise EngineError(
            "Spark can't be started, or its master can't be reached.",
            hint="Check the address, and that Java 17 or newer is installed.",
        ) from None
    try:
        engine = SparkEngine(session)
        cores = max(1, session.sparkContext.defaultParallelism)
        check_versions(engine.map(range(cores), versions))
        yield engine
    finally:
        session.stop()
