"""The application of the query service: the trainer's middleware, and routes of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, cast

from fastapi import FastAPI

from halfmask import __version__
from halfmask.trainer.queries import _query_routes
from halfmask.trainer.service._app import describe_tokens, handle_errors
from halfmask.trainer.service._auth_middleware import AuthMiddleware

if TYPE_CHECKING:
    from halfmask.trainer.queries._query_service import QueryService
    from halfmask.trainer.service._service import Service


def query_application(service: QueryService) -> FastAPI:
    """Return the application over a service, which is closed when it is shut down."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.ensure_future(service.access.keep_up())
        yield
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
        await asyncio.to_thread(service.close)

    app = FastAPI(
        title="halfmask queries",
        version=__version__,
        description=(
            "Answers questions about a table under a budget of differential privacy. Each request "
            "but that for health has a header Authorization: Bearer TOKEN."
        ),
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    app.include_router(_query_routes.open_router)
    app.include_router(_query_routes.router)
    # It needs options, tokens and meters, which both services have.
    app.add_middleware(AuthMiddleware, service=cast("Service", service))
    handle_errors(app)
    describe_tokens(app)
    return app
