"""``halfmask serve queries``: a service that answers analysts under a budget."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from halfmask.cli._ledger_options import LedgerOptions, pairs
from halfmask.cli._option_groups import argument, option, spreads_groups
from halfmask.cli._options import TABLE, AnswerOptions, SayingOptions
from halfmask.cli._tables import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingAddress:
    """Where a service listens, and who may speak to it."""

    host: str = option("--host ADDRESS: The address to listen on.", "127.0.0.1")
    port: int = option(
        "--port N: The port to listen on; 0 takes a free one.", 8765, min=0, max=65_535
    )
    tls_cert: str | None = option("--certificate FILE: The service's certificate, in PEM.")
    tls_key: str | None = option("--certificate-key FILE: The certificate's private key, in PEM.")
    client_ca: str | None = option(
        "--authority FILE: Clients need a certificate of this authority, in addition to their "
        "token."
    )

    def address(self, port: int) -> str:
        """Return where it is, once it has a port."""
        scheme = "http" if self.tls_cert is None else "https"
        return f"{scheme}://{f'[{self.host}]' if ':' in self.host else self.host}:{port}"

    @contextmanager
    def listening(self, answer: AnswerOptions, more: str = "") -> Iterator[dict[str, Any]]:
        """Yield what a service is started with: it says where it listens, and logs."""

        def started(port: int) -> None:
            at = self.address(port)
            told = f"Listening at {at}. {more.format(address=at)}".rstrip()
            answer.say({"address": at, "port": port}, told)

        with _service_log():
            yield {
                "host": self.host,
                "port": self.port,
                "certificate": self.tls_cert,
                "key": self.tls_key,
                "client_authority": self.client_ca,
                "started": started,
            }


@contextmanager
def _service_log() -> Iterator[None]:
    """Say what the service itself logs on standard error; uvicorn's words may quote a request."""
    log, handler = logging.getLogger("halfmask.trainer"), logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


@spreads_groups
def queries(
    folder: str = argument(
        "FOLDER: The folder of the service's tokens. A token's client is the analyst, its tenant "
        "the data set, its scope read."
    ),
    table: str = TABLE,
    *,
    public: list[str] | None = option(
        "--public NAME=FILE: A table that everybody may know, to be joined; may be given more "
        "than once."
    ),
    step_seconds: float = option(
        "--step-seconds N: An answer comes after a whole number of such steps, so that its time "
        "says little.",
        1.0,
    ),
    where: LedgerOptions,
    at: ServingAddress,
    reading: Reading,
    saying: SayingOptions,
) -> int:
    """Answer analysts' questions about TABLE, until it is stopped.

    Set a budget first (halfmask budget set), give analysts shares (halfmask budget allow) and
    tokens (halfmask serve token create). Without TLS, listen on this machine only.
    """
    ledger = where.open(table)
    from halfmask.dp.queries import PrivateTable  # noqa: PLC0415 # half a second
    from halfmask.trainer.queries import create_query_app, serve_queries  # noqa: PLC0415 # the same

    with saying.stages() as stages:
        stages("reading the table")
        opened = PrivateTable.open(reading.open(table), ledger=ledger)
    app = create_query_app(
        folder,
        opened,
        public=dict(pairs(public, "--public NAME=FILE", is_file=True)),
        step_seconds=step_seconds,
    )
    with at.listening(saying) as listening:
        serve_queries(app, **listening)
    return 0
