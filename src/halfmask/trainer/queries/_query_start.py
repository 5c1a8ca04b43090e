"""Entry points of the query service."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from halfmask._validation import number_between
from halfmask.trainer.service import ServiceOptions
from halfmask.trainer.service._start import check_extra, check_tls

if TYPE_CHECKING:
    from fastapi import FastAPI

    from halfmask.dp.queries import PrivateTable


def create_query_app(
    folder: str | Path,
    table: PrivateTable,
    *,
    public: Mapping[str, object] | None = None,
    step_seconds: float = 1.0,
    options: ServiceOptions | None = None,
) -> FastAPI:
    """Return the query service as an ASGI application.

    Parameters
    ----------
    folder
        Where its tokens are; made where it isn't there, for its owner alone.
    table
        The table with its ledger.
    public
        By name in SQL: tables that everybody may know.
    step_seconds
        An answer, or a refusal, comes after a whole number of such steps.
    options
        What bounds it.

    Raises
    ------
    TrainerError
        If the folder is of something else.
    MissingDependencyError
        If the extra ``serve`` isn't installed.

    Notes
    -----
    **Guarantees.** An analyst gets answers that are in the ledger, and no row. A question is
    refused by its words, its price and what is left of a budget, and by nothing in the rows.

    **Edge cases.** An answer that takes longer than a step shows how many steps it took. Analysts
    who collude have the whole budget together, and no more.
    """
    check_extra()
    number_between(0, math.inf, owner="create_query_app", low_open=True, step_seconds=step_seconds)
    from halfmask.trainer.queries._query_app import query_application  # noqa: PLC0415 # an extra
    from halfmask.trainer.queries._query_service import QueryService  # noqa: PLC0415 # the same

    service = QueryService(
        folder,
        table,
        public=public or {},
        step_seconds=step_seconds,
        options=options or ServiceOptions(),
    )
    return query_application(service)


def serve_queries(
    app: FastAPI,
    *,
    host: str = "127.0.0.1",
    port: int = 8766,
    certificate: str | Path | None = None,
    key: str | Path | None = None,
    client_authority: str | Path | None = None,
    started: Callable[[int], None] = lambda _: None,
) -> None:
    """Serve a table until the process is asked to end.

    Parameters
    ----------
    app
        From `create_query_app`.
    host, port
        Where to listen: this machine alone, unless another address is given. Port 0 takes one that
        is free.
    certificate, key
        Files in PEM for TLS; both or neither.
    client_authority
        A file in PEM: clients then need a certificate of this authority and their token.
    started
        Called with the port when it listens.

    Raises
    ------
    ParameterError
        If a certificate is missing or can't be read, or the port is taken.
    """
    tls = check_tls(port, certificate, key, client_authority)
    from halfmask.trainer.service._serving import run_app  # noqa: PLC0415 # an extra

    run_app(app, host=host, port=port, tls=tls, started=started)
