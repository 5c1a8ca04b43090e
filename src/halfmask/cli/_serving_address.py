"""Where a service listens, for the commands that run one, and what it logs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from halfmask.cli._option_groups import option


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingAddress:
    """Where a service listens, and who may speak to it."""

    host: str = option("--host ADDRESS", "The address to listen on.", "127.0.0.1")
    port: int = option(
        "--port N", "The port to listen on; 0 takes a free one.", 8765, min=0, max=65_535
    )
    tls_cert: str | None = option("--certificate FILE", "The service's certificate, in PEM.")
    tls_key: str | None = option("--certificate-key FILE", "The certificate's private key, in PEM.")
    client_ca: str | None = option(
        "--authority FILE",
        "Clients need a certificate of this authority, in addition to their token.",
    )

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
