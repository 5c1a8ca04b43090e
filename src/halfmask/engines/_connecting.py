"""Engines by their address, as the command line names them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from halfmask._errors import ParameterError
from halfmask.engines._dask import dask_engine
from halfmask.engines._local import LocalEngine
from halfmask.engines._spark import spark_engine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halfmask.engines.engine import Engine


@contextmanager
def connect(address: str) -> Iterator[Engine]:
    """Connect to an engine, and disconnect when the block ends.

    Parameters
    ----------
    address
        ``"local"``; ``"dask://HOST:PORT"`` of a Dask scheduler, or ``"dask+tls://HOST:PORT"``;
        ``"spark://HOST:PORT"`` of a Spark master; or ``"spark://MASTER"`` for another master, such
        as ``"spark://local[2]"`` or ``"spark://yarn"``.

    Yields
    ------
    Engine
        What `halfmask.protect` and others take as ``engine``.

    Raises
    ------
    ParameterError
        If the address is none of these.
    MissingDependencyError
        If the extra ``dask`` or ``spark`` isn't installed.
    EngineError
        If the cluster can't be reached, has no worker, or its workers have other versions.

    Examples
    --------
    >>> with connect("local") as engine:
    ...     list(engine.map([1, 2], str))
    ['1', '2']
    """
    kind, _, rest = address.partition("://")
    if address == "local":
        yield LocalEngine()
    elif kind in {"dask", "dask+tls"} and rest:
        with dask_engine(f"{'tls' if kind.endswith('tls') else 'tcp'}://{rest}") as engine:
            yield engine
    elif kind == "spark" and rest:
        with spark_engine(address if ":" in rest else rest) as spark:
            yield spark
    else:
        raise ParameterError(
            "The address of an engine must be local, dask://HOST:PORT, dask+tls://HOST:PORT or "
            "spark://HOST:PORT.",
            hint="For Spark on this machine, give spark://local[2].",
        )
