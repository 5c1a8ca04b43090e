"""``halfmask serve queries``: a service that answers analysts under a budget."""

from __future__ import annotations

from typing import Annotated

import typer

from halfmask.cli._console import console, say_json
from halfmask.cli._ledger_options import LedgerOptions, pairs
from halfmask.cli._option_groups import spreads_groups
from halfmask.cli._options import SayingOptions, TableArgument
from halfmask.cli._serving_address import ServingAddress, service_log
from halfmask.cli._tables import Reading  # typer reads it

FolderArgument = Annotated[
    str,
    typer.Argument(
        metavar="FOLDER",
        show_default=False,
        help="The folder of the service's tokens. A token's client is the analyst, its tenant "
        "the data set, its scope read.",
    ),
]
PublicOption = Annotated[
    list[str] | None,
    typer.Option(
        "--public",
        metavar="NAME=FILE",
        help="A table that everybody may know, to be joined; may be given more than once.",
    ),
]
StepOption = Annotated[
    float,
    typer.Option(
        "--step-seconds",
        metavar="N",
        help="An answer comes after a whole number of such steps, so that its time says little.",
    ),
]


@spreads_groups
def queries(
    folder: FolderArgument,
    table: TableArgument,
    *,
    public: PublicOption = None,
    step_seconds: StepOption = 1.0,
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

    def started(port: int) -> None:
        address = at.address(port)
        if saying.as_json:
            say_json({"ok": True, "address": address, "port": port})
        else:
            console().print(f"Listening at {address}.")

    with saying.stages() as stages:
        stages("reading the table")
        opened = PrivateTable.open(reading.open(table), ledger=ledger)
    app = create_query_app(
        folder,
        opened,
        public=dict(pairs(public, "--public NAME=FILE", is_file=True)),
        step_seconds=step_seconds,
    )
    with service_log():
        serve_queries(
            app,
            host=at.host,
            port=at.port,
            certificate=at.tls_cert,
            key=at.tls_key,
            client_authority=at.client_ca,
            started=started,
        )
    return 0
