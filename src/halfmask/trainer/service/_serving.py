"""A service on a port: uvicorn, with optional TLS and timeouts."""

from __future__ import annotations

import asyncio
import gc
import resource
import ssl
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from halfmask._errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import FastAPI

    from halfmask.trainer.service._options import ServiceOptions

#: Python lets a thread run for 5 ms before another one may: that is a quarter of what a prediction
#: may take.
SWITCH_SECONDS = 0.0005
#: So many connections beyond the limit get a 503; more are closed without a response.
MAX_REFUSED = 100
#: Files that a service opens in addition to its connections: logs, lists, snapshots, loops.
FILES = 1_000


def run_app(
    app: FastAPI,
    *,
    host: str,
    port: int,
    tls: ssl.SSLContext | None,
    started: Callable[[int], None],
) -> None:
    """Serve an application until the process is asked to end; then finish what was begun."""
    sys.setswitchinterval(SWITCH_SECONDS)
    _allow_files(app.state.service.options.connections + MAX_REFUSED + FILES)
    server = server_of(app, host=host, port=port, tls=tls, started=started)
    try:
        server.run()
    except KeyboardInterrupt:
        # uvicorn has finished open requests, and raises again that it was asked to end.
        if not server.should_exit:
            raise
    except SystemExit:
        raise ParameterError(
            f"The service can't listen on port {port} of {host}.",
            hint="Another program may use it. Choose another port; 0 is one that is free.",
        ) from None


def server_of(
    app: FastAPI,
    *,
    host: str,
    port: int,
    tls: ssl.SSLContext | None,
    started: Callable[[int], None],
) -> uvicorn.Server:
    """Return a server that doesn't run yet."""
    options: ServiceOptions = app.state.service.options
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=type("TimeoutProtocol", (_TimeoutProtocol,), {"head_seconds": options.head_seconds}),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=options.connections,
        timeout_keep_alive=max(5, int(options.head_seconds)),
        timeout_graceful_shutdown=30,
        ssl_context_factory=None if tls is None else lambda *_: tls,
    )
    return _Server(config, started)


def settle() -> None:
    """Exclude all objects that are here for good from garbage collection.

    A collection looks at 150,000 objects of libraries in 0.1 s, in which no request is answered.
    """
    gc.collect()
    gc.freeze()


def tls_context(
    certificate: str | Path, key: str | Path, client_authority: str | Path | None
) -> ssl.SSLContext:
    """Return TLS 1.2 or later with a certificate; clients need one if an authority is given."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key, password=lambda: b"")
        if client_authority is not None:
            context.load_verify_locations(client_authority)
            context.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ssl.SSLError):
        raise ParameterError(
            "A certificate or its key can't be read, or the two don't belong together.",
            hint="They are files in PEM, and the key has no passphrase.",
        ) from None
    return context


def _allow_files(wanted: int) -> None:
    """Let the process open so many files, if it may: connections must not use up those of logs."""
    soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))


class _Server(uvicorn.Server):
    """Reports when it listens, and on which port."""

    def __init__(self, config: uvicorn.Config, started: Callable[[int], None]) -> None:
        super().__init__(config)
        self._started = started

    async def startup(self, sockets: list[Any] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self.servers and self.servers[0].sockets:
            self._started(self.servers[0].sockets[0].getsockname()[1])


class _TimeoutProtocol(H11Protocol):
    """uvicorn's protocol with timeouts.

    By itself it waits for ever for the head of a request, for the rest of an unread body, and for a
    client to take its response.
    """

    head_seconds: ClassVar[float] = 10.0
    _watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as its own parent's
        super().connection_made(transport)
        if len(self.connections) > (self.limit_concurrency or 0) + MAX_REFUSED:
            # Each takes one of the files that the process may open: logs need them, too.
            self.transport.abort()
            return
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._relax()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._settled():
            self._relax()
        elif self._watch is None:
            self._expect()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing() and not self._settled():
            self._expect()

    def timeout_keep_alive_handler(self) -> None:
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            super().timeout_keep_alive_handler()

    def _settled(self) -> bool:
        """Return whether a request is being answered, which has other timeouts."""
        return self.conn.their_state is not h11.IDLE and self.conn.our_state is not h11.DONE

    def _expect(self) -> None:
        self._relax()
        self._watch = self.loop.call_later(self.head_seconds, self.transport.abort)

    def _relax(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
