"""The application: middleware and routes over a store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from halfmask import __version__
from halfmask._errors import HalfmaskError
from halfmask.trainer.service import _model_routes, _operation_routes, _row_routes
from halfmask.trainer.service._auth_middleware import OPEN, AuthMiddleware
from halfmask.trainer.service._responses import error_of, refusal_of
from halfmask.trainer.service._row_routes import FastPath
from halfmask.trainer.service._service import Service

if TYPE_CHECKING:
    from halfmask.trainer.service._access import Access
    from halfmask.trainer.service._options import ServiceOptions

log = logging.getLogger("halfmask.trainer")


def application(
    folder: str | Path, options: ServiceOptions, *, opened: Callable[[], None] = lambda: None
) -> FastAPI:
    """Return the application over a folder, which it has for itself until it is shut down."""
    service = Service(folder, options)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        opening = asyncio.ensure_future(service.run(service.making, _open, service, opened))
        async with keeping_up(service.access):
            yield
            service.store.stop_warming()
        await opening
        await asyncio.to_thread(service.close)

    app = bare_app(
        service,
        title="halfmask trainer",
        description=(
            "Learns online from rows whose features were hashed under a key where they come from. "
            "Each request but those for health and this page has a header "
            "Authorization: Bearer TOKEN."
        ),
        lifespan=lifespan,
    )
    for routes in (_model_routes, _row_routes, _operation_routes):
        app.include_router(routes.router)
    # What is added last comes first.
    app.add_middleware(FastPath, routes=_row_routes.fast_paths())
    app.add_middleware(AuthMiddleware, service=service)
    return app


def bare_app(service: object, *, lifespan: Any, **about: str) -> FastAPI:  # noqa: ANN401 # Starlette's
    """Return an application over a service without routes; each error is of one shape."""
    app = FastAPI(
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        **about,  # type: ignore[arg-type] # title and description
    )
    app.state.service = service
    app.add_exception_handler(HalfmaskError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    _describe_tokens(app)
    return app


@asynccontextmanager
async def keeping_up(access: Access) -> AsyncIterator[None]:
    """Read the tokens again and again meanwhile."""
    watching = asyncio.ensure_future(access.keep_up())
    yield
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching


def _open(service: Service, opened: Callable[[], None]) -> None:
    """Restore the models, then compile; if that fails, the service answers with the error."""
    try:
        service.store.open_models()
        service.store.warm_up()
    except (HalfmaskError, OSError) as error:
        kind = getattr(error, "code", type(error).__name__)
        log.error("The models can't be brought back: %s", kind)  # noqa: TRY400 # its words may not be logged
    opened()


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HalfmaskError)  # noqa: S101 # it is registered for these
    return refusal_of(error)


async def _invalid(_: Request, error: Exception) -> Response:
    """Name the invalid fields and the type of each error; never a value."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 # as above
    found = error.errors()
    reasons = [f"{'.'.join(map(str, each['loc'][:3]))}: {each['type']}" for each in found[:20]]
    if any(each["type"] == "json_invalid" for each in found):
        return error_of("The body isn't JSON.", status=400)
    return error_of("The request has a value that isn't allowed.", status=422, errors=reasons)


async def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 # as above
    what = {404: "There is nothing here.", 405: "The method isn't one of this path."}
    headers = dict(error.headers or {})
    message = what.get(error.status_code, "The request can't be read.")
    return error_of(message, status=error.status_code, headers=headers)


def _describe_tokens(app: FastAPI) -> None:
    """Describe in the OpenAPI which paths need a token."""
    made = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = made()
            parts = schema.setdefault("components", {})
            parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            for path, methods in schema["paths"].items():
                for operation in methods.values() if path not in OPEN else ():
                    operation["security"] = [{"token": []}]
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign] # FastAPI's documented way to extend it
