"""Keys that outlive a release are sent to workers only where nobody can listen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask._errors import EngineError

if TYPE_CHECKING:
    from halfmask.engines.engine import Engine


def check_confidential(engine: Engine, *, what: str) -> None:
    """Raise unless an engine encrypts what it sends, or runs on this machine.

    Edge cases
    ----------
    Workers that join a cluster of Dask later aren't looked at.

    Examples
    --------
    >>> from halfmask.engines import LocalEngine
    >>> check_confidential(LocalEngine(), what="the codec")
    """
    if not engine.is_confidential:
        raise EngineError(
            f"This sends {what} to the workers, and the cluster doesn't encrypt what it sends.",
            hint="Give Dask certificates and the address dask+tls://HOST:PORT, or set "
            "spark.network.crypto.enabled of Spark to true.",
        )
