"""Where a service listens, for the commands that run one, and what it logs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

import typer


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingAddress:
    """Where a service listens, and who may speak to it."""

    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on.")
    ] = "127.0.0.1"
    port: Annotated[
        int,
        typer.Option(
            "--port",
            min=0,
            max=65_535,
            metavar="N",
            help="The port to listen on; 0 takes a free one.",
        ),
    ] = 8765
    tls_cert: Annotated[
        str | None,
        typer.Option("--certificate", metavar="FILE", help="The service's certificate, in PEM."),
    ] = None
    tls_key: Annotated[
        str | None,
        typer.Option(
            "--certificate-key", metavar="FILE", help="The certificate's private key, in PEM."
        ),
    ] = None
    client_ca: Annotated[
        str | None,
        typer.Option(
            "--authority",
            metavar="FILE",
            help="Clients need a certificate of this authority, in addition to their token.",
        ),
    ] = None

    def address(self, port: int) -> str:
        """Return where it is, once it has a port."""
        scheme = "http" if self.tls_cert is None else "https"
        return f"{scheme}://{f'[{self.host}]' if ':' in self.host else self.host}:{port}"


@contextmanager
def service_log() -> Iterator[None]:
    """Say what the service itself logs on standard error; uvicorn's words may quote a request."""
    log, handler = logging.getLogger("halfmask.trainer"), logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
