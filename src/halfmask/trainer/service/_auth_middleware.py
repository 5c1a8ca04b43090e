"""AuthMiddleware: checks tokens, shapes errors, and counts requests."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any

from halfmask._errors import HalfmaskError
from halfmask.trainer.service._responses import error_of, refusal_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from halfmask.trainer.service._service import Service

#: Paths that need no token. None of them reveals a tenant, a client or a model.
OPEN = frozenset({"/health", "/healthz", "/ready", "/docs", "/openapi.json"})
#: Where the token of a request is, for the routes.
TOKEN = "halfmask.token"  # noqa: S105 # a name, no token
_HEADERS = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]
log = logging.getLogger("halfmask.trainer")


class AuthMiddleware:
    """Refuses requests without a valid token, before a byte of a body is read.

    Guarantees
    ----------
    Each error becomes a response of one shape, which holds nothing of the request; the log gets
    the type of the error alone.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status, began = time.perf_counter(), 500, False

        async def sending(message: Message) -> None:
            nonlocal status, began
            if message["type"] == "http.response.start":
                began, status = True, message["status"]
                message["headers"] = [*message["headers"], *_HEADERS]
            # A client that doesn't read is cut off: its pending response takes memory.
            async with asyncio.timeout(self._service.options.answer_seconds):
                await send(message)

        try:
            await self._let_in(scope, receive, sending)
        except HalfmaskError as error:
            if began:
                raise
            await refusal_of(error)(scope, receive, sending)
        except Exception as error:
            if began:
                raise
            # Its words and its traceback may hold what was sent.
            kind = type(error).__name__
            log.error("A request failed unexpectedly: %s", kind)  # noqa: TRY400 # the same
            response = error_of("The service failed.", status=500, word="unexpected")
            await response(scope, receive, sending)
        finally:
            route = _route(scope)
            self._service.meters.requests.labels(route, _method(scope), str(status)).inc()
            self._service.meters.seconds.labels(route).observe(time.perf_counter() - start)

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] not in OPEN:
            header = next((v for k, v in scope["headers"] if k == b"authorization"), b"")
            scope[TOKEN] = await self._service.access.admit(header.decode("latin-1"))
        await self._app(scope, receive, send)


def _route(scope: Scope) -> str:
    route: Any = scope.get("route")
    return str(getattr(route, "path", "other"))


def _method(scope: Scope) -> str:
    # A client may send any word as a method, and each would become a metric series.
    return scope["method"] if scope["method"] in {"GET", "POST", "DELETE"} else "other"
