"""Entry points of the service; each names a missing extra."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from halfmask._errors import MissingDependencyError, ParameterError
from halfmask._validation import integer_at_least
from halfmask.trainer.service._options import ServiceOptions

if TYPE_CHECKING:
    from ssl import SSLContext

    from fastapi import FastAPI


def create_app(folder: str | Path, *, options: ServiceOptions | None = None) -> FastAPI:
    """Return the trainer as an ASGI application.

    Parameters
    ----------
    folder
        Where it keeps everything; made where it isn't there, for its owner alone.
    options
        What bounds it.

    Returns
    -------
    FastAPI
        An application that needs its lifespan to be run. It has the folder for itself until then:
        run it in one process.

    Raises
    ------
    TrainerError
        If the folder isn't a trainer's, or another service is using it.
    MissingDependencyError
        If the extra ``serve`` isn't installed.

    Notes
    -----
    **Guarantees.** An example is acknowledged only when it is on the disk. After a death of the
    process at any point, each acknowledged batch is learned once, in the order of the log, and the
    weights are those of a replay of the log, bit by bit. Predictions read the live weights, each of
    which is whole; one row may be being learned meanwhile. A token reaches the models of its
    tenant alone: any other is a 404, whether it exists or not.

    **Edge cases.** A batch without an ``Idempotency-Key`` is learned each time it is sent.
    """
    check_extra()
    from halfmask.trainer.service._app import application  # noqa: PLC0415 # an extra

    return application(folder, options or ServiceOptions())


def serve(
    folder: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    certificate: str | Path | None = None,
    key: str | Path | None = None,
    client_authority: str | Path | None = None,
    options: ServiceOptions | None = None,
    started: Callable[[int], None] = lambda _: None,
) -> None:
    """Serve a folder until the process is asked to end.

    Parameters
    ----------
    folder
        As of `create_app`.
    host, port
        Where to listen: this machine alone, unless another address is given. Port 0 takes one that
        is free.
    certificate, key
        Files in PEM for TLS; both or neither.
    client_authority
        A file in PEM: clients then need a certificate of this authority and their token.
    options
        What bounds it.
    started
        Called with the port when it listens.

    Raises
    ------
    ParameterError
        If a certificate is missing or can't be read, or the port is taken.
    TrainerError
        As of `create_app`.
    MissingDependencyError
        As of `create_app`.
    """
    tls = check_tls(port, certificate, key, client_authority)
    from halfmask.trainer.service._app import application  # noqa: PLC0415 # an extra
    from halfmask.trainer.service._serving import run_app, settle  # noqa: PLC0415 # the same

    app = application(folder, options or ServiceOptions(), opened=settle)
    run_app(app, host=host, port=port, tls=tls, started=started)


def check_tls(
    port: int,
    certificate: str | Path | None,
    key: str | Path | None,
    client_authority: str | Path | None,
) -> SSLContext | None:
    """Return the TLS that a service is to speak, or None; the port is checked, too."""
    check_extra()
    from halfmask.trainer.service._serving import tls_context  # noqa: PLC0415 # an extra

    integer_at_least(0, owner="serve", port=port)
    if port > 65_535:
        raise ParameterError("The 'port' parameter of serve must be at most 65535.")
    if (certificate is None) != (key is None) or (client_authority and certificate is None):
        raise ParameterError(
            "TLS needs a certificate and its key; clients' certificates need both of them, too."
        )
    if certificate is None or key is None:
        return None
    return tls_context(certificate, key, client_authority)


def check_extra() -> None:
    """Raise unless the extra of the service is installed."""
    try:
        import fastapi  # noqa: F401, PLC0415 # an extra
        import orjson  # noqa: F401, PLC0415 # an extra
        import prometheus_client  # noqa: F401, PLC0415 # an extra
        import uvicorn  # noqa: F401, PLC0415 # an extra
    except ImportError:
        raise MissingDependencyError(
            "The trainer service takes FastAPI and uvicorn, which aren't installed.",
            hint="Install them: pip install 'halfmask[serve]'.",
        ) from None
